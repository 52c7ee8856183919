"""Acceptance ids, held-out contracts, their files and the test author, as a plan writes them."""

from __future__ import annotations

import pytest

from runner.context.brief import Parts, compose_brief
from runner.errors import RunnerError
from runner.model import AcceptanceItem, HeldOutFile, Severity
from runner.plan.checks import check_plan
from runner.plan.document import read_plan
from runner.plan.drafted_sections import number_items
from runner.plan.held_out import HeldOutLines, names_file, runs_file, write_held_out
from runner.plan.spans import Spans

DIGEST = "sha256:" + 64 * "a"
PLAN = f"""# Shop

## TASK-001: Bookings

- Output files: `bookings.py`
- Acceptance:
  - A1: an end before its start is refused
  - A2: back-to-back bookings do not overlap
- Test contracts:
  - TC-002 (unit): `python -m pytest -q tests/test_models.py`
  - TC-003 (unit, held out): `python -m pytest -q tests/test_models_acceptance.py`
- Held-out files:
  - `tests/test_models_acceptance.py` {DIGEST}
- Test author: claude
"""


def read(text=PLAN):
    plan = read_plan(text.encode(), "TASK-GRAPH.md")
    return plan.tasks[0], [(problem.message, problem.hint) for problem in plan.problems]


def test_the_lines_of_the_rules_are_read():
    task, problems = read()
    assert problems == []
    assert task.acceptance_items[0] == AcceptanceItem("A1", "an end before its start is refused")
    assert [(one.id, one.held_out) for one in task.test_contracts] == [
        ("TC-002", False),
        ("TC-003", True),
    ]
    assert task.held_out_contracts[0].shown_level == "unit, held out"
    assert task.held_out_contracts[0].title == "TC-003 (held out)"
    assert task.held_out_files == (HeldOutFile("tests/test_models_acceptance.py", DIGEST),)
    assert task.test_author == "claude"


@pytest.mark.parametrize(
    ("written", "id_"),
    [
        *((one, "A1") for one in ("A1: x", "**A1:** x", "**A1**: x", "`A1`: x")),
        *((one, "") for one in ("an x", "A: x", "A1 x", "AB1: x", "A1:")),
    ],
)
def test_an_id_is_a_and_digits_before_a_colon(written, id_):
    assert AcceptanceItem.parse(written) == AcceptanceItem(id_, "x" if id_ else written)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("A2:", "A1:", "duplicate acceptance id A1"),
        ("held out", "held out, fails", "TC-003 is marked as `fails` and as `held out`"),
        (f"`tests/test_models_acceptance.py` {DIGEST}", f"`tests/` {DIGEST}", "is a folder"),
        (f"`tests/test_models_acceptance.py` {DIGEST}", f"`tests/*.py` {DIGEST}", "is a glob"),
        (
            f"`tests/test_models_acceptance.py` {DIGEST}",
            f"`../x.py` {DIGEST}",
            "must not contain `..`",
        ),
        (f" {DIGEST}", "", "bad held-out file"),
        (DIGEST, DIGEST[:-1], "bad held-out file"),
        (
            f"{DIGEST}\n",
            f"{DIGEST}\n  - `tests/test_models_acceptance.py` {DIGEST}\n",
            "is listed twice",
        ),
    ],
)
def test_a_wrong_line_is_an_error_with_a_hint(old, new, message):
    (problem,) = read(PLAN.replace(old, new))[1]
    assert message in problem[0]
    assert problem[1]


def test_ids_added_to_unchanged_texts_change_no_digest():
    without = PLAN.replace("A1: ", "").replace("A2: ", "")
    assert read(without)[0].spec == read()[0].spec
    assert read(PLAN.replace("A2: ", "A7: "))[0].spec == read()[0].spec


