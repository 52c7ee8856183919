"""`impact` answers for any change, and `ownership` shows, checks and proposes."""

from __future__ import annotations

import json

import pytest
from commands_build import a_ground, began, blocked, done

from runner.app.inspect.view import View
from runner.impact.reasons import Proven
from runner.operations.table import TABLE
from runner.run.regressions.proof_reuse import past_of

PLAN = """\
# Shop

## TASK-001: Store

- Status: DONE
- Output files: `shop/db.py`
- Test contracts:
  - TC-001 (unit): `python -m pytest -q tests/test_db.py`

## TASK-002: API

- Status: DONE
- Depends on: TASK-001
- Output files: `shop/api.py`
- Test contracts:
  - TC-002 (unit): `python -m pytest -q tests/test_api.py`

## TASK-003: Later

- Status: PENDING
- Output files: `shop/later.py`
- Test contracts:
  - TC-003 (unit): `python -m pytest -q tests/test_api.py`
"""
FILES = {
    "TASK-GRAPH.md": PLAN,
    "shop/__init__.py": "",
    "shop/db.py": "def save(row):\n    return row\n",
    "shop/api.py": "from shop.db import save\n",
    "tests/test_db.py": "import shop.db\n",
    "tests/test_api.py": "import shop.api\n",
    "FILE_OWNERSHIP_MAP.md": "| File | Tasks |\n|---|---|\n| `shop/api.py` | TASK-002 |\n",
}
DB = """\
TASK-001  TC-001
  ownership  shop/db.py:2  shop/db.py is among the Output files of TASK-001
  imports    shop/db.py:2  tests/test_db.py imports shop/db.py
TASK-002  TC-002
  imports    shop/db.py:2  shop/api.py imports shop/db.py
  imports    shop/db.py:2  tests/test_api.py imports shop/db.py through shop/api.py
"""


@pytest.fixture
def shop(ground):
    a_ground(ground)
    for path, text in FILES.items():
        ground.write(path, text)
    ground.commit("shop\n\nTask: TASK-001")
    return ground


def affected(said):
    return {one["task"]: one["contracts"] for one in said.json["affected"]}


def test_what_differs_from_head_is_asked_about(shop):
    assert shop.runner("impact").out == ""
    shop.write("shop/db.py", "def save(row):\n    return [row]\n")
    said = shop.runner("impact")
    assert (said.code, said.out) == (0, DB)
    assert said.err == (
        "note: 1 task that is not DONE: not checked (--all includes them)\n"
        "1 changed file: 2 tasks and 2 test contracts may be affected\n"
    )
    shop.git("add", "-A")
    assert shop.runner("impact").out == DB


def test_named_files_are_asked_about_from_any_folder(shop, monkeypatch):
    monkeypatch.chdir(shop.folder / "shop")
    assert affected(shop.runner("impact", "--json", "api.py")) == {"TASK-002": ["TC-002"]}
    assert affected(shop.runner("impact", "--json", ".")).keys() == {"TASK-001", "TASK-002"}
    assert affected(shop.runner("impact", "--json", "--all", "api.py")).keys() == {
        "TASK-002",
        "TASK-003",
    }


def test_a_revision_and_a_task_name_a_change_too(shop):
    base = shop.git("rev-parse", "HEAD")
    shop.write("shop/api.py", "from shop.db import save\n\nX = 1\n")
    shop.commit("feat(TASK-002): api\n\nTask: TASK-002\nAttempt: 1")
    assert affected(shop.runner("impact", "--json", "--since", base)) == {"TASK-002": ["TC-002"]}
    said = shop.runner("impact", "--json", "--task", "2")
    assert said.json["of"] == "of TASK-002"
    assert said.json["affected"] == []
    assert [one["path"] for one in said.json["changes"]] == ["shop/api.py"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["none.py"], "file not found (none.py)"),
        (["../out.py"], "this file is outside the project (../out.py)"),
        (["--since", "no"], 'unknown revision "no"'),
        (["--since", "-x"], "expected one argument"),
        (["--task", "9"], 'unknown task "9"'),
        (["--task", "3"], "TASK-003 has no commit on this branch"),
        (["shop/db.py", "--task", "1"], "more than one change given"),
    ],
)
def test_what_there_is_not_is_a_mistake(shop, words, message):
    said = shop.runner("impact", *words)
    assert said.code == 2
    assert message in said.err


def test_what_cannot_be_decided_is_said_or_counts(shop):
    shop.write("logo.bin", "1")
    said = shop.runner("impact")
    assert said.out == ""
    assert "not decided: neither the plan nor any code names logo.bin\n" in said.err
    assert affected(shop.runner("impact", "--json", "--conservative")).keys() == {
        "TASK-001",
        "TASK-002",
    }


