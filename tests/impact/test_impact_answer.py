"""A change is followed to the tests that may be affected, each with its reason."""

from __future__ import annotations

from impact_build import TASKS, a_shop, a_task, code, doubts, names, reasons

from runner.impact import change
from runner.impact.change import Changed, with_moves
from runner.impact.reasons import Depth, Width

DIRECT = Width(Depth.DIRECT)
SURE = Width(conservative=True)
# --- imports ----------------------------------------------------------------------------


def test_imports_are_followed_to_the_tests_and_the_way_is_told():
    found = a_shop().edit("src/shop/db.py", "return row", "return [row]")
    assert names(found) == {"TASK-001": ("TC-001",), "TASK-002": ("TC-002",)}
    assert reasons(found, "TASK-002") == [
        "imports: tests/test_api.py imports src/shop/db.py through src/shop/api.py"
    ]
    assert "ownership: src/shop/db.py is among the Output files of TASK-001" in reasons(found)


def test_direct_dependents_are_those_that_import_the_file_itself():
    shop = a_shop(tasks=[TASKS[1], a_task("TASK-004", "pytest tests/test_db.py")])
    found = shop.edit("src/shop/db.py", "return row", "return [row]", width=DIRECT)
    assert names(found) == {"TASK-004": ("TC-004",)}


def test_nobody_is_asked_with_the_width_none():
    found = a_shop().edit("src/shop/db.py", "row", "x", width=Width(Depth.NONE))
    assert found.affected == ()


def test_a_task_whose_output_imports_the_file_is_affected_with_all_its_tests():
    task = a_task("TASK-009", "pytest tests/test_mail.py", outputs=["src/shop/api.py"])
    found = a_shop(tasks=[task]).edit("src/shop/db.py", "return row", "return 1")
    assert reasons(found) == ["imports: src/shop/api.py imports src/shop/db.py"]
    assert names(found) == {"TASK-009": ("TC-009",)}


def test_comments_and_layout_reach_nobody_by_imports():
    shop = a_shop(tasks=TASKS[1:])
    assert shop.edit("src/shop/db.py", "return row", "return  row  # as it is").affected == ()


def test_comments_reach_those_who_read_sources():
    commands = ["ruff check src", "pytest --doctest-modules src", "python -m mypy src", "make lint"]
    shop = a_shop(tasks=[a_task("TASK-009", *commands, "pytest tests", "pytest src")])
    found = shop.edit("src/shop/db.py", "return row", "return row  # noqa")
    assert set(names(found)["TASK-009"]) == {"TC-009", "TC-009b", "TC-009c", "TC-009d"}


def test_a_new_file_reaches_those_who_already_name_it():
    files = {"tests/test_new.py": "try:\n    import shop.extra\nexcept ImportError:\n    pass\n"}
    tasks = [a_task("TASK-005", "pytest tests/test_new.py")]
    found = a_shop(files=files, tasks=tasks).create("src/shop/extra.py", "X = 1\n")
    assert names(found) == {"TASK-005": ("TC-005",)}


def test_a_file_that_is_gone_reaches_those_who_import_it():
    assert names(a_shop().delete("src/shop/mail.py")) == {"TASK-003": ("TC-003",)}


def test_modules_of_one_name_in_other_packages_are_not_meant():
    files = {"src/other/__init__.py": "", "src/other/db.py": "X = 1\n"}
    assert a_shop(files=files).edit("src/other/db.py", "1", "2").affected == ()


def test_a_file_that_cannot_be_parsed_may_import_anything():
    shop = a_shop(
        files={"tests/test_odd.py": "def (:\n"}, tasks=[a_task("T-1", "pytest tests/test_odd.py")]
    )
    found = shop.edit("src/shop/mail.py", "return 1", "return 2")
    assert reasons(found) == [
        "imports: tests/test_odd.py cannot be parsed: it may import src/shop/mail.py"
    ]


def test_names_made_at_run_time_are_a_doubt_or_count():
    files = {
        "tests/test_any.py": "import importlib, os\nimportlib.import_module(os.environ['M'])\n"
    }
    shop = a_shop(files=files, tasks=[a_task("TASK-007", "pytest tests/test_any.py")])
    found = shop.edit("src/shop/mail.py", "return 1", "return 2")
    assert found.affected == ()
    assert doubts(found) == [
        "tests/test_any.py imports modules by computed names, perhaps this file"
    ]
    wide = shop.edit("src/shop/mail.py", "return 1", "return 2", width=SURE)
    assert names(wide) == {"TASK-007": ("TC-007",)}
    assert wide.doubts == ()


