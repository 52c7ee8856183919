"""What the line scanner reads of a section is what the reader of sections says, or nothing."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest
from growth import grows_as_its_input

from runner.model import Severity, Spec
from runner.plan import scanner
from runner.plan.body import read_body
from runner.plan.cache import load_outline
from runner.plan.document import read_plan
from runner.plan.markdown import Cuts, _parsed, parse, plain_blocks
from runner.plan.outline import find_plain
from runner.plan.plain_sections import plain_fields, read_plain
from runner.plan.scanner import may_scan, scan, task_lines
from runner.plan.sections import SectionReader, section_at
from runner.plan.source import Source

HERE = Path(__file__).parent
_FIELDS = (
    *(
        "- Status: PENDING",
        "- Status: DONE",
        "- status: done ✅",
        "- Status: BLOCKED — no key: why",
    ),
    *(
        "- Type: data",
        "- Task type: API",
        "- Type: none",
        "- Depends on: none",
        "- Needs: TASK-002",
    ),
    *("- Depends on: TASK-002, TASK-003, TASK-002", "- Dependencies: TASK-0010", "- Depends on: "),
    *("- Output files: `a.py`, `Src/b_c.py`", "- Files:\n  - `a.py`\n  - `b.py`", "- Outputs: `a`"),
    *("- Inputs: `docs/a.md`", "- Acceptance:\n  - it works\n  - [ ] so does this: yes", "- TC:"),
    *("- Tests: TC-1: `true`", "- Test contracts:\n  - TC-001 (unit): `a; b`\n  - TC-002: `c`"),
    *(
        "- Gates:\n  - lint: `ruff check`",
        "- Coverage: 80%",
        "- Implementer: my-agent",
        "- Stack: a, b",
    ),
    *(
        "- Acceptance: at once\n  - [x] and [ ] then  [x] y",
        "- Acceptance: [ ] a box\n  - none\n  - nothing",
    ),
    *("- Tests: TC-1 (e2e): `a | b`\n  - TC-02 (integration): ` c `", "- Command: ` make  x `"),
    *("- Gates: lint: `a; b`\n  - the-types: `c`", "- Priority: high", "- Source: a/b.py:3"),
    *("- Contracts: openapi: `a.json` app=`b:c`\n  - command: `x; y`", "- Network: loopback"),
    *("- Requires: tool make, tool x-y", "- Patterns: PATTERN-001, none", "- Type: None"),
    *(
        "- Inputs:\n  - `a.md`, `b.md`\n  - `a.md`",
        "- Tests:\n  - TC-1: `a <br> b`",
        "- Coverage: 5",
    ),
    *("- Tests: `pytest -q`", "- Tests:\n  - `a; b`\n  - TC-7: `c`\n  - `d`", "- Tests: ` a `"),
    *(
        "- Red first: no",
        "- Review: prompt",
        "- Timeout: 10 minutes",
        "- Requires: secret A_B, tool x",
    ),
    *("- Changes tests: `tests/a.py`", "- Proof: none — words alone", "- Timeout: 1 hour"),
    *("- Changes tests:\n  - `a*.py`, `any`\n  - `b`", "- Proof: none — `x`: y"),
    *("- Command: `make x`", "- Contracts:\n  - schema: `a.json` = `b:C`", "- Keywords: one, two"),
)
_ODD_FIELDS = (
    *(
        "- Status: DNOE",
        "- Status:",
        "- Status: DONE | x",
        "- Status: DONE ",
        "- Staus: x",
        "- Note: x",
    ),
    *(
        "- Depends on: 1",
        "- Depends on: TASK-2; TASK-3",
        "- Output files: any",
        "- Files: `any`, `b`",
    ),
    *(
        "- Output files: `../a`, `b`",
        "- Output files: `a/.git/b`",
        "- Files: a.py",
        "- Files: `a b`",
    ),
    *(
        "- Tests: pytest",
        "- Tests: TC-1 (foo): `a`",
        "- Gates: lint",
        "- Coverage: 800%",
        "- Type: a b",
    ),
    *(
        "- Acceptance:\n    - deep",
        "- Acceptance:\n  - # x",
        "- Acceptance:\n  text",
        "* Type: x",
        "1. a",
    ),
    *("- Acceptance:\n  - 1. x", "- Files: `" + "a" * 300 + "`", "- **Type:** x", "- Type: `x`"),
    *(
        "- Contracts: foo: x",
        "- Proof: none",
        "- Acceptance:\n  - - x",
        "lazy",
        "- Type: data\n\n- Needs: x",
    ),
    *(
        "- Status: PENDING\n  note",
        "- Budget: 3 attempts",
        "- Type: x\x0b",
        "- Keywords: a\xa0b",
        "\t- x",
    ),
)
_BELOW = (
    *("", "", "", "Prose here.", "More of it, with `code`.", "- bullet", "1. first", "2. second"),
    *("```python file=src/a.py\n# no heading\n\n- x\n```", "```\ntext\n```", "````md\n```\n````"),
    *("```python\nx: 1\n```", "Überall", "a *b* c", "Then - this", "Two\nlines  "),
    *("```diff file=a.py\n--- a\n+\x00\n```", "- one\n- two", "1. one\n2. two", "```\n```"),
)
_ODD_BELOW = (
    *(
        "Files: `b.py`",
        "**Status:** DONE",
        "- Status: DONE",
        "Title\n===",
        "Title\n---",
        "a | b\n--|--",
    ),
    *(
        "### Notes",
        "### TASK-007: inner",
        "# TASK-009: top",
        "#### Ärger",
        "## x",
        "#foo",
        "> quote",
    ),
    *(
        "> CHANGE-001 (2026-11-21): x",
        "!change x",
        "<!-- x",
        "-->",
        "<div>",
        "    code",
        "\tcode",
        "  x",
    ),
    *(
        "```",
        "```python file=../x\n```",
        "```sh run\nx\n```",
        "```a file=a.py delete\nx\n```",
        "~~~\nx\n~~~",
    ),
    *(
        "```\n# src/a.py\n```",
        "```\n  ```",
        "```x `y\n```",
        "* star",
        "+ plus",
        "- a\n  - b: c",
        "- a\n  b",
    ),
    *("```delete file=a.py\nx\n```", "```a file=" + "b/" * 600 + "c\nx\n```", "```\nx\n ```"),
    *(
        "[a]: /u",
        "***",
        "\u2028",
        "a\u2028b",
        "`Files`: x",
        "Type : x",
        "1) x",
        "- ",
        "-",
        "a\\",
        "&amp;",
    ),
    *(
        "\u017ftatus: DONE",
        "Größe: x",
        "Depends-on: x",
        "- Needs: x\n- Files: y",
        "text\n- item",
        "text\n1. x",
    ),
)
_TITLES = (
    *(
        "One",
        "The first_step",
        "Über alles",
        "a `code` b",
        "*x* y",
        "[x](y)",
        "A & B &amp; C",
        "x  y",
    ),
    *("x #", "x#", "9 lives", "a: b", "a - b", "~~a~~", "snake_a_b_ c", "A\\*b", "<b>x</b>", "x  "),
)


def section(chance: random.Random, number: int, odd: float) -> str:
    def pick(plain, other):
        return chance.choice(other if chance.random() < odd else plain)

    level = chance.choice(["##", "##", "##", "###", "####", "#" if chance.random() < odd else "##"])
    mark = chance.choice([": ", ": ", " - ", " "]) if chance.random() < odd else ": "
    title = pick(_TITLES[:3], _TITLES)
    lines = [f"{level} TASK-{number:03}{mark}{title}", *[""] * chance.randint(0, 2)]
    if chance.random() < 0.1:
        title = pick(
            ("# Plan", "## Phase one", "### Notes: more"),
            ("# `a` b", "# 1. x", "## T1 x", "### SHA-256: x", "# ", "# x #", "## TASK"),
        )
        return "\n".join(
            [title, "", pick(_BELOW, _ODD_BELOW), pick(("", "a: b", "*a*: b"), _ODD_BELOW), ""]
        )
    if chance.random() > max(odd / 2, 0.2):
        lines.append("- Status: PENDING")
    lines += [pick(_FIELDS[4:], (*_FIELDS, *_ODD_FIELDS)) for _ in range(chance.randint(0, 3))]
    lines += [""] * chance.randint(0, 2)
    for _ in range(chance.randint(0, 5)):
        lines.append(pick(_BELOW, _ODD_BELOW))
        lines += [""] * chance.randint(0, 2)
    return "\n".join(lines) + chance.choice(["\n", "\n\n"])


def assert_same_task(seen, read, text):
    (task,), (span,) = read.tasks, read.spans
    assert (seen.id, seen.title, seen.type) == (task.id, task.title, task.type), text
    assert (seen.status, seen.note) == (task.status, task.note), text
    assert (seen.depends_on, seen.outputs) == (task.depends_on, task.outputs), text
    assert seen.value == span, text
    assert task.line == read.first_line, text


def assert_same_fields(data: bytes, offset: int, read):
    source = Source(data[offset : read.end], offset, read.first_line)
    nodes = parse(source.text)
    lines = task_lines(data, offset)
    assert lines is not None
    first = data.count(b"\n", offset, lines.first)
    written = data[lines.first : lines.below]
    assert plain_fields(written, first) == read_body(nodes[1:], source).fields, source.text


def assert_scanned_as_read(data: bytes) -> int:
    """Every section of a file by both readers; how many the scanner knew."""
    if not may_scan(data):
        return 0
    reader, known = SectionReader("T", (), Cuts(data)), 0
    offset, line = 0, 1
    while offset < len(data):
        read, _ = section_at(data, offset, line, reader)
        seen = scan(data, offset)
        if seen is not None:
            text = data[offset : read.end].decode()
            assert not read.problems, text
            place = (read.end, read.line_count, read.level)
            assert (seen.end, seen.lines, seen.level) == place, text
            assert seen.title == read.title, text
            assert (seen.task is None) == (not read.tasks), text
            if seen.task is not None:
                assert_same_task(seen.task, read, text)
                assert_same_fields(data, offset, read)
            found = find_plain(seen, offset, line, lambda _: Spec("", ""))
            assert read_plain(data, found) == read, text
            known += 1
        offset, line = read.end, line + read.line_count
    return known


@pytest.mark.parametrize("odd", [0.0, 0.2, 0.6])
@pytest.mark.parametrize("seed", range(2))
def test_a_section_is_scanned_as_it_is_read_or_left_to_the_reader(seed, odd):
    chance, known = random.Random(f"{seed} {odd}"), 0
    for _ in range(250):
        text = "".join(section(chance, number, odd) for number in range(1, chance.randint(2, 6)))
        end = chance.choice(["", "", "\n", "x"])
        known += assert_scanned_as_read((text.rstrip("\n") + end if end else text).encode())
    assert known > (200 if not odd else 20), "nearly nothing of it was plain"


_IN_ORDER = (
    ("", "- Status: PENDING\n", "- Status: done ✅\n", "- Status: BLOCKED — no key: why\n"),
    ("", "", "- Type: data\n", "- Type: none\n", "- Type: API\n"),
    ("", "- Depends on: none\n", "- Depends on: TASK-002, TASK-003, TASK-002\n"),
    ("", "- Output files: `a.py`, `Src/b_c.py`, `a.py`\n", "- Output files: `a/*`\n"),
    ("", "", "- Acceptance:\n  - it works: yes\n  - [ ] so `does` this\n"),
    (
        "",
        "- Test contracts:\n  - TC-1 (e2e): `a; b`\n  - `c`\n",
        "- Test contracts:\n  - TC-001: ` a `\n",
    ),
)
_NOT_SO = (
    *("- Status: DONE | x\n", "- Status:  DONE\n", "- Type: \n", "- Depends on: TASK-2;\n"),
    *("- Output files: `any`\n", "- Output files: `a/../b`\n", "- Output files: `a/.git`\n"),
    *("- Acceptance:\n", "- Acceptance:\n  - `\n", "- Test contracts:\n  - `a`\n  - `  `\n"),
    *(
        "- Test contracts:\n  - `a\n  - b`\n",
        "- Status: DONE\n- Status: DONE\n",
        "- Gates: a: `b`\n",
    ),
)
_ENDS = ("\n", "\n\n\n", "", "\nProse.\n\n", "\n- Needs: TASK-009\n", "\n#### Notes\n", "text\n")


def ordered_section(chance, number, odd):
    """A task whose fields stand in the usual order, now and then with one that is none."""
    fields = [chance.choice(some) for some in _IN_ORDER]
    if chance.random() < odd:
        fields[chance.randrange(len(fields))] = chance.choice(_NOT_SO)
    title = chance.choice(
        _TITLES[:3] if chance.random() >= odd else (*_TITLES, "a (done)", "a [x] b")
    )
    head = f"{chance.choice(['##', '###'])} TASK-{number:03}: {title}\n\n"
    return head + "".join(fields) + chance.choice(_ENDS[:2] if chance.random() >= odd else _ENDS)


@pytest.mark.parametrize("odd", [0.0, 0.5])
@pytest.mark.parametrize("seed", range(2))
def test_a_task_in_the_usual_order_is_scanned_at_once_as_it_is_field_by_field(
    seed, odd, monkeypatch
):
    chance, at_once = random.Random(f"{seed} {odd}"), []
    by_hand = scanner._scan_usual
    for _ in range(150):
        text = "".join(ordered_section(chance, number, odd) for number in range(1, 5))
        data = text.encode()
        monkeypatch.setattr(
            scanner, "_scan_usual", lambda *a: at_once.append(by_hand(*a)) or at_once[-1]
        )
        assert_scanned_as_read(data)
        offsets = [0, *(at for at in range(len(data)) if data[at - 1 : at + 2] == b"\n##")]
        quickly = [scan(data, at) for at in offsets]
        monkeypatch.setattr(scanner, "_scan_usual", lambda *_: None)
        assert [scan(data, at) for at in offsets] == quickly, text
    assert sum(one is not None for one in at_once) > 50


def test_every_plan_of_the_repository_is_scanned_as_it_is_read():
    root = HERE.parents[1]
    listed = subprocess.run(
        ["git", "ls-files", "-z", "*.md", "*.plan"], cwd=root, capture_output=True, check=True
    )
    files = [root / name for name in listed.stdout.decode().split("\0") if name]
    plans = [data for file in files if b"TASK-" in (data := file.read_bytes())]
    assert len(plans) > 5
    assert sum(map(assert_scanned_as_read, plans)) > 20


def test_a_plan_that_is_scanned_has_the_problems_and_digests_it_is_read_with():
    chance = random.Random(5)
    data = "".join(section(chance, number, 0.3) for number in range(1, 60)).encode()
    plan = read_plan(data, "T")
    errors = sum(problem.severity is Severity.ERROR for problem in plan.problems)
    outline = load_outline(data, "T", None)
    assert (outline.errors, outline.warnings) == (errors, len(plan.problems) - errors)
    assert [task.spec for task in outline.tasks] == [task.spec for task in plan.tasks]
    assert any(found.known is None for found in outline.sections)


@pytest.mark.parametrize(
    "below",
    [
        *("- a\n", "a\n", "1. a\n", "\n\n\n", "```a\n", "``` \n", "a b", "- Acceptance:\n  - a\n"),
        *("a:", "- Test contracts:\n  - `a`\n", "- Output files: `a`, ", "  - `a`\n"),
    ],
)
def test_the_time_of_scanning_grows_as_the_section_does(below):
    def plan(size):
        data = b"## TASK-001: A\n\n- Status: PENDING\n\n" + below.encode() * size
        return lambda: scan(data, 0)

    assert grows_as_its_input(plan, 3000)


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
