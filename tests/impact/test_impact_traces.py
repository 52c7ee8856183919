"""Recorded executions say who is affected, and are found again after a restart or damage."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from impact_build import TASKS, House, a_map, a_shop, a_task, names, reasons
from msgspec.structs import replace

from runner.impact.answer import judge
from runner.impact.change import Changed
from runner.impact.owners import MISSING, Owners
from runner.impact.reach import Entry, References
from runner.impact.store import FILE, ImpactStore
from runner.impact.traces import Observations
from runner.model import Observed, digest_of
from runner.plan.ownership import OwnershipMap

# --- what was observed ------------------------------------------------------------------


def a_watched_shop():
    shop = a_shop(tasks=TASKS[1:])
    shop.saw("TASK-002", "TC-002", src__shop__db_py="1,3-4,6", src__shop__api_py="1-4")
    return shop


def test_who_ran_the_changed_lines_is_affected_and_the_line_is_told():
    found = a_watched_shop().edit("src/shop/db.py", "return row", "return [row]")
    assert reasons(found, "TASK-002") == ["observed: TC-002 executed src/shop/db.py:4"]


def test_who_was_seen_not_to_run_a_function_is_not_affected_by_it():
    assert a_watched_shop().edit("src/shop/db.py", "return key", "return 0").affected == ()


def test_what_was_observed_says_nothing_of_a_linter_beside_the_tests():
    task = a_task("TASK-002", "pytest tests/test_api.py && ruff check src")
    shop = a_shop(tasks=[task])
    shop.saw("TASK-002", "TC-002", src__shop__api_py="1-4")
    assert names(shop.edit("src/shop/mail.py", "return 1", "return 2")) == {"TASK-002": ("TC-002",)}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("LIMIT = 3", "LIMIT = 4"),
        ("LIMIT = 3", "LIMIT = made(4)"),
        ("def load(key)", "@known\ndef load(key)"),
        ("def load(key)", "def load(key=None)"),
    ],
)
def test_a_change_of_module_level_code_reaches_everyone_who_imported_the_file(old, new):
    assert names(a_watched_shop().edit("src/shop/db.py", old, new)) == {"TASK-002": ("TC-002",)}


def test_an_answer_is_wide_where_it_is_not_said_what_files_hold():
    shop = a_watched_shop()
    shop.knowledge = replace(shop.knowledge, content=lambda _: None)
    found = shop.edit("src/shop/db.py", "LIMIT = 3", "LIMIT = 4")
    assert names(found) == {"TASK-002": ("TC-002",)}


def test_an_observation_of_other_bytes_counts_for_the_whole_file():
    shop = a_watched_shop()
    shop.files["src/shop/db.py"] = shop.files["src/shop/db.py"].replace(b"3", b"5")
    assert names(shop.edit("src/shop/db.py", "return key", "return 0")) == {"TASK-002": ("TC-002",)}


def test_an_observation_is_not_believed_once_any_file_it_ran_has_changed():
    shop = a_watched_shop()
    shop.files["src/shop/api.py"] += b"import shop.mail\n"
    shop.references.learn([], shop.files.get)
    found = shop.edit("src/shop/db.py", "return key", "return 0")
    assert names(found) == {"TASK-002": ("TC-002",)}


def test_single_tests_are_named_where_only_they_ran_the_lines():
    shop = a_shop(tasks=TASKS[:1])
    lines = {"test_save": "4", "test_load": "7", "test_none": "1"}
    shop.saw("TASK-001", "TC-001", src__shop__db_py=lines)
    shop.knowledge.tasks["TASK-001"] = a_task("TASK-001", "pytest tests/test_db.py")
    (one,) = shop.edit("src/shop/db.py", "return key", "return 0").affected
    assert one.tests == (("TC-001", ("test_load",)),)
    (one,) = shop.edit("src/shop/db.py", "LIMIT = 3", "LIMIT = made(1)").affected
    assert one.tests == ()


def test_a_test_contract_that_is_gone_from_the_plan_is_not_asked_for():
    shop = a_shop(tasks=TASKS[1:2])
    shop.saw("TASK-002", "TC-099", src__shop__mail_py="1-2")
    shop.saw("TASK-777", "TC-001", src__shop__mail_py="1-2")
    assert shop.edit("src/shop/mail.py", "return 1", "return 2").affected == ()


def test_in_a_folder_where_nothing_was_ever_seen_to_run_nobody_may_have_looked():
    shop = a_shop(files={"tests/test_mail.py": "import helper\n", "tests/helper.py": "X = 1\n"})
    shop.saw("TASK-003", "TC-003", src__shop__mail_py="1-2")
    assert names(shop.edit("tests/helper.py", "1", "2")) == {"TASK-003": ("TC-003",)}


def test_tests_of_others_that_ran_on_a_change_are_remembered_as_theirs():
    shop = a_shop(tasks=TASKS)
    digest = digest_of(shop.files["src/shop/mail.py"])
    row = Observed("regression:TASK-002/TC-002", "", "src/shop/mail.py", digest, "1-2")
    shop.observed.keep("TASK-001", [row])
    found = shop.edit("src/shop/mail.py", "return 1", "return 2")
    assert "TASK-002" in names(found)
    assert reasons(found, "TASK-002") == ["observed: TC-002 executed src/shop/mail.py:2"]


def test_a_file_that_nobody_ran_beside_others_that_were_run_reaches_nobody():
    shop = a_watched_shop()
    shop.saw("TASK-003", "TC-003", src__shop__db_py="1", tests__test_mail_py="1-4")
    assert shop.edit("src/shop/mail.py", "return 1", "return 2").affected == ()


# --- a run goes on -----------------------------------------------------------------------


def test_an_observation_follows_a_landing_that_it_would_not_have_noticed():
    shop = a_watched_shop()
    before = shop.files["src/shop/db.py"]
    after = before.replace(b"LIMIT = 3", b"# more\n# lines\nLIMIT = 3").replace(b"key\n", b"-key\n")
    shop.observed.follow([Changed("src/shop/db.py", before, after)])
    shop.land("src/shop/db.py", after.decode())
    assert shop.edit("src/shop/db.py", "return -key", "return 0").affected == ()
    found = shop.edit("src/shop/db.py", "return row", "return [row]")
    assert reasons(found) == ["observed: TC-002 executed src/shop/db.py:6"]


def test_an_observation_does_not_follow_a_landing_that_reaches_it():
    shop = a_watched_shop()
    before = shop.files["src/shop/db.py"]
    after = before.replace(b"return row", b"return [row]")
    shop.observed.follow([Changed("src/shop/db.py", before, after)])
    shop.land("src/shop/db.py", after.decode())
    assert names(shop.edit("src/shop/db.py", "return key", "return 0")) == {"TASK-002": ("TC-002",)}


def test_an_observation_does_not_follow_a_landing_of_module_level_code():
    shop = a_watched_shop()
    before = shop.files["src/shop/db.py"]
    after = before.replace(b"def save(row)", b"def save(row=1)")
    shop.observed.follow([Changed("src/shop/db.py", before, after)], shop.files.get)
    shop.land("src/shop/db.py", after.decode())
    assert names(shop.edit("src/shop/db.py", "return key", "return 0")) == {"TASK-002": ("TC-002",)}


def test_what_is_known_follows_each_landing():
    shop = a_shop(tasks=[a_task("TASK-009", "pytest tests/test_new.py"), TASKS[2]])
    assert "TASK-009" in names(shop.edit("src/shop/db.py", "3", "4"))  # it may be about anything
    shop.land("tests/test_new.py", "import shop.mail\n")
    assert "TASK-009" not in names(shop.edit("src/shop/db.py", "3", "4"))
    assert "TASK-009" in names(shop.edit("src/shop/mail.py", "return 1", "return 2"))
    shop.land("src/shop/mail.py", "import shop.db\n")
    assert set(names(shop.edit("src/shop/db.py", "3", "4"))) == {"TASK-009", "TASK-003"}
    shop.land("tests/test_new.py", None)
    assert "TASK-009" in names(shop.edit("src/shop/api.py", "post", "put"))


ROW = Observed("TC-001", "test_a", "src/a.py", "sha256:1", "1-5,9")


def test_what_a_proof_executed_is_found_by_file_and_by_contract(tmp_path):
    with ImpactStore(tmp_path) as store:
        Observations(store).keep("TASK-001", [ROW])
    with ImpactStore(tmp_path) as store:
        kept = Observations(store)
        assert [(seen.task, seen.row) for seen in kept.at("src/a.py")] == [("TASK-001", ROW)]
        assert kept.of("TASK-001", "TC-001") == (ROW,)
        assert kept.at("src/b.py") == kept.of("TASK-001", "TC-002") == ()


def test_a_file_whose_name_is_no_utf_8_is_kept_and_found(tmp_path):
    odd = Observed("TC-001", "", "src/caf\udce9 \u00e9.py", "sha256:1", "1")
    with ImpactStore(tmp_path) as store:
        Observations(store).keep("TASK-001", [odd])
    with ImpactStore(tmp_path) as store:
        kept = Observations(store)
        assert [seen.row for seen in kept.at(odd.path)] == [odd]
        assert kept.of("TASK-001", "TC-001") == (odd,)
        assert kept.at("src/caf.py") == ()


def test_a_new_proof_replaces_the_old_one_and_a_part_of_it_only_a_part():
    kept = Observations(ImpactStore(None))
    other = Observed("TC-002", "", "src/b.py", "sha256:2", "1")
    kept.keep("TASK-001", [ROW, other])
    kept.keep("TASK-001", [Observed("TC-002", "", "src/c.py", "sha256:3", "1")], ["TC-002"])
    assert kept.at("src/a.py") != ()
    assert kept.at("src/b.py") == ()
    kept.keep("TASK-001", [other])
    assert (kept.at("src/a.py"), kept.at("src/c.py")) == ((), ())
    kept.forget("TASK-001")
    assert kept.at("src/b.py") == ()


@pytest.mark.parametrize(
    "name", ["src/caf\udce9.py", "src/\uf7e9\udce9.py", "src/\uf7e9.py", "s\udcffc/a.py"]
)
def test_names_that_are_no_utf_8_are_kept_like_any_other(tmp_path, name):
    folder = name.rpartition("/")[0]
    with ImpactStore(tmp_path) as store:
        References(store).learn([Entry(name, "1")], {"1": b"import booking"}.get, "tree")
        Observations(store).keep("TASK-001", [Observed("TC-001", "", name, "sha256:1", "1")])
    with ImpactStore(tmp_path) as store:
        known = References(store)
        assert known.blobs() == {name: "1"}
        assert known.is_file(name)
        assert known.is_folder(folder)
        assert list(known.find_by_keys(["booking"])) == [(name, "booking")]
        assert Observations(store).at(name)[0].row.path == name
        assert Observations(store).was_executed_in(folder)
        assert not store.lost


def test_a_manifest_that_names_no_text_is_read_like_any_other():
    manifest = {"1": rb'{"name": "\ud800"}'}.get
    known = References(ImpactStore(None))
    known.learn([Entry("web/package.json", "1")], manifest, "tree")
    assert known.is_file("web/package.json")
    assert list(known.find_by_keys(known.keys("web/package.json"))) == []


@pytest.mark.parametrize("damage", [b"", b"not a database at all" * 100, None])
def test_a_damaged_file_is_made_anew(tmp_path, damage):
    with ImpactStore(tmp_path) as store:
        Observations(store).keep("TASK-001", [ROW])
    file = tmp_path / FILE
    file.write_bytes(file.read_bytes()[:5000] if damage is None else damage)
    with ImpactStore(tmp_path) as store:
        assert Observations(store).at("src/a.py") == ()
        Observations(store).keep("TASK-001", [ROW])
    with ImpactStore(tmp_path) as store:
        assert Observations(store).at("src/a.py") != ()


def test_damage_in_the_middle_of_a_question_makes_the_answer_wide_not_narrow(tmp_path):
    house = House(
        {"a.py": "X = 1\n", "test_b.py": "X = 1\n"}, [a_task("TASK-001", "pytest test_b.py")]
    )
    assert names(house.edit("a.py", "1", "2")) == {}
    house.store.connection.execute("drop table refers")
    assert names(house.edit("a.py", "1", "2")) == {"TASK-001": ("TC-001",)}


def test_a_folder_that_cannot_be_written_keeps_nothing_and_says_nothing(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with ImpactStore(tmp_path / "file" / "cache") as store:
        Observations(store).keep("TASK-001", [ROW])
        assert Observations(store).at("src/a.py") != ()


def test_any_thread_may_ask(tmp_path):
    store = ImpactStore(tmp_path)
    kept = Observations(store)
    failed = []

    def work(number):
        try:
            for _ in range(20):
                kept.keep(f"TASK-{number}", [ROW])
                assert kept.of(f"TASK-{number}", "TC-001") == (ROW,)
        except Exception as error:  # noqa: BLE001 - told below
            failed.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert len(kept.at("src/a.py")) == 4


def test_two_programs_share_one_file(tmp_path):
    with ImpactStore(tmp_path) as one, ImpactStore(tmp_path) as other:
        Observations(one).keep("TASK-001", [ROW])
        Observations(other).keep("TASK-002", [ROW])
        assert len(Observations(one).at("src/a.py")) == 2


# --- references -------------------------------------------------------------------------


def test_only_what_differs_is_read_again():
    references = References(ImpactStore(None))
    contents = {"1": b"import b\n", "2": b"", "3": b"import c\n"}
    read = []

    def content(blob):
        read.append(blob)
        return contents[blob]

    references.learn([Entry("a.py", "1"), Entry("b.py", "2"), Entry("x.bin", "9")], content, "one")
    assert read == ["1", "2"]
    assert list(references.importers("b.py")) == ["a.py"]
    references.learn([Entry("a.py", "3"), Entry("b.py", None)], content, "two")
    assert read == ["1", "2", "3"]
    assert list(references.importers("b.py")) == []
    assert list(references.importers("c.py")) == ["a.py"]
    assert references.blobs() == {"a.py": "3", "x.bin": "9"}
    assert references.tree == "two"


# --- owners -----------------------------------------------------------------------------

PATHS = ["a.py", "src/a.py", "src/b/c.py", "src/b/d.txt", "docs/x.md", "src", "src/b"]
GLOBS = [*PATHS, "**", "*.py", "src/", "src/**", "src/*.py", "/src/b/*", "b/", "!a.py", "s?c/a.py"]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(GLOBS), st.sampled_from(["TASK-001", "TASK-002"]))))
def test_kept_owners_are_those_of_the_map(rows):
    lines = "".join(f"| `{file}` | {task} |\n" for file, task in rows)
    data = f"| File | Tasks |\n|---|---|\n{lines}".encode()
    store = ImpactStore(None)
    read, kept = OwnershipMap.read(data), Owners(store, data)
    for path in PATHS:
        assert set(kept.of(path)) == set(read.owners(path))


def test_a_map_is_read_again_only_when_it_differs(tmp_path):
    store = ImpactStore(tmp_path)
    assert Owners(store, a_map({"a.py": "TASK-001"})).of("a.py") == ("TASK-001",)
    store.connection.execute("update owners set tasks = 'TASK-777'")
    assert Owners(store, a_map({"a.py": "TASK-001"})).of("a.py") == ("TASK-777",)
    assert Owners(store, a_map({"a.py": "TASK-002"})).of("a.py") == ("TASK-002",)


def test_what_is_wrong_with_a_map_is_said_and_its_rows_hold():
    data = a_map({"a.py": "TASK-001"}) + (
        b"<<<<<<< ours\n| `b.py` | TASK-002 |\n=======\n"
        b"| `b.py` | TASK-003, nobody |\n>>>>>>> theirs\n"
    )
    owners = Owners(ImpactStore(None), data)
    assert owners.of("b.py") == ("TASK-002", "TASK-003")
    assert owners.problems[0] == "FILE_OWNERSHIP_MAP.md:4: the file has conflict markers"
    assert any('"nobody" is not a valid task id' in one for one in owners.problems)
    assert Owners(ImpactStore(None), None).problems == (MISSING,)


def test_a_glob_that_names_everything_makes_an_owner_of_everything():
    house = House(
        {"a.py": "X = 1\n"}, [a_task("TASK-001", "pytest x.py")], owners={"**": "TASK-001"}
    )
    found = judge([Changed("new/file.py", None, b"")], house.knowledge)
    assert names(found) == {"TASK-001": ("TC-001",)}
