"""What is kept between questions: found again, replaced, and made anew when it is damaged."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from impact_build import House, a_map, a_task, names

from runner.impact.answer import judge
from runner.impact.change import Changed
from runner.impact.owners import MISSING, Owners
from runner.impact.reach import Entry, References
from runner.impact.store import FILE, ImpactStore
from runner.impact.traces import Observations
from runner.model import Observed
from runner.plan.ownership import OwnershipMap

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