@pytest.mark.parametrize(
    ("old", "new"), [("unit, held out", "unit"), (DIGEST, "sha256:" + 64 * "b")]
)
def test_the_lines_of_held_out_tests_say_how_a_task_is_proven(old, new):
    before, after = read()[0].spec, read(PLAN.replace(old, new))[0].spec
    assert before.what == after.what
    assert before.proof != after.proof


def test_a_path_with_brackets_is_a_file():
    task, problems = read(PLAN.replace("tests/test_models_acceptance.py", "app/[id]/a.test.ts"))
    assert problems == []
    assert task.held_out_files[0].path == "app/[id]/a.test.ts"


# --- writing ------------------------------------------------------------------------------

FILE = HeldOutFile("tests/test_a.py", DIGEST)
HEAD = "# Shop\n\n## TASK-001: Bookings\n\n"
TAIL = "\nProse stays.\n\n## TASK-002: Other\n\n- Output files: `b.py`\n"


@pytest.mark.parametrize(
    ("fields", "wanted", "expected"),
    [
        (
            "- Output files: `a.py`\n",
            HeldOutLines((FILE,), add=(("TC-001", "pytest tests/test_a.py"),)),
            (
                "- Output files: `a.py`\n- Test contracts:\n"
                "  - TC-001 (unit, held out): `pytest tests/test_a.py`\n"
                f"- Held-out files:\n  - `tests/test_a.py` {DIGEST}\n"
            ),
        ),
        (
            "- Test contracts: `pytest tests/test_a.py`\n- Coverage: 80%\n",
            HeldOutLines((FILE,), mark=frozenset({"TC-001"})),
            (
                "- Test contracts: TC-001 (unit, held out): `pytest tests/test_a.py`\n"
                f"- Held-out files:\n  - `tests/test_a.py` {DIGEST}\n- Coverage: 80%\n"
            ),
        ),
        (
            (
                "* Test contracts:\n    * TC-001 (e2e): `pytest tests/test_a.py`\n"
                "    * **TC-002**: `pytest`\n* Status: BLOCKED\n"
            ),
            HeldOutLines((FILE,), mark=frozenset({"TC-001"}), add=(("TC-003", "make a"),)),
            (
                "* Test contracts:\n    * TC-001 (e2e, held out): `pytest tests/test_a.py`\n"
                "    * **TC-002**: `pytest`\n    * TC-003 (unit, held out): `make a`\n"
                f"* Held-out files:\n  - `tests/test_a.py` {DIGEST}\n* Status: BLOCKED\n"
            ),
        ),
        (
            (
                "- Test contracts:\n  - TC-001 (unit, held out): `pytest tests/test_a.py`\n"
                f"- Held-out files: `tests/test_a.py` {DIGEST}\n- Type: api\n"
            ),
            HeldOutLines((), drop=frozenset({"TC-001"})),
            "- Type: api\n",
        ),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_lines_are_written_and_all_other_bytes_stay(fields, wanted, expected, end):
    before, after = ((HEAD + one + TAIL).replace("\n", end).encode() for one in (fields, expected))
    assert write_held_out(before, "TASK-001", wanted) == after


@pytest.mark.parametrize(
    "fields",
    [
        "| Field | Value |\n|---|---|\n| Output files | `a.py` |\n",
        "**Output files:** `a.py`\n",
        "- Test contracts:\n\n  ```sh\n  pytest\n  pytest tests/test_a.py\n  ```\n",
    ],
)
def test_a_form_that_is_not_edited_shows_the_lines_to_write(fields):
    wanted = HeldOutLines((FILE,), add=(("TC-009", "pytest tests/test_a.py"),))
    with pytest.raises(RunnerError, match="that the runner cannot edit") as error:
        write_held_out((HEAD + fields + TAIL).encode(), "TASK-001", wanted)
    assert f"  - `tests/test_a.py` {DIGEST}" in error.value.hint


def test_a_brief_leaves_the_lines_out():
    task, _ = read()
    brief = compose_brief(Parts(task, 1)).text
    assert "A1: an end before its start is refused" in brief
    assert "TC-002" in brief
    for word in ("TC-003", "acceptance.py", DIGEST, "held out", "Test author"):
        assert word not in brief


@pytest.mark.parametrize(
    ("written", "numbered"),
    [
        (("x", "y"), ("A1: x", "A2: y")),
        (("A7: x", "A3: y"), ("A7: x", "A3: y")),
        (("A1: x", "A1: y"), ("A1: x", "A2: y")),
        (("x", "A1: x", "y"), ("A1: x", "A2: y")),
        ((), ()),
    ],
)
def test_drafted_acceptance_items_have_ids(written, numbered):
    assert number_items(written) == numbered


FILES = f"- Held-out files: `tests/test_a.py` {DIGEST}\n"
HELD = "- Test contracts: TC-001 (unit, held out): `python -m pytest -q tests/test_a.py`\n"


AUTHOR = "- Acceptance: x\n- Test author: claude\n"


def find(fields, is_agent=lambda _: False):
    text = f"# Shop\n\n## TASK-001: Bookings\n\n- Output files: `a.txt`\n{fields}".encode()
    tasks = read_plan(text, "P").tasks
    places = Spans(text, "P")
    yes = {"found": lambda _: True, "exists": lambda _: True}
    return [
        one
        for one in check_plan(tasks, places=places, **yes, is_agent=is_agent)
        if one.severity is not Severity.WARNING
    ]


def test_a_complete_task_has_no_problem():
    assert find(HELD + FILES, lambda _: True) == []
    assert find(HELD.replace(", held out", "") + FILES + AUTHOR, lambda _: True) == []


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (HELD, "has no Held-out files"),
        (FILES, "no held-out test contract"),
        (FILES + AUTHOR, "no held-out test contract"),
        (HELD.replace("test_a.py", "test_b.py") + FILES, "runs none of the Held-out files"),
        (HELD.replace("-m pytest -q tests/test_a.py", '-c "1/0"') + FILES, "the test itself"),
        (HELD.replace("python -m pytest -q", "node -e") + FILES, "the test itself"),
        (HELD + FILES + "- Network: yes\n", "runs without a network"),
        (HELD + FILES + "- Network: registries\n", "runs without a network"),
        ("- Test author: claude\n", "has a Test author but no Acceptance"),
    ],
)
def test_what_cannot_be_held_out_is_an_error_with_a_hint(fields, message):
    (problem,) = find(fields)
    assert message in problem.message
    assert problem.severity is Severity.ERROR
    assert problem.hint