def test_annotations_stand_beside_the_line_and_obey_nothing(shop):
    shop.write("shop/db.py", "def save(row):\n    return [row]\n")
    shop.write("a%,:.bin", "1")
    said = shop.runner("impact", "--format", "github")
    assert (
        "::notice file=shop/db.py,line=2,title=TASK-002 may be affected (TC-002)::"
        "shop/api.py imports shop/db.py\n" in said.out
    )
    assert "file=a%25%2C%3A.bin,title=not decided::neither the plan nor any code" in said.out


def test_the_width_can_be_direct_or_none(shop):
    wide = shop.runner("impact", "--json", "shop/db.py")
    direct = shop.runner("impact", "--json", "--changed-dependents", "direct", "shop/db.py")
    texts = [why["text"] for one in direct.json["affected"] for why in one["reasons"]]
    assert affected(wide).keys() == affected(direct).keys()  # shop/api.py is written by TASK-002
    assert not any("through" in text for text in texts)
    none = shop.runner("impact", "--json", "--changed-dependents", "none", "shop/db.py")
    assert none.json["affected"] == []


def test_a_repository_without_a_commit_or_a_map_is_answered(ground):
    ground.git("init", "-q", "-b", "main")
    ground.write("TASK-GRAPH.md", PLAN)
    ground.write("shop/db.py", "x = 1\n")
    said = ground.runner("impact", "--json")
    assert said.code == 0
    # no file is known yet that the commands could name, so they may be about any
    assert affected(said) == {"TASK-001": ["TC-001"], "TASK-002": ["TC-002"]}
    assert said.json["notes"][0].startswith("FILE_OWNERSHIP_MAP.md not found")


def test_the_answer_is_kept_up_with_later_commits(shop):
    shop.runner("impact", "shop/db.py")
    shop.write("shop/more.py", "import shop.db\n")
    shop.write("tests/test_api.py", "import shop.more\n")
    shop.commit("more")
    said = shop.runner("impact", "shop/db.py")
    assert "tests/test_api.py imports shop/db.py through shop/more.py" in said.out


def test_files_passed_by_a_hook_are_all_answered_for(shop):
    shop.write("shop/db.py", "def save(row):\n    return 1\n")
    shop.git("add", "-A")
    said = shop.runner("impact", "shop/db.py", "tests/test_db.py", "TASK-GRAPH.md")
    assert said.code == 0
    assert "TASK-001  TC-001" in said.out


def test_what_failed_often_or_is_quick_comes_first(shop):
    shop.journal(
        began(shop), *blocked(shop, "TASK-002"), *done(shop, "TASK-002"), *done(shop, "TASK-001")
    )
    project = shop.project()
    past = past_of(View.of(project).states, project.plan(project.plan_bytes).tasks)
    assert past.seconds[Proven("TASK-001", "TC-001")] == 0.25


# --- the tests found, run ---------------------------------------------------------------

RUN = PLAN.replace("python -m pytest -q tests/test_db.py", "python3 tests/test_db.py").replace(
    "python -m pytest -q tests/test_api.py", "python3 tests/test_api.py", 1
)


@pytest.fixture
def running(shop):
    shop.write("TASK-GRAPH.md", RUN)
    run = "import sys\nsys.path.insert(0, '.')\nimport shop.{0}\nassert shop.{0}.save(1) == 1\n"
    for name in ("db", "api"):
        shop.write(f"tests/test_{name}.py", run.format(name))
    shop.commit("tests that run")
    return shop


def test_the_tests_found_run_on_what_is_not_committed(running):
    running.write("shop/db.py", "def save(row):\n    return [row]\n")
    said = running.runner("impact", "--run", "--trust")
    assert said.code == 1
    assert "TASK-001  TC-001  failed\n" in said.err
    assert "TASK-002  TC-002  failed\n" in said.err
    assert "AssertionError" in said.err
    running.write("shop/db.py", "def save(row):\n    return row or None\n")
    said = running.runner("impact", "--run", "--json")
    assert said.code == 0
    assert [one["failed"] for one in said.json["ran"]] == [False, False]
    assert running.git("status", "--short") == "M shop/db.py"


