"""Plans as people write them, in many hands: read as meant, or told exactly; nothing is dropped.

The tables below are the promise: a hand of READ is read as the same two tasks, a line of TOLD is
named by its number, how bad it is and what to write instead.
"""
# ruff: noqa: E501  (a document stands on one line, as its bytes are)

from __future__ import annotations

import itertools

import pytest

from runner.model import Severity, Status
from runner.plan.checks import check_plan
from runner.plan.document import read_plan
from runner.plan.edit import edit_statuses, find_spans
from runner.plan.spans import Spans

HEADINGS = {
    "colon": "## TASK-00{n}: {t}",
    "dash": "### Task {n} - {t}",
    "em dash": "## TASK-{n} — {t}",
    "no separator": "## TASK-{n} {t}",
    "numbered": "### {n}. {t}",
    "numbered with a bracket": "## {n}) {t}",
    "bold": "## **TASK-00{n}**: {t}",
    "code": "#### `TASK-00{n}`: {t}",
    "link": "## [TASK-00{n}](#x) {t}",
    "lower case": "## task {n}: {t}",
    "setext": "TASK-00{n}: {t}\n---",
}
"""How a hand begins a task; {n} is its number, {t} its title."""

FIELDS = {
    "list": "- Status: {s}\n- Depends on: {d}\n- Output files: `{f}`\n- Tests: `pytest tests`\n",
    "everyday words": "- Status: {e}\n- Depends: {n}\n- Writes: {f}\n- Tests: pytest tests\n",
    "numbered": "1. Status: {s}\n2. Needs: {d}\n3. Files: {f}\n4. Tests: `pytest tests`\n",
    "stars": "* status: {e}\n* DEPENDS ON: [{n}]\n* files: `{f}`\n* tests: pytest tests\n",
    "bold items": "- **Status**: {s}\n- **Dependencies:** {d}\n- **Outputs**: {f}\n- **TC**: pytest tests\n",
    "bold lines": "**Status:** {s}  \n**Depends:** {h}  \n**Files:** {f}  \n**Tests:** `pytest tests`\n",
    "plain lines": "Status: {e}\nDepends on: {n}\nFiles: {f}\nTests: pytest tests\n",
    "table": "| Field | Value |\n|---|---|\n| Status | {s} |\n| Depends on | {n} |\n| Files | `{f}` |\n| Tests | `pytest tests` |\n",
    "nested": "- Status: {s}\n- Depends on:\n  - {d}\n- Files:\n  - {f}\n- Tests:\n  - pytest tests\n",
    "nested by tabs": "-\tStatus: {e}\n-\tDepends:\n\t- {n}\n-\tWrites:\n\t- `{f}`\n-\tTests:\n\t- TC-1: pytest tests\n",
    "underscores": "- status: {s}\n- depends_on: {d}\n- output_files: [{f}]\n- test_contracts: pytest tests\n",
}
"""How a hand writes fields: {s} and {e} a status, {d}, {n} and {h} a need, {f} a file."""

GAPS = {"blank": "\n\n", "none": "\n"}


def plan_of(heading: str, fields: str, gap: str) -> bytes:
    def task(number, title, status, everyday, need, file):
        head = heading.replace("{n}", str(number)).replace("{t}", title)
        need_id = f"TASK-00{need}" if need else "none"
        values = {
            "s": status,
            "e": everyday,
            "d": need_id,
            "n": need or "nothing",
            "h": f"#{need}" if need else "-",
            "f": file,
        }
        body = fields
        for key, value in values.items():
            body = body.replace("{" + key + "}", str(value))
        return f"{head}{gap}{body}\nWhat it is for.\n\n"

    first = task(1, "Add words", "DONE", "closed", 0, "words.py")
    return f"# Words\n\n{first}{task(2, 'Count words', 'PENDING', 'todo', 1, 'count.py')}".encode()


HANDS = [
    pytest.param(plan_of(heading, fields, gap), id=f"{one}, {other}, {way}")
    for (one, heading), (other, fields), (way, gap) in itertools.product(
        HEADINGS.items(), FIELDS.items(), GAPS.items()
    )
]


def problems_of(data: bytes):
    plan = read_plan(data, "T")
    places = Spans(data, "T")
    found = check_plan(plan.tasks, places=places, found=lambda _: True, exists=lambda _: True)
    return [*plan.problems, *found]