def test_a_module_that_is_started_by_name_is_reached():
    files = {
        "tests/test_run.py": """
            import subprocess, sys
            def test_it():
                subprocess.run([sys.executable, "-m", "shop.api"], check=True)
            """
    }
    shop = a_shop(files=files, tasks=[a_task("TASK-008", "pytest tests/test_run.py")])
    shop.saw("TASK-008", "TC-008", tests__test_run_py="1-4")
    assert names(shop.edit("src/shop/db.py", "return row", "return 1")) == {"TASK-008": ("TC-008",)}


# --- what people wrote down -------------------------------------------------------------


def test_owners_by_the_map_are_affected_and_unknown_ones_are_nobody():
    shop = a_shop(owners={"src/shop/mail.py": "TASK-001, TASK-404", "src/**": "TASK-002"})
    found = shop.edit("src/shop/mail.py", "return 1", "return 2")
    assert {"TASK-001", "TASK-002", "TASK-003"} == set(names(found))
    assert reasons(found, "TASK-001") == [
        "ownership: FILE_OWNERSHIP_MAP.md says that TASK-001 owns src/shop/mail.py"
    ]


def test_ownership_follows_a_file_that_moved():
    shop = a_shop(owners={"src/shop/mail.py": "TASK-001"})
    content = shop.files["src/shop/mail.py"]
    found = shop.ask(
        Changed("src/shop/mail.py", content, None), Changed("src/shop/post.py", None, content)
    )
    assert [why.path for why in found.affected[0].reasons if why.kind == "ownership"] == [
        "src/shop/mail.py",
        "src/shop/post.py",
    ]


def test_a_folder_of_thousands_that_moved_is_looked_through_once(monkeypatch):
    asked = []

    class Counted(bytes):
        __slots__ = ()
        __hash__ = bytes.__hash__

        def __eq__(self, other):
            asked.append("bytes")
            return bytes.__eq__(self, other)

    alike = change._alike
    monkeypatch.setattr(change, "_alike", lambda *both: asked.append("lines") or alike(*both))
    number = 1_500
    gone = [Changed(f"a/{n}/m.py", Counted(b"%d\n" % n), None) for n in range(number)]
    came = [Changed(f"b/{n}/m.py", None, Counted(b"%d\n" % n)) for n in range(number)]
    told = with_moves([*gone, *came])
    assert [one.origin for one in told[number:]] == [one.path for one in gone]
    assert len(asked) < 10 * number
    asked.clear()
    edited = [Changed(f"c/{n}/m.py", None, Counted(b"other %d\n" % n)) for n in range(number)]
    assert {one.origin for one in with_moves([*gone, *edited])} == {""}
    assert len(asked) < 10 * number


def test_of_equal_files_each_that_went_is_the_origin_of_one_that_came():
    gone = [Changed(f"a{n}.py", b"x\n", None) for n in (1, 2)]
    came = [Changed(f"b{n}.py", None, b"x\n") for n in (1, 2, 3)]
    edited = Changed("new/a2.py", None, b"x\n")
    told = {one.path: one.origin for one in with_moves([*gone, *came, edited])}
    assert (told["b1.py"], told["b2.py"]) == ("a1.py", "a2.py")
    assert (told["b3.py"], told["new/a2.py"]) == ("", "")


def test_inputs_name_files_by_globs():
    tasks = [a_task("TASK-005", "true", inputs=["data/*.csv"])]
    shop = a_shop(tasks=tasks, files={"data/rows.csv": b"1\n"})
    assert reasons(shop.edit("data/rows.csv", "1", "2")) == [
        "inputs: data/rows.csv is among the Inputs of TASK-005"
    ]


def test_a_breaking_contract_reaches_its_users_and_an_additive_one_does_not():
    tasks = [a_task("TASK-005", "pytest x", contracts=["`contracts/a.json` = `shop.db:Row`"])]
    files = {"contracts/a.json": b'{"a": 1}\n'}
    for breaking, expected in (
        ({}, {"TASK-005": ("TC-005",)}),
        ({"contracts/a.json": None}, {"TASK-005": ("TC-005",)}),
        ({"contracts/a.json": True}, {"TASK-005": ("TC-005",)}),
        ({"contracts/a.json": False}, {}),
    ):
        shop = a_shop(tasks=tasks, files=files, breaking=breaking)
        found = shop.edit("contracts/a.json", "1", "2")
        assert names(found) == expected
        assert found.doubts == ()


