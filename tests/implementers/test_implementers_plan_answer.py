"""A plan as agents and models really answer."""

import json
import time
from pathlib import Path

import pytest

from runner.context.task_plan import relate_paths
from runner.implementers.plan_answer import ASKED_FOR, plan_in
from runner.model import Phase, TaskPlan

ROW = {
    "steps": ["Read it", "Write it"],
    "files": ["src/a.py", "./tests/test_a.py"],
    "context": ["src/b.py"],
    "type": "api",
    "gates": ["TC-003"],
    "phases": [{"title": "One", "steps": ["Write it"], "files": ["src/a.py"]}],
}
PLAN = TaskPlan(
    steps=("Read it", "Write it"),
    files=("src/a.py", "tests/test_a.py"),
    context=("src/b.py",),
    type="api",
    gates=("TC-003",),
    phases=(Phase("One", ("Write it",), ("src/a.py",)),),
)
TEXT = json.dumps(ROW, indent=2)


@pytest.mark.parametrize(
    "files",
    [
        "Files: m.py, test_m.py",
        "**Files:** `m.py`, `test_m.py`",
        "- Output files: `m.py`, `test_m.py`",
        "Files:\n- m.py\n- test_m.py",
        "**Files:**\n\n- `m.py`: new\n- `test_m.py`",
    ],
)
@pytest.mark.parametrize("steps", ["1. Read\n2. Write", "## Steps\n1. Read\n2. Write\n"])
def test_files_are_read_outside_of_headings(steps, files):
    plan = plan_in(f"I looked.\n\n{steps}\n\n{files}\n\nContext files: a.py\n")
    assert plan is not None
    assert (plan.steps, plan.files) == (("Read", "Write"), ("m.py", "test_m.py"))
    assert plan.context == ("a.py",)


@pytest.mark.parametrize(
    "message",
    [
        f"I looked.\n\n```json plan\n{TEXT}\n```\n",
        f"I looked.\r\n\r\n~~~json plan\r\n{TEXT}\r\n~~~",
        f"```json\n{TEXT}\n```\nThat is all.",
        f"```\n{TEXT}\n```",
        TEXT,
        f"Here: {TEXT} Good?",
        f'```json plan\n{{"plan": {TEXT}}}\n```',
        f'```json plan\n{{"steps": ["old"], "files": []}}\n```\nBetter:\n```json plan\n{TEXT}\n```',
        f"```json plan\n{TEXT}\n```\nAn example:\n```json\n{{}}\n```",
    ],
)
def test_the_plan_is_found_however_it_is_wrapped(message):
    assert plan_in(message) == PLAN


def test_entries_may_be_objects_and_names_may_differ():
    row = {
        "Steps": [{"title": "Read\n it"}, {"description": "Write it"}, 5],
        "output_files": [{"path": "src/a.py", "why": "new"}, "`src/b.py` (changed)"],
        "checks": "TC-003",
    }
    found = plan_in(json.dumps(row))
    assert found == TaskPlan(("Read it", "Write it"), ("src/a.py", "src/b.py"), gates=("TC-003",))


def test_absolute_paths_below_the_project_become_relative():
    text = "1. Change `/tree/sub/m.py`\n2. Add `/repository/sub/tests/test_m.py` and `/etc/x.py`\n"
    plan = plan_in(text)
    assert plan is not None
    found = relate_paths(plan, (Path("/repository/sub"), Path("/tree/sub")))
    assert found.files == ("m.py", "tests/test_m.py", "/etc/x.py")


def test_markdown_is_read_too():
    text = "# Plan\n\n## Steps\n1. Read it\n2. Write it\n\n## Files\n- `src/a.py`: new\n"
    assert plan_in(text) == TaskPlan(("Read it", "Write it"), ("src/a.py",))


def test_a_numbered_list_alone_is_a_plan_of_the_files_that_it_shows():
    text = "My plan:\n\n1. Create `src/a.py` with the model.\n2. Then **run** `pytest`\n"
    assert plan_in(text) == TaskPlan(
        ("Create `src/a.py` with the model.", "Then **run** `pytest`"), ("src/a.py",)
    )


@pytest.mark.parametrize(
    "message",
    [
        "",
        "I cannot do that.",
        '{"steps": []}',
        '{"files": ["a.py"]}',
        '```json plan\n{"steps": ["a"\n```',
        "[" * 100_000,
        "null",
    ],
)
def test_what_tells_no_plan_is_none(message):
    assert plan_in(message) is None


def test_what_is_asked_for_can_be_read():
    answered = ASKED_FOR.replace("every/path/that/will/be/created/or/modified.py", "a.py")
    assert plan_in(answered).steps == ("what is done first", "what is done then")


def test_who_repeats_the_question_tells_no_plan():
    assert plan_in(f"{ASKED_FOR}\nI cannot do that.") is None
    mine = '```json plan\n{"steps": ["write"], "files": ["a.py"]}\n```\n'
    assert plan_in(mine + ASKED_FOR).files == ("a.py",)


@pytest.mark.parametrize("lines", ["```x\n", "~~~\n```x\n", "```plan\n```\n", "~~~\n````\n```\n"])
def test_a_message_of_fences_is_read_in_linear_time(lines):
    began = time.thread_time()
    assert plan_in(lines * 25_000) is None
    assert time.thread_time() - began < 8


def test_a_fence_that_is_never_closed_hides_none_that_is():
    mine = '```json plan\n{"steps": ["write"], "files": ["a.py"]}\n```\n'
    assert plan_in(f"~~~ x\n{mine}````\nand so on").files == ("a.py",)