def assert_an_edit_is_lossless(data: bytes) -> None:
    """Each status is edited alone: all bytes around it stay, and all that the plan says."""
    before = read_plan(data, "T").tasks
    for id_, span in find_spans(data).items():
        edited = edit_statuses(data, {id_: (Status.STALE, "why")}, find_spans(data)).data
        tail = len(data) - span.end
        assert edited[: span.start] == data[: span.start]
        assert edited[len(edited) - tail :] == data[span.end :]
        after = read_plan(edited, "T").tasks
        assert [task.spec for task in after] == [task.spec for task in before], edited.decode()
        for was, now in zip(before, after, strict=True):
            assert now.status is (Status.STALE if now.id == id_ else was.status)


def test_there_are_more_than_a_hundred_hands():
    assert len(HANDS) + len(TOLD) > 100


@pytest.mark.parametrize("data", HANDS)
def test_a_hand_is_read_as_meant(data):
    first, second = read_plan(data, "T").tasks
    assert (first.id, first.title, first.status) == ("TASK-001", "Add words", Status.DONE)
    assert (second.id, second.title, second.status) == ("TASK-002", "Count words", Status.PENDING)
    assert (first.depends_on, second.depends_on) == ((), ("TASK-001",))
    assert (first.outputs, second.outputs) == (("words.py",), ("count.py",))
    assert [test.command for test in (*first.test_contracts, *second.test_contracts)] == [
        "pytest tests"
    ] * 2
    assert problems_of(data) == []
    assert_an_edit_is_lossless(data)