def test_an_agent_s_tasks_with_nothing_held_out_are_one_note():
    more = "".join(f"\n## TASK-00{n}: X\n\n- Output files: `{n}.txt`\n" for n in (2, 3))
    (note,) = find(more, lambda _: True)
    assert note.severity is Severity.NOTE
    assert note.message == "agents build TASK-001 and 2 more tasks, and can read all of their tests"
    assert find(more) == []


@pytest.mark.parametrize(
    ("command", "runs"),
    [
        ("python -m pytest -q tests/test_a.py", True),
        ("pytest ./tests/test_a.py::test_x -q", True),
        ("sh -c 'pytest tests/test_a.py'", True),
        ("pytest tests", True),
        ("pytest tests/", True),
        ("go test ./tests/...", True),
        ("go test ./...", True),
        ("cargo test --test test_a", True),
        ("pytest -q", True),
        ("pytest tests/test_b.py", False),
        ("true", False),
        ("test -f src/a.py", False),
    ],
)
def test_a_command_runs_a_file_that_its_words_name(command, runs):
    assert runs_file(command, "tests/test_a.py") is runs


@pytest.mark.parametrize(
    ("command", "names"),
    [("pytest tests/test_a.py::test_x", True), ("pytest tests/", False), ("pytest", False)],
)
def test_a_command_names_a_file_by_its_path(command, names):
    assert names_file(command, "tests/test_a.py") is names
