"""What is plainly written is read as the general parser reads it, and in a part of the time."""

import random

import pytest
from growth import grows_as_its_input

from runner.plan.document import read_plan
from runner.plan.markdown import _parsed, parse, plain_blocks

_PLAIN = (
    *("", "", "", "## TASK-001: One", "# Title", "Text one", "text  ", "**bold** x", "`code` x"),
    *("- Status: PENDING", "- **Depends on:** a", "- `a`, `b`", "  - TC-001 (unit): `true`"),
    *("  - b", "```", "```x file=a.py", "````", " "),
)
_ODD = (
    *("## x #", "### a ## ", "#bad", "- ", "-", "- 1", "- 1. x", "- [ ] x", "- [a]: /u", "[a]: /u"),
    *(
        "    - c",
        "```` x",
        "  ```",
        "~~~",
        "\t",
        " a",
        "---",
        "===",
        "| a | b |",
        "|---|---|",
        "- - a",
    ),
    *("a | b", "--- | ---", "> q", "<!-- c", "-->", "<div>", "* x", "1. x", "- a\xa0", "a\u2028b"),
    *("a\x0bb", "- a\\", "&amp;", "- ***", "***", "Äh", "- ü", "  text", "`a", "- ``` x", "-\ta"),
)


@pytest.mark.parametrize("odd", [(), _ODD], ids=["plain", "odd"])
@pytest.mark.parametrize("seed", range(2))
def test_a_text_is_read_as_the_general_parser_reads_it_or_left_to_it(seed, odd):
    chance, quick = random.Random(seed), 0
    for _ in range(1500):
        lines = chance.choices((*_PLAIN, *odd), k=chance.randint(1, 12))
        text = "\n".join(lines) + chance.choice(["", "\n", "\n\n"])
        found = plain_blocks(text)
        assert found is None or found == _parsed(text), text
        quick += found is not None
    assert quick > 10, "nearly nothing of it was plain"


def test_a_task_as_planners_write_it_is_plain():
    text = (
        "## TASK-002: Booking model\n\n- Status: PENDING\n- Depends on: TASK-001\n"
        "- Output files: `a.py`, `b.py`\n- Test contracts:\n  - TC-002 (unit): `pytest -q`\n"
        "\nProse here.\nMore of it.\n\n```python file=a.py\n# no heading\n- x\n\n```\n"
    )
    assert plain_blocks(text) == parse(text) == _parsed(text)


@pytest.mark.parametrize(
    "text",
    ["- a\n\n- b", "- a\n\n  b", "- a\nb", "a\n---", "a\n- b", "```\na", "- a\n  -  b", "\ta"],
)
def test_what_needs_a_second_look_is_left_to_the_general_parser(text):
    assert plain_blocks(text) is None
    assert parse(text)


def test_the_time_of_reading_grows_as_the_plan_does():
    def plan(size):
        tasks = (
            f"## TASK-{n:06}: Step\n\n- Depends on: TASK-{n - 1:06}\n- Output files: `src/{n}`\n\n"
            for n in range(1, size)
        )
        data = "".join(tasks).encode()
        return lambda: read_plan(data, "TASK-GRAPH.md")

    assert grows_as_its_input(plan, 300)


def test_the_time_of_reading_grows_as_the_needs_of_a_task_do():
    def plan(size):
        needs = ", ".join(f"TASK-{n:06}" for n in range(2, size))
        data = f"## TASK-000001: All\n\n- Depends on: {needs}\n".encode()
        return lambda: read_plan(data, "TASK-GRAPH.md")

    assert grows_as_its_input(plan, 2000)


def test_needs_between_commas_are_the_same_however_they_are_written():
    for value in ("TASK-001, TASK-0002, TASK-001", "`TASK-001`, TASK-0002", "Task 1, TASK-0002"):
        (task,) = read_plan(f"## TASK-9: A\n\n- Needs: {value}\n".encode(), "T").tasks
        assert task.depends_on == ("TASK-001", "TASK-0002")