HEAD = "## TASK-001: A\n\n"
LIST = HEAD + "- Status: PENDING\n"
ERROR, WARNING = Severity.ERROR, Severity.WARNING
TOLD = {
    # name: (document, line, severity, what the message has, what the hint has)
    "a status in a list of definitions": (HEAD + "Status\n: DONE\n", 3, WARNING, "Status", "write - Status: DONE"),
    "files in a list of definitions": (HEAD + "What.\n\nOutput files\n:   `a.py`\n", 5, ERROR, "Output files", "write - Output files: `a.py`"),
    "a task of AsciiDoc": ("= Plan\n\n== TASK-001: Words\n\n* Files: a.py\n", 3, ERROR, "TASK-001 is only listed", "write ## TASK-001: Words,"),
    "a task of Textile": ("h1. Plan\n\nh2. TASK-001: Words\n\n* Files: a.py\n", 3, ERROR, "TASK-001 is only listed", "write ## TASK-001: Words,"),
    "a task in a summary": ("# Plan\n\n<details><summary>TASK-001: Words</summary>\n\n</details>\n", 3, ERROR, "TASK-001 is only listed", "write ## TASK-001: Words,"),
    "a listed task that ends in code": ("# Plan\n\n- [ ] T002 [P] Add config in `setup.cfg`\n", 3, ERROR, "T002 is only listed", "write ## T002: [P] Add config in setup.cfg,"),
    "two blocks for a file": (LIST + '- Files: `a.py`\n\n```python file=a.py\nA = 1\n```\n\n```python file="a.py"\nA = 2\n```\n', 10, ERROR, 'writes "a.py" in two blocks (first on line 6', "keep one; to edit a file"),
    "a command beside blocks": (LIST + "- Files: `a.py`\n- Command: `touch b.py`\n\n```python file=a.py\nA = 1\n```\n", 5, ERROR, "its Command would not run", "```sh run block"),
    "a command as a block of YAML": (LIST + "- Command: |\n    touch a\n    touch b\n", 4, ERROR, "a YAML block is not a valid command", "in a fenced block below"),
    "an id in brackets": ("## (TASK-007) Words\n\n- Status: todo\n- Files: a.py\n", 1, ERROR, "task fields without a task ID in the heading", "write ## TASK-007: Words"),
    "an id behind the title": ("## Words (TASK-008)\n\n- Status: todo\n- Files: a.py\n", 1, ERROR, "task fields without a task ID in the heading", "write ## TASK-008: Words"),
    "an id that is more than a number": ("## TASK-001a: Words\n\n- Status: todo\n- Files: a.py\n", 1, ERROR, "task fields without a task ID in the heading", "write ## TASK-001: TASK-001a: Words, with an unused number"),
    "a number with fields behind a tab": ("## 1. A\n\n- Files: a.py\n\n## 2. Words\n\t**Depends on:** 1\n\t**Files:** b.py\n", 5, ERROR, "task fields without a task ID in the heading", "write ## TASK-002: Words"),
    "a number with fields below prose": ("## 1. A\n\n- Files: a.py\n\n## 2. Words\n\nWhat it is.\n\n- Files: b.py\n- Status: todo\n", 5, ERROR, "task fields without a task ID in the heading", "write ## TASK-002: Words"),
    "a number with a block alone": ("## 1. A\n\n- Files: a.py\n\n## 2. Words\n\nWhat it is.\n\n```python file=b.py\nB = 1\n```\n", 5, ERROR, "task blocks without a task ID in the heading", "write ## TASK-002: Words"),
    "letters and a number with a block alone": (LIST + "\n## ABC-12: Words\n\n```sh run\ntrue\n```\n", 5, ERROR, "task blocks without a task ID in the heading", "add - Status: PENDING below it to make ABC-12 a task"),
    "a block in a chapter": (LIST + "\n## Words\n\n```python file=b.py\nB = 1\n```\n", 7, WARNING, "this block is outside any task", "add a task heading above it"),
    "a block before all tasks": ("```python file=b.py\nB = 1\n```\n\n" + LIST, 1, WARNING, "this block is outside any task", "add a task heading above it"),
    "a task without a number": ("# Plan\n\n## Task: Words\n\n- Status: todo\n- Files: a.py\n", 3, ERROR, "task fields without a task ID in the heading", "write ## TASK-001: Words,"),
    "a field behind a tab": (HEAD + "\t- Depends on: 1\n", 3, ERROR, "indented lines are code", "remove the first tab of this line"),
    "a status behind a tab": (HEAD + "\tStatus: DONE\n", 3, WARNING, "indented lines are code", "remove the first tab of this line"),
    "a field below a numbered item": (HEAD + "1. Do it\n   - Depends on: 1\n", 4, ERROR, "Depends on", "right under"),
    "files below a numbered item": (HEAD + "1. Do it\n   - Files: `a.py`\n", 4, ERROR, "Output files", "right under"),
    "tests below an item": (HEAD + "- Do it\n  - Tests: `pytest`\n", 4, ERROR, "Test contracts", "right under"),
    "a field below a field": (LIST + "  - Depends on: 1\n", 4, ERROR, "part of Status", "remove the first 2 spaces of this line"),
    "a field by a tab below a field": (LIST + "\t- Files: a.py\n", 4, ERROR, "part of Status", "remove the first tab of this line"),
    "a type below a field": (LIST + "  - Type: api\n", 4, WARNING, "part of Status", "remove the first 2 spaces of this line"),
    "fields that go on below a field": (HEAD + "- Files: a.py\n  Tests: `true`\n", 4, ERROR, "part of Files", "remove the first 2 spaces of this line"),
    "paths without a comma": (HEAD + "- Files: a.py and b.py\n", 3, ERROR, "read as one path", "write `a.py`, `b.py`; or as one path: `a.py and b.py`"),
    "words without a comma": (HEAD + "- Files: Makefile LICENSE\n", 3, ERROR, "read as one path", "write `Makefile`, `LICENSE`;"),
    "a path behind a code span": (HEAD + "- Files: `a.py` and b.py\n", 3, ERROR, '"b.py" is read as a remark', "write `a.py`, `b.py`"),
    "inputs without a comma": (HEAD + "- Inputs:\n  - a.py b.py\n", 4, WARNING, "read as one path", "write `a.py`, `b.py`;"),
    "a mistyped need": (LIST + "- Dependson: 1\n", 4, ERROR, "unknown field", "Depends on"),
    "a mistyped output": (LIST + "- Ouput files: a.py\n", 4, ERROR, "unknown field", "Output files"),
    "a mistyped test": (LIST + "- Test contarcts: `a`\n", 4, ERROR, "unknown field", "Test contracts"),
    "a mistyped word": (LIST + "- Keywrods: a\n", 4, WARNING, "unknown field", "Keywords"),
    "a neighbour of needs": (LIST + "- Blocked by: TASK-001\n", 4, ERROR, "unknown field", "Depends on"),
    "a neighbour of outputs": (LIST + "- Deliverables: `a.py`\n", 4, ERROR, "unknown field", "Output files"),
    "a neighbour of tests": (LIST + "- Verify: `pytest`\n", 4, ERROR, "unknown field", "Test contracts"),
    "a neighbour in words": (LIST + "- Verification: somebody looks\n", 4, WARNING, "unknown field", "Test contracts"),
    "an unknown field": (LIST + "- Owner: me\n", 4, WARNING, "unknown field", "the runner ignores this"),
    "a need below prose": (LIST + "\nProse.\n\nDepends on: 1\n", 7, ERROR, "Depends on", "right under"),
    "an output below prose": (LIST + "\nProse.\n\n- **Files:** `a.py`, `b`\n- more\n", 7, ERROR, "Output files", "right under"),
    "a type below prose": (LIST + "\nProse.\n\nType: api\n", 7, WARNING, "Type", "right under"),
    "a need in prose that is given": (LIST + "- Needs: none\n\nProse.\n\nDepends on: 1\n", 8, WARNING, "Depends on", "right under"),
    "needs without a colon": (LIST + "- Depends on TASK-002\n", 4, ERROR, "`Depends on` ignored: the colon is missing", "- Depends on: TASK-002"),
    "needs with an equals sign": (LIST + "- Depends on = 1\n", 4, ERROR, "`Depends on` ignored: the colon is missing", "- Depends on: 1"),
    "files with a dash": (LIST + "- Files - `a.py`\n", 4, ERROR, "`Output files` ignored: the colon is missing", "- Output files: `a.py`"),
    "a status with a dash": (LIST.replace("Status:", "Status -") + "- Type: api\n", 3, WARNING, "`Status` ignored: the colon is missing", "- Status: PENDING"),
    "needs as a heading": (LIST + "\n### Dependencies\n\n- TASK-002\n", 5, ERROR, "heading", "- Depends on"),
    "outputs as a heading": (LIST + "\n### Output files\n\n- `a.py`\n", 5, ERROR, "heading", "- Output files"),
    "tests as a heading": (LIST + "\n### Tests\n\n```\npytest -q\n```\n", 5, ERROR, "heading", "- Test contracts"),
    "acceptance as a heading": (LIST + "\n### Acceptance Criteria\n\n- it works\n", 5, WARNING, "heading", "- Acceptance"),
    "a chapter about tests": (LIST + "\n### Tests\n\nThey are many.\n", 5, WARNING, "heading", "- Test contracts"),
    "fields under a chapter": (LIST + "\n### More\n\n- Depends on: 1\n", 7, ERROR, "Depends on", "right under"),
    "no command": (LIST + "- Tests: it all works\n", 4, ERROR, "bad test contract", "TC-001 (unit)"),
    "a sentence with a program": (LIST + "- Tests: pytest passes\n", 4, ERROR, "bad test contract", "TC-001 (unit)"),
    "a need in words": (LIST + "- Depends on: the first task\n", 4, ERROR, "not a valid task id", "TASK-001, or none"),
    "a status of one's own": (LIST.replace("PENDING", "soonish"), 3, ERROR, "unknown status", "PENDING"),
    "a path in the info string": (LIST + "\n```python src/a.py\nx = 1\n```\n", 5, WARNING, "this code block will not be written to a file", "```python file=src/a.py"),
    "a path behind the language": (LIST + "\n```python:src/a.py\nx = 1\n```\n", 5, WARNING, "this code block will not be written to a file", "```python file=src/a.py"),
    "a path as a title": (LIST + '\n```js title="src/a.js"\nx\n```\n', 5, WARNING, "this code block will not be written to a file", "```js file=src/a.js"),
    "a path alone": (LIST + "\n```src/a.py\nx = 1\n```\n", 5, WARNING, "this code block will not be written to a file", "```file=src/a.py"),
    "a path in a comment": (LIST + "\n```python\n# src/a.py\nx = 1\n```\n", 5, WARNING, "this code block will not be written to a file", "```python file=src/a.py"),
    "a path in another comment": (LIST + "\n```ts\n// file: src/a.ts\nx\n```\n", 5, WARNING, "this code block will not be written to a file", "```ts file=src/a.ts"),
    "a path in a comment of a page": (LIST + "\n```html\n<!-- web/a.html -->\n```\n", 5, WARNING, "this code block will not be written to a file", "```html file=web/a.html"),
    "an id without a separator": (LIST + "\n## TASK-002 Do a thing\n\nProse.\n", 5, WARNING, "no separator", "## TASK-002: Do a thing"),
    "the next number with prose alone": (LIST + "\n## 2. Words\n\nWrite them.\n", 5, WARNING, "numbered heading is not a task (no fields)", "write ## TASK-002: Words"),
    "the number after that": (LIST + "\n## 2. Words\n\nWrite them.\n\n## 3) More\n\nToo.\n", 9, WARNING, "numbered heading is not a task (no fields)", "write ## TASK-003: More"),
    "a task's number in words": (LIST + "\n## Task Two: Words\n\nWrite them.\n", 5, WARNING, "looks like a task,", "write ## TASK-002: Words"),
    "a task without any number": (LIST + "\n## Task: Words\n\nWrite them.\n", 5, WARNING, "looks like a task,", "write ## TASK-002: Words"),
    "a step with prose alone": (LIST + "\n## Step 2 - Words\n\nWrite them.\n", 5, WARNING, "looks like a task,", "write ## TASK-002: Words"),
    "a task at the top level": ("# TASK-002: B\n\n- Depends on: 1\n- Files: a\n\n" + LIST, 1, ERROR, "level-1", "##"),
    "a step with fields": (LIST + "\n## Step 2: B\n\n- Status: todo\n- Depends on: 1\n", 5, ERROR, "task fields without a task ID in the heading", "## TASK-002: B"),
    "a feature with fields": (LIST + "\n## B\n\n| Status | todo |\n|---|---|\n| Files | `a` |\n", 5, ERROR, "task fields without a task ID in the heading", "## TASK-001: B"),
    "a ticket without a status": (LIST + "\n## JIRA-7: B\n\n- Needs: 1\n- Files: `a`\n", 5, ERROR, "task fields without a task ID in the heading", "- Status: PENDING"),
    "an item of a check list": ("- [ ] TASK-002 B\n\n" + LIST, 1, ERROR, "only listed", "## TASK-002: B"),
    "a ticked item": ("- [x] **TASK-2**: B\n\n" + LIST, 1, ERROR, "only listed", "## TASK-002: B"),
    "an item with a colon": ("- Task 2: B\n\n" + LIST, 1, ERROR, "only listed", "## TASK-002: B"),
    "a row of a table": ("| ID | Title |\n|---|---|\n| TASK-002 | B |\n\n" + LIST, 3, ERROR, "only listed", "## TASK-002: B"),
    "a mark that differs": ("- [x] TASK-001 A\n\n" + LIST, 1, WARNING, "ticked here but PENDING", "line 3"),
    "a bold item with its fields": ("- **TASK-002**: B\n  - Files: `b.py`\n\n" + LIST, 1, ERROR, "only listed", "## TASK-002: B"),
    "a box before the id": (LIST + "\n## [ ] TASK-002: B\n\n- Files: `b.py`\n", 5, ERROR, "looks like a task,", "## TASK-002: B"),
    "a symbol before the id": (LIST + "\n## ✅ TASK-002: B\n\nProse.\n", 5, WARNING, "looks like a task,", "## TASK-002: B"),
    "a task that was struck": (LIST + "\n## ~~TASK-002: B~~\n\n- Files: `b.py`\n", 5, WARNING, "looks like a task,", "## TASK-002: B"),
    "a number in parts": (LIST + "\n## Task 1.2: B\n\nProse.\n", 5, WARNING, "looks like a task,", "## TASK-001: B, with an unused number"),
    "a number in parts with a field": (LIST + "\n### Task 1.2 - B\n- Files: `b.py`\n", 5, ERROR, "looks like a task,", "### TASK-001: B, with an unused number"),
    "a status in the title": (LIST.replace("A\n", "A [done]\n"), 1, WARNING, "a status in a title", "- Status: DONE"),
    "a mark in the title": ("## TASK-001: A ✅\n\n- Type: api\n", 1, WARNING, "a status in a title", "- Status: DONE"),
    "needs in the title": ("## TASK-001: A (depends on TASK-002 and T3)\n\n- Type: api\n", 1, ERROR, "dependencies in titles", "- Depends on: TASK-002, T003"),
    "needs in the title that are given": (LIST.replace("A\n", "A (after TASK-002)\n") + "- Needs: none\n", 1, WARNING, "dependencies in titles", "- Depends on: TASK-002"),
    "needs as a sentence": (LIST + "\nProse of it.\nDepends on TASK-002.\n", 6, ERROR, "a sentence is not a field", "- Depends on: TASK-002"),
    "needs as a sentence alone": (HEAD + "Requires TASK-002 and TASK-003.\n", 3, ERROR, "a sentence is not a field", "- Depends on: TASK-002, TASK-003"),
    "fields in a quote": (HEAD + "> Depends on: 1\n> Type: api\n", 3, ERROR, "Depends on", "right under"),
    "fields in a block of YAML": (HEAD + "```yaml\nstatus: todo\nfiles:\n  - a.py\n```\n", 5, ERROR, "`Output files` ignored: a code block is only an example", "- Output files"),
    "a path above a block": (LIST + "\n**`a.py`**\n\n```python\nx = 1\n```\n", 7, WARNING, "this code block will not be written to a file", "```python file=a.py"),
    "a path in the line above a block": (LIST + "\nProse.\nFile: src/a.py (new):\n```python\nx = 1\n```\n", 7, WARNING, "this code block will not be written to a file", "```python file=src/a.py"),
    "a path in a heading above a block": (LIST + "\n### `src/a.py`\n\n```python\nx = 1\n```\n", 7, WARNING, "this code block will not be written to a file", "```python file=src/a.py"),
    "a name of an output in a comment": (LIST + "- Files: `a.py`\n\n```python\n# a.py\nx = 1\n```\n", 6, WARNING, "this code block will not be written to a file", "```python file=a.py"),
    "a line in bold": ("**TASK-002: B**\n\n" + LIST, 1, ERROR, "only listed", "## TASK-002: B"),
    "a line in a file without tasks": ("# Plan\n\nTask 2: B\nFiles: `b.py`\n", 3, ERROR, "only listed", "## TASK-002: B"),
    "two fields on a line": (HEAD + "- Files: `a.py` | Tests: `pytest`\n", 3, ERROR, "`Test contracts` ignored: it is on the line of `Files`", "- Test contracts: …"),
    "two bold fields on a line": (HEAD + "**Type:** api, **Depends on:** TASK-002\n", 3, ERROR, "`Depends on` ignored: it is on the line of `Type`", "- Depends on: …"),
    "a need behind a status": (HEAD + "Status: todo | Needs: 1\n", 3, ERROR, "`Depends on` ignored: it is on the line of `Status`", "- Depends on: …"),
    "lines of a file": (HEAD + "- Files:\n  - Modify: `src/a.py:10-20`\n", 4, ERROR, "it has line numbers", "write src/a.py"),
    "files likely touched": (LIST + "\nProse.\n\n**Files likely touched:**\n- `a.py`\n", 7, ERROR, "Output files", "right under"),
    "numbered items below the title": (f"# Plan\n\nProse.\n\n1. Do this\n2. Do that\n\n{LIST}", 5, WARNING, "these 2 items look like tasks", "## TASK-002: Do this, ## TASK-003: Do that"),
    "boxes and numbers below one heading": (f"{LIST}\n## Later\n\n1. Do this\n   - in two steps\n\n- [ ] Do that\n- [x] Done it before\n", 7, WARNING, "these 2 items look like tasks", "## TASK-002: Do this, ## TASK-003: Do that"),
    "a box below a label": (f"# Plan\n\nTo do:\n\n- [ ] Do that\n\n{LIST}", 5, WARNING, "this item looks like a task", "## TASK-002: Do that"),
    "a box below any heading": (f"{LIST}\n## Ideas\n\n* [ ] Do that\n", 7, WARNING, "this item looks like a task", "## TASK-002: Do that"),
    "a mark that is missing": ("- [ ] TASK-001 A\n\n" + LIST.replace("PENDING", "DONE"), 1, WARNING, "not ticked here but DONE", "line 3"),
}  # fmt: skip


