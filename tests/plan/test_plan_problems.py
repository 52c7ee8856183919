"""Every message about a plan, in full."""
# ruff: noqa: E501  (a document stands on one line, as its bytes are)

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from runner.plan.checks import check_plan
from runner.plan.diagnostic import render
from runner.plan.document import read_plan
from runner.plan.spans import Places

NAME = "TASK-GRAPH.md"
GOLDEN = Path(__file__).parents[1] / "golden" / "plan"


def messages(data: bytes, *, on_path=(), there=()) -> str:
    plan = read_plan(data, NAME)
    whole = check_plan(
        plan.tasks, places=Places(data, NAME), found=on_path.__contains__, exists=there.__contains__
    )
    return "".join(f"{render(problem)}\n\n" for problem in (*plan.problems, *whole))


@pytest.mark.parametrize("name", ["values", "whole", "styles", "headings"])
def test_all_errors_of_a_file_come_together_each_with_its_place_and_a_hint(name):
    data = (GOLDEN / f"{name}.md").read_bytes()
    assert messages(data, on_path={"pytest"}) == (GOLDEN / f"{name}.txt").read_text("utf-8")


def test_a_file_without_a_task_is_an_error_with_a_hint():
    assert messages(b"# Title\n\ntext\n") == textwrap.dedent("""\
        TASK-GRAPH.md:1:1: error: there is no task in the file
          # Title
          ^
        hint: begin one with a heading such as ## TASK-001: Title; `runner init` writes an example

        """)


def test_an_empty_file_is_an_error_too():
    assert "there is no task in the file" in messages(b"")


def test_a_file_that_is_not_utf8_is_an_error_at_its_first_bad_byte():
    text = messages(b"## TASK-001: a\n\ncaf\xe9\n")
    assert (
        text
        == "TASK-GRAPH.md:3:4: error: the file is not UTF-8 text\nhint: save it in the encoding UTF-8\n\n"
    )


@pytest.mark.parametrize("name", ["planner-style.md", "tables.md"])
def test_the_samples_have_no_errors(name):
    data = (Path(__file__).parent / "samples" / name).read_bytes()
    assert "error:" not in messages(data, on_path={"python", "python3"})


def test_what_an_earlier_task_or_the_disk_provides_is_no_problem():
    data = b"## TASK-001: a\n\n- Files: a.txt\n\n## TASK-002: b\n\n- Needs: TASK-001\n- Inputs: a.txt, c.txt\n- Files: a.txt\n\n## TASK-003: c\n\n- Files: c.txt\n"
    assert messages(data, there={"c.txt"}) == ""


def test_ten_thousand_tasks_are_checked_without_comparing_all_pairs():
    plan = read_plan(
        b"## TASK-001: a\n\n- Files: `src/x1/a.txt`, `src/x1/**`, `*.md`\n- Inputs: src/y1\n", NAME
    )
    import dataclasses
    import time

    tasks = [
        dataclasses.replace(
            plan.tasks[0], id=f"TASK-{n:03}", outputs=(f"src/x{n}/a.txt", f"src/x{n}/**"), inputs=(f"src/y{n}",),
            depends_on=(f"TASK-{n - 1:03}",) if n > 1 else (),
        )
        for n in range(1, 10_001)
    ]  # fmt: skip
    start = time.process_time()
    assert check_plan(tasks, places=Places(b"", NAME), found=bool, exists=bool) == ()
    assert time.process_time() - start < 60  # all pairs would take minutes


def test_no_task_is_told_to_depend_on_itself():
    said = messages(b"# P\n\n## TASK-001: One\n\n- Depends on: TASK-011\n\n## TASK-002: Two\n")
    assert "TASK-001 depends on TASK-011, which no task is" in said
    assert 'did you mean "TASK-001"?' not in said