def test_as_many_run_at_once_as_there_are_jobs_each_in_a_tree_of_its_own(
    running, tmp_path, monkeypatch
):
    waits = (
        "import os, pathlib, time\nimport shop.{0}\n"
        f"here = pathlib.Path({str(tmp_path / 'meeting')!r})\n"
        "(here / '{0}').write_text(os.getcwd())\n"
        "end = time.monotonic() + 20\n"
        "while len(list(here.iterdir())) < 2 and time.monotonic() < end:\n    time.sleep(0.01)\n"
        "assert len(list(here.iterdir())) == 2\n"
    )
    (tmp_path / "meeting").mkdir()
    for name in ("db", "api"):
        running.write(
            f"tests/test_{name}.py", "import sys\nsys.path.insert(0, '.')\n" + waits.format(name)
        )
    running.commit("tests that meet")
    running.write("shop/db.py", "def save(row):\n    return row or None\n")
    for name, value in (("SANDBOX", "none"), ("JOBS", "2")):
        monkeypatch.setenv(f"RUNNER_{name}", value)
    said = running.runner("impact", "--run", "--trust", "--json")
    assert said.code == 0, said.err
    assert [one["task"] for one in said.json["ran"]] == ["TASK-001", "TASK-002"]
    assert len({path.read_text() for path in (tmp_path / "meeting").iterdir()}) == 2


def test_nothing_runs_before_a_person_trusts_the_commands(running):
    running.write("shop/db.py", "def save(row):\n    return [row]\n")
    said = running.runner("impact", "--run")
    assert said.code == 3
    assert "not trusted yet" in said.err


# --- ownership --------------------------------------------------------------------------


def test_owners_are_shown(shop):
    said = shop.runner("ownership", "show", "shop")
    assert said.out == (
        "shop/__init__.py  -\nshop/api.py  TASK-002\nshop/db.py  TASK-001 (Output files)\n"
    )
    rows = shop.runner("ownership", "--json").json["files"]
    assert {"path": "shop/api.py", "owners": ["TASK-002"], "outputs": ["TASK-002"]} in rows


def test_faults_of_the_map_are_an_exit_code(shop):
    said = shop.runner("ownership", "check")
    assert said.code == 1
    assert said.out == (
        "shop/__init__.py: no task owns it\n"
        "tests/test_api.py: no task owns it\n"
        "tests/test_db.py: no task owns it\n"
    )
    assert shop.runner("ownership", "check", "shop/api.py").code == 0
    shop.write("FILE_OWNERSHIP_MAP.md", "| File | Tasks |\n|---|---|\n| `**` | TASK-001 |\n")
    faults = shop.runner("ownership", "check", "--json").json["faults"]
    assert [one["kind"] for one in faults] == ["everything"]
    (shop.folder / "FILE_OWNERSHIP_MAP.md").unlink()
    assert "FILE_OWNERSHIP_MAP.md: file not found\n" in shop.runner("ownership", "check").out


def test_rows_are_proposed_from_history_and_written_only_when_asked(shop):
    before = FILES["FILE_OWNERSHIP_MAP.md"]
    said = shop.runner("ownership", "propose")
    assert "shop/db.py  TASK-001\n" in said.out
    assert (shop.folder / "FILE_OWNERSHIP_MAP.md").read_text() == before
    said = shop.runner("ownership", "propose", "--write")
    assert said.err == "4 rows written\n"
    after = (shop.folder / "FILE_OWNERSHIP_MAP.md").read_text()
    assert after.startswith(before)
    assert shop.runner("ownership", "check").code == 0
    assert shop.runner("ownership", "propose").out == ""


def test_only_proposals_are_written(shop):
    said = shop.runner("ownership", "check", "--write")
    assert (said.code, "--write needs `propose`" in said.err) == (2, True)


def test_both_are_in_the_table_and_say_one_json_document(shop):
    assert {"impact", "plan ownership"} <= TABLE.keys()
    for words in (("impact",), ("ownership", "check"), ("ownership", "propose"), ("ownership",)):
        document = json.loads(shop.runner(*words, "--json").out)
        assert document["schemaVersion"] == 1


def test_a_contract_is_found_by_its_instance_and_run(shop):
    keeps = "- Contracts:\n  - schema: `s.json` = `i.json`\n- Test contracts:\n  - TC-001"
    shop.write("TASK-GRAPH.md", PLAN.replace("- Test contracts:\n  - TC-001", keeps))
    shop.write("s.json", '{"type": "object", "properties": {"id": {"type": "integer"}}}')
    shop.write("i.json", '{"id": 1}')
    shop.commit("kept")
    shop.write("i.json", '{"id": "x"}')
    said = shop.runner("impact", "--run", "--trust")
    assert said.code == 1
    assert said.out.startswith("TASK-001  contract:schema\n  contracts  i.json:1  TASK-001 has a")
    assert "1 task, 0 test contracts and 1 contract may be affected" in said.err
    assert "not decided" not in said.err
    assert "TASK-001  contract:schema  failed" in said.err