@pytest.mark.parametrize(
    "below",
    itertools.permutations(
        ["Files: `a.py`", "| Tests | `pytest tests` |", "**Depends on:** TASK-002"]
    ),
)
def test_an_item_takes_no_field_in_that_follows_at_the_margin(below):
    """Also where a person pastes an item between lines or rows that are written in another way."""
    rest = "\n\nProse.\n\n## TASK-002: B\n\n- Status: PENDING\n"
    text = HEAD + "\n".join(("- Status: PENDING", *below)) + rest
    task = read_plan(text.encode(), "T").tasks[0]
    assert (task.outputs, task.depends_on) == (("a.py",), ("TASK-002",))
    assert [one.command for one in task.test_contracts] == ["pytest tests"]
    assert_an_edit_is_lossless(text.encode())


@pytest.mark.parametrize("name", TOLD)
def test_what_is_nearly_something_is_told_with_its_line_and_how_to_write_it(name):
    text, line, severity, message, hint = TOLD[name]
    told = problems_of(text.encode())
    there = [one for one in told if one.line == line and message in one.message]
    assert len(there) == 1, told
    assert there[0].severity is severity
    assert hint in there[0].hint
    assert_an_edit_is_lossless(text.encode())


@pytest.mark.parametrize(
    "text",
    [
        "# Plan\n\n- [x] TASK-001 A\n- [ ] TASK-002\n\n" + LIST.replace("PENDING", "DONE") + "\n## TASK-002: B\n",
        "# Plan\n\n| ID | Title |\n|---|---|\n| TASK-001 | A |\n\n" + LIST,
        "# Plan\n\n```\n- [ ] TASK-009 B\n```\n\n" + LIST,
        "# Plan\n\n## 1. Why\n\nNumbered chapters are prose.\n\n## 2. How\n\n- one\n- two: three\n\n" + LIST,
        LIST + "\nNote: this is prose. We use it: often.\n\n- one: two\n- a path such as src/a.py\n",
        LIST + "\n```python\nx = 1\n```\n\n```sh\n# a comment\nls\n```\n",
        LIST + "\n## 4. Appendix\n\nNumbers of another order.\n\n### 2. More\n\nDeeper.\n",
        LIST + "\n## 2. Words\n\nWhy.\n\n## TASK-002: B\n\n- Keywords: b\n",
        LIST + "\n## Tasks: how they are meant\n\nProse.\n\n## Task lists\n\nProse.\n",
        LIST + "\n### Notes\n\nSHA-256: why.\n\n### UTF-8: notes\n\nProse.\n",
        LIST + "\nAfter that, look again. It needs TASK-002 to be there.\n\n> Note: as CHANGE-001 said\n\n> CHANGE-001 (2026-11-21): more\n> Tests: `x`\n",
        LIST + "\n```yaml\non: push\nneeds: build\nfiles: ^src\n```\n\nSee the file.\n\n```\nx\n```\n",
        HEAD + "- Status: BLOCKED — TC-001 failed; Tests: none, Files: gone\n- Files: `a, Tests: b.py`\n- Tests: `pytest`\n",
        "## TASK-001: A (as in v1.2)\n\n- Keywords: a\n\n## TASK-002: B [draft]\n\n- Keywords: b\n\n## Task lists in 1.2\n",
        "# Plan\n\n1. Prices are in cents.\n2. Do that\n\n" + LIST,
        "# Plan\n\n1. [The words](#words)\n2. [The list](#list)\n\n" + LIST,
        "# Plan\n\n## Goals\n\n1. Fast search\n2. Small index\n\n" + LIST,
        "# Plan\n\nThese are the rules of it:\n\n1. Fast search\n2. Small index\n\n" + LIST,
        "# Plan\n\n1. Parser\n2. Writer\n\n- Do this\n- Do that\n\n" + LIST,
        LIST + "\n## Done when\n\n- [ ] The tests pass\n\n## Later\n\n- [x] Did that\n",
        LIST + "- Acceptance:\n  - [ ] it works well\n\n1. Do this\n2. Do that\n\n- [ ] Do more\n\n### Steps\n\n1. Do it\n",
        LIST + "- Gates:\n  - tests: `pytest`\n- Contracts:\n  - command: `true`\n- Acceptance:\n  - it works\n",
    ],
    ids=["a list of tasks", "a table", "an example", "chapters", "prose", "fences", "numbers of another order", "a number that is a task's", "words about tasks", "notes", "sentences", "data", "notes of a status", "titles", "sentences of an introduction", "a table of contents", "goals", "rules", "single words and bullets", "conditions", "lists of a task", "names"],
)  # fmt: skip
def test_what_is_nothing_but_prose_is_not_told(text):
    assert problems_of(text.encode()) == []


