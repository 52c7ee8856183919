"""What `validate` says of held-out tests."""

from __future__ import annotations

import pytest

from runner.model import Severity
from runner.plan.checks import check_plan
from runner.plan.document import read_plan
from runner.plan.held_out import names_file, runs_file
from runner.plan.spans import Spans

DIGEST = "sha256:" + 64 * "a"
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