# --- files of other kinds ---------------------------------------------------------------


def test_a_data_file_reaches_the_tests_that_name_it_or_its_folder():
    files = {
        "tests/test_rows.py": 'from pathlib import Path\nPath("tests/data/rows.csv").read_text()\n',
        "tests/test_all.py": 'from pathlib import Path\n(Path(".") / "data").iterdir()\n',
        "tests/data/rows.csv": b"1\n",
        "tests/data/more.csv": b"1\n",
    }
    tasks = [
        a_task("TASK-005", "pytest tests/test_rows.py"),
        a_task("TASK-006", "pytest tests/test_all.py"),
    ]
    shop = a_shop(files=files, tasks=tasks)
    assert set(names(shop.edit("tests/data/rows.csv", "1", "2"))) == {"TASK-005", "TASK-006"}
    assert set(names(shop.edit("tests/data/more.csv", "1", "2"))) == {"TASK-006"}


def test_a_file_nobody_declares_is_a_doubt_or_counts_for_everyone():
    shop = a_shop(files={"assets/logo.bin": b"\0\1"})
    found = shop.edit("assets/logo.bin", "\1", "\2")
    assert found.affected == ()
    assert doubts(found) == ["neither the plan nor any code names assets/logo.bin"]
    wide = shop.edit("assets/logo.bin", "\1", "\2", width=SURE)
    assert set(names(wide)) == {"TASK-001", "TASK-002", "TASK-003"}


def test_code_in_a_language_nobody_reads_here_is_in_doubt_though_somebody_owns_it():
    tasks = [*TASKS, a_task("TASK-005", "pytest x", outputs=["App.java"])]
    found = a_shop(files={"App.java": b"class A {}"}, tasks=tasks).edit("App.java", "A", "B")
    assert set(names(found)) == {"TASK-005"}
    assert len(found.doubts) == 1


def test_settings_reach_every_test_they_govern_and_no_other():
    tasks = [a_task("TASK-005", "cd web && npm test"), *TASKS]
    files = {"web/package.json": b"{}", "pyproject.toml": b"[a]\n", "web/a.js": b""}
    shop = a_shop(files=files, tasks=tasks)
    assert set(names(shop.edit("web/package.json", "{}", "{ }"))) == {"TASK-005"}
    assert len(names(shop.edit("pyproject.toml", "[a]", "[b]"))) == 4
    for other in ("pytest.ini", ".pytest.ini", "pytest.toml"):
        assert len(names(shop.create(other, "[pytest]\n"))) == 4


def test_a_command_that_names_no_file_is_about_every_one():
    shop = a_shop(tasks=[a_task("TASK-005", "make test")])
    found = shop.edit("src/shop/mail.py", "return 1", "return 2")
    assert reasons(found) == ["test: the command of TC-005 names no file"]


def test_the_runners_own_documents_reach_nobody():
    shop = a_shop(files={"TASK-GRAPH.md": b"# A\n", "artifacts/build/CHANGES.md": b"x"})
    assert shop.ask(Changed("TASK-GRAPH.md", b"a", b"b")).doubts == ()
    assert shop.edit("artifacts/build/CHANGES.md", "x", "y", width=SURE).affected == ()


# --- the order --------------------------------------------------------------------------


def test_what_fails_soonest_runs_first():
    from runner.impact.inputs import Past, Proven

    one, two, three = (Proven(f"TASK-00{n}", f"TC-00{n}") for n in (1, 2, 3))
    shop = a_shop(
        files={"tox.ini": b"a"},
        past=Past({one: 1.0, two: 10.0, three: 2.0}, {two: 19}),
    )
    found = shop.edit("tox.ini", "a", "b")
    assert [each.task for each in found.affected] == ["TASK-002", "TASK-001", "TASK-003"]


def test_an_empty_change_affects_nobody():
    same = code("x = 1\n")
    assert a_shop().ask(Changed("src/shop/db.py", same, same), width=SURE).affected == ()