@pytest.mark.parametrize(
    ("said", "status"),
    [
        ("Not started", Status.PENDING),
        ("ready", Status.PENDING),
        ("Completed ✅", Status.DONE),
        ("✅ DONE", Status.DONE),
        ("⏸️ blocked — no key", Status.BLOCKED),
        ("complete — by hand", Status.DONE),
    ],
)
def test_everyday_words_are_statuses(said, status):
    plan = read_plan(f"{HEAD}- Status: {said}\n- Files: a.py\n".encode(), "T")
    assert (plan.tasks[0].status, plan.problems) == (status, ())


@pytest.mark.parametrize("remark", ["", " (new)", " — the words", " - the words", ": the words"])
@pytest.mark.parametrize("path", ["src/a.py", "./src/a.py", "`src/a.py`"])
def test_a_remark_behind_a_path_is_no_part_of_it(path, remark):
    plan = read_plan(f"{HEAD}- Files:\n  - {path}{remark}\n".encode(), "T")
    assert (plan.tasks[0].outputs, plan.problems) == (("src/a.py",), ())


@pytest.mark.parametrize("field", ["- Command:\n\n", "- Command:\n", "Command:\n\n", "- Run:\n  "])
@pytest.mark.parametrize("behind", ["\n- Tests: `test -f a`\n", "\n* Tests: `test -f a`\n"])
def test_the_fence_below_an_empty_command_is_the_command(field, behind):
    fence = "```sh\ntouch a\ntouch b\n```\n"
    if field.endswith("  "):
        fence = fence.replace("\n", "\n  ").rstrip(" ")
    text = f"{HEAD}- Files: a\n{field}{fence}{behind}"
    if field.startswith("C"):
        text = text.replace("- Files: a\n", "Files: a\n")
    plan = read_plan(text.encode(), "T")
    assert plan.tasks[0].command == "touch a\ntouch b"
    assert [test.command for test in plan.tasks[0].test_contracts] == ["test -f a"]
    assert plan.problems == ()
    assert_an_edit_is_lossless(text.encode())


