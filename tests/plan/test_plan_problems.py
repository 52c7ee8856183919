"""Every message about a plan, in full."""
# ruff: noqa: E501  (a document stands on one line, as its bytes are)

from __future__ import annotations

import re
import textwrap
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.plan.checks import check_plan
from runner.plan.document import read_plan
from runner.plan.markdown_text import without_strong
from runner.plan.shell.shell_commands import executables, shell_operator, swallows_failure
from runner.plan.source import render
from runner.plan.spans import Spans

NAME = "TASK-GRAPH.md"
GOLDEN = Path(__file__).parents[1] / "golden" / "plan"


def messages(data: bytes, *, on_path=(), there=()) -> str:
    plan = read_plan(data, NAME)
    whole = check_plan(
        plan.tasks, places=Spans(data, NAME), found=on_path.__contains__, exists=there.__contains__
    )
    return "".join(f"{render(problem)}\n\n" for problem in (*plan.problems, *whole))


@pytest.mark.parametrize("name", ["values", "whole", "styles", "headings"])
def test_all_errors_of_a_file_come_together_each_with_its_place_and_a_hint(name):
    data = (GOLDEN / f"{name}.md").read_bytes()
    assert messages(data, on_path={"pytest"}) == (GOLDEN / f"{name}.txt").read_text("utf-8")


def test_a_file_without_a_task_is_an_error_with_a_hint():
    assert messages(b"# Title\n\ntext\n") == textwrap.dedent("""\
        TASK-GRAPH.md:1:1: error: the plan has no task
          # Title
          ^
        hint: add one with a heading such as ## TASK-001: Title; `runner init` writes an example

        """)


def test_an_empty_file_is_an_error_too():
    assert "the plan has no task" in messages(b"")


def test_a_file_that_is_not_utf8_is_an_error_at_its_first_bad_byte():
    text = messages(b"## TASK-001: a\n\ncaf\xe9\n")
    assert (
        text == "TASK-GRAPH.md:3:4: error: the file is not UTF-8 text\nhint: save it as UTF-8\n\n"
    )


@pytest.mark.parametrize("name", ["planner-style.md", "tables.md"])
def test_the_samples_have_no_errors(name):
    data = (Path(__file__).parent / "samples" / name).read_bytes()
    assert "error:" not in messages(data, on_path={"python", "python3"})


def test_what_an_earlier_task_or_the_disk_provides_is_no_problem():
    data = b"## TASK-001: a\n\n- Files: a.txt\n\n## TASK-002: b\n\n- Needs: TASK-001\n- Inputs: a.txt, c.txt\n- Files: a.txt\n\n## TASK-003: c\n\n- Files: c.txt\n"
    assert messages(data, there={"c.txt"}) == ""


@pytest.mark.no_cover
def test_ten_thousand_tasks_are_checked_without_comparing_all_pairs():
    plan = read_plan(
        b"## TASK-001: a\n\n- Files: `src/x1/a.txt`, `src/x1/**`, `*.md`\n- Inputs: src/y1\n", NAME
    )
    import msgspec

    tasks = [
        msgspec.structs.replace(
            plan.tasks[0], id=f"TASK-{n:03}", outputs=(f"src/x{n}/a.txt", f"src/x{n}/**"), inputs=(f"src/y{n}",),
            depends_on=(f"TASK-{n - 1:03}",) if n > 1 else (),
        )
        for n in range(1, 10_001)
    ]  # fmt: skip
    start = time.process_time()
    assert check_plan(tasks, places=Spans(b"", NAME), found=bool, exists=bool) == ()
    assert time.process_time() - start < 60  # all pairs would take minutes


BLANKS = " " * 60_000
HOSTILE = {
    "blanks behind a status": f"- Status: PENDING{BLANKS}x",
    "comments that nothing closes": "- Status: PENDING" + "<!-- " * 15_000,
    "marks that nothing closes": "- Type: " + "**a " * 20_000,
    "blanks in a path": f"- Output files: a{BLANKS}b",
    "blanks between needs": f"- Depends on: TASK-002{BLANKS}b",
    "blanks behind a requirement": f"- Requires: tool{BLANKS}x",
    "digits without a unit": "- Budget: " + "1" * 60_000,
    "digits of a time": "- Timeout: " + "1" * 60_000,
    "blanks in a contract's id": f"- Test contracts: TC-{'a' * 500}{BLANKS}x",
    "blanks in a contract's level": f"- Test contracts: TC-1 ({BLANKS}x",
    "blanks in a gate": f"- Gates: a{BLANKS}b",
    "blanks in a reason": f"- Contracts: none —{BLANKS}!",
    "many entries": "- Test contracts: " + "`a`; " * 20_000,
    "blanks in a label": f"\na.py{BLANKS}x\n\n```py\nx\n```",
    "strokes in a label": f"\na.b{'_' * 20_000}!\n\n```py\nx\n```",
    "blanks in a comment": f"\n```py\n# a.py{BLANKS}x\n```",
    "many paragraphs of fields": "\n**Type:** x\n" * 10_000,
    "a title": f"\n## TASK-002: A{BLANKS}é",
    "a title's marks": "\n## TASK-002: " + "**a " * 20_000,
}


@pytest.mark.parametrize("said", HOSTILE.values(), ids=HOSTILE)
def test_whatever_a_plan_holds_it_is_read_in_time_linear_in_its_size(said):
    start = time.process_time()
    read_plan(f"# P\n\n## TASK-001: One\n\n{said}\n".encode(), NAME)
    assert time.process_time() - start < 20  # by the square of it these take minutes to hours


@given(st.text("*_~a \n\u00a0", max_size=24))
def test_strong_marks_are_those_that_a_pattern_finds_in_longer_time(text):
    pattern = re.compile(r"(\*\*|__|~~)(?=\S)(.+?)(?<=\S)\1")
    assert without_strong(text) == pattern.sub(r"\2", text)


def test_a_gate_of_blanks_and_a_long_word_are_checked_in_no_time():
    start = time.process_time()
    assert swallows_failure(f"|| echo{BLANKS}|") == ""
    assert executables("'a'" + "b" * 2_000_000) == ()
    assert shell_operator("'a'" + "b" * 2_000_000) == ""
    assert time.process_time() - start < 20


def test_no_task_is_told_to_depend_on_itself():
    said = messages(b"# P\n\n## TASK-001: One\n\n- Depends on: TASK-011\n\n## TASK-002: Two\n")
    assert "TASK-001 depends on unknown task TASK-011" in said
    assert 'did you mean "TASK-001"?' not in said


LOOSE = """## TASK-001: Slugs
- Output files: shop.py
- Acceptance:
  - `slug("A b")` == `a-b`
- Test contracts:
  - TC-001 (unit): `test -f shop.py`

>>> slug("C")
'c'
"""


def test_examples_that_nothing_runs_are_named_once_a_plan():
    said = messages(LOOSE.encode() + LOOSE.replace("TASK-001", "TASK-002").encode())
    assert said.count("Python examples") == 1
    assert "no test runs 4 Python examples (first in TASK-001)" in said
    assert "```python examples" in said


def test_examples_in_a_block_that_is_run_and_other_tasks_are_not_named():
    block = LOOSE.replace(">>> slug", "```python examples\n>>> slug") + "```\n"
    inside = block.replace('  - `slug("A b")` == `a-b`', "  - slugs are short")
    assert "examples" not in messages(inside.encode())
    assert "examples" not in messages(LOOSE.replace("shop.py", "shop.txt").encode())