@pytest.mark.parametrize("said", ["[]", "`[]`", "[ ]", "none", "-", "n/a", "N/A"])
def test_a_list_of_needs_may_say_that_it_is_empty(said):
    plan = read_plan(f"{HEAD}- Files: a.py\n- Depends on: {said}\n".encode(), "T")
    assert (plan.tasks[0].depends_on, plan.problems) == ((), ())


def test_a_number_before_an_id_names_that_task():
    data = b"## 3. TASK-001: Add words\n\n- Status: todo\n- Files: `a.py`\n- Tests: pytest tests\n"
    (task,) = read_plan(data, "T").tasks
    assert (task.id, task.title) == ("TASK-001", "Add words")


@pytest.mark.parametrize(
    "field",
    [
        "- Tests:\n  ```sh\n  # both of them\n  pytest tests/a\n  ./check && all is it\n  ```\n",
        "Tests:\n```sh\n# both of them\npytest tests/a\n\n./check && all is it\n```\n",
        "**Tests:**\n\n```\npytest tests/a\n./check && all is it\n```\n",
    ],
)
def test_the_lines_of_a_fence_below_tests_are_its_test_contracts(field):
    data = f"## TASK-001: A\n\n{field}".encode()
    plan = read_plan(data, "T")
    found = [(one.id, one.command) for one in plan.tasks[0].test_contracts]
    assert found == [("TC-001", "pytest tests/a"), ("TC-002", "./check && all is it")]
    assert plan.problems == ()


@pytest.mark.parametrize(
    ("said", "taken"),
    [
        ("cd packages/api && npm test", True),
        ("cd packages/api && pytest -q tests/test_a.py", True),
        ("cd packages/api && everything is fine.", False),
        ("cd there and look", False),
        ('grep -q "## Names" README.md', True),
        ("test -f a.txt", True),
        ("jq --exit-status .a a.json", True),
        ("test a few names", False),
        ("grep finds -q", False),
        ("diff - look at it", False),
        ("test -f, then look", False),
    ],
)
def test_a_test_may_begin_in_a_folder_or_with_a_tools_option_without_backticks(said, taken):
    text = f"# P\n\n## TASK-001: A\n\n- Output files: `a.py`\n- Tests: {said}\n"
    plan = read_plan(text.encode(), "TASK-GRAPH.md")
    assert [one.command for one in plan.tasks[0].test_contracts] == ([said] if taken else [])
    assert bool(plan.problems) is not taken
