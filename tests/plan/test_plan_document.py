"""TASK-GRAPH.md is read as people write it."""
# ruff: noqa: E501  (a document stands on one line, as its bytes are)

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

from runner.contracts.entries import openapi
from runner.model import (
    BlockKind,
    Budget,
    Contract,
    GateSpec,
    Level,
    Network,
    Requirement,
    Resource,
    ReviewMode,
    Severity,
    Status,
    TestContract,
)
from runner.plan.checks import check_plan
from runner.plan.document import read_plan
from runner.plan.field_names import fold_spelling
from runner.plan.graph import TaskGraph
from runner.plan.spans import Spans
from runner.plan.task_ids import LONGEST_TITLE
from runner.writes.paths import warning

SAMPLES = Path(__file__).parent / "samples"
NAME = "TASK-GRAPH.md"


def read(text: str, *prefixes: str):
    return read_plan(text.encode(), NAME, prefixes=prefixes)


def task(fields: str, heading: str = "## TASK-001: a"):
    plan = read(f"{heading}\n\n{fields}")
    assert plan.problems == ()
    (only,) = plan.tasks
    return only


def test_the_planner_style_sample_reads_as_its_head_says():
    plan = read_plan((SAMPLES / "planner-style.md").read_bytes(), NAME)
    assert plan.problems == ()
    assert plan.title == "🚀 Implementation Plan — Link Shortener"
    assert [(t.id, t.title, t.status) for t in plan.tasks] == [
        ("TASK-001", "Project setup", Status.DONE),
        ("TASK-002", "Slug generation", Status.PENDING),
        ("TASK-003", "Storage", Status.IN_PROGRESS),
        ("TASK-004", "Shorten and expand", Status.PENDING),
    ]
    graph = TaskGraph.of(plan.tasks)
    assert graph.batches() == (("TASK-001",), ("TASK-002", "TASK-003"), ("TASK-004",))
    storage = plan.tasks[2]
    assert [block.path for block in storage.blocks] == ["shortener/store.py", "tests/test_store.py"]
    assert "```text\nnot a fence of the plan\n```\n" in storage.blocks[0].text
    assert plan.tasks[3].test_contracts == (
        TestContract("TC-004", Level.INTEGRATION, "python -m unittest -q tests.test_service", 135),
    )


def test_the_tables_sample_reads_as_its_head_says():
    plan = read_plan((SAMPLES / "tables.md").read_bytes(), NAME)
    assert plan.problems == ()
    assert plan.title == "Data pipeline"
    assert [(t.id, t.title, t.depends_on) for t in plan.tasks] == [
        ("T001", "Reader", ()),
        ("T002", "Writer | CSV", ("T001",)),
        ("T010", "Both import", ("T001", "T002")),
    ]
    reader, writer, both = plan.tasks
    assert reader.command.endswith("text.splitlines()\\n')\"")
    assert writer.keywords == ("csv", "a | b")
    assert (both.outputs, both.implementer, both.blocks) == ((), "", ())


@pytest.mark.parametrize(
    ("heading", "name", "title"),
    [
        ("## TASK-002: Booking model", "TASK-002", "Booking model"),
        ("### Task 2 — Booking", "TASK-002", "Booking"),
        ("###### task-2 - Booking", "TASK-002", "Booking"),
        ("## T7: x", "T007", "x"),
        ("## **TASK-003**: Bold `code` *and* [link](#x)", "TASK-003", "Bold code and link"),
        ("## **TASK-003: Bold**", "TASK-003", "Bold"),
        ("## [TASK-004](#a): Linked", "TASK-004", "Linked"),
        ("## [TASK-004] Bracketed", "TASK-004", "Bracketed"),
        (
            "## TASK-008: Fix list[int] for [WIP], dict[str, *x*]",
            "TASK-008",
            "Fix list[int] for [WIP], dict[str, x]",
        ),
        ("## `TASK-005`: a \\| b &amp; c ##", "TASK-005", "a | b & c"),
        ("## FEAT-12: with a prefix", "FEAT-12", "with a prefix"),
        ("TASK-006: setext\n---", "TASK-006", "setext"),
        ("  ## TASK-1000: many", "TASK-1000", "many"),
    ],
)
def test_headings_that_begin_a_task(heading, name, title):
    plan = read(heading + "\n", "FEAT")
    assert [(t.id, t.title) for t in plan.tasks] == [(name, title)]


def test_brackets_are_a_part_of_a_value_or_frame_a_list():
    text = "- Depends on: [TASK-001, TASK-2]\n- Output files: app/[id].py, [b.py]\n"
    (task,) = read(f"## TASK-003: x\n{text}- Keywords: dict[str, int], [x]\n").tasks
    assert task.depends_on == ("TASK-001", "TASK-002")
    assert task.outputs == ("app/[id].py", "b.py")
    assert task.keywords == ("dict[str, int]", "[x]")


@pytest.mark.parametrize(
    "text",
    [
        "# TASK-001: top", "## SHA-256: why", "- ## TASK-001: in a list", "> ## TASK-001: quoted",
        "```\n## TASK-001: fenced\n```", "<!--\n## TASK-001: hidden\n-->", "## Phase 1 - Foundation",
        "    ## TASK-001: code", "## Use TASK-001: later", "##TASK-001: hash", "## TASK-001a: letters",
        "## SHA-256: why\n\ntext\n\n### Sub\n\n- Status: DONE",
    ],
)  # fmt: skip
def test_headings_that_begin_no_task(text):
    assert read(text + "\n").tasks == ()


def test_letters_and_digits_are_a_task_when_a_status_follows():
    plan = read("## JIRA-12: real\n\nWhy.\n\n- Status: DONE\n\n## SHA-256: why\n")
    assert [t.id for t in plan.tasks] == ["JIRA-12"]


def test_a_task_reaches_to_the_next_task_or_heading_of_its_level():
    plan = read(
        "### TASK-001: a\n\none\n\n#### Notes\n\ntwo\n\n#### TASK-002: b\n\nthree\n\n## Part\n\nfour\n"
    )
    assert [t.prose for t in plan.tasks] == ["one\n\n#### Notes\n\ntwo", "three"]


LIST = """
- Status: blocked ❌ — no key
- **Task type**: API
- needs: Task 2, [TASK-003](#task-003) and `T004`
- output_files: `src/a b.py`, ./tests/*.py
- Context-Files: docs/\\_x.md
- Acceptance criteria:
  - [x] an end before its start is refused
  - it `works, well`
    on two lines
    - deeper
- TC:
  1. TC-002 (unit): `python -m pytest -q "a;b"`
  2. **TC-003** (End-to-End) — `run it`
- Contracts:
  - schema: `c/b.json` = `booking.models:Booking`
  - command: `check | it`
- Gate:
  - lint: `ruff check src`
  - audit (network, 90 s): `pip-audit`
- Coverage: 80 %
- Implementer: Agent
- Command: `make; true`
- Red first: no
- Uses: gpu 1, port 5432, memory 4GB, screen
- Network: loopback
- Timeout: 1 h 30 minutes
- Keywords: validation, `a, b`
- Stack: none
- Patterns: PATTERN-001
- Requires: root, secret STRIPE_KEY, tool docker
- Budget: 5 attempts, 30 minutes, 200k tokens, $5
- Review: auto
"""


def test_every_field_has_its_type():
    read_task = task(LIST)
    assert (read_task.status, read_task.note) == (Status.BLOCKED, "no key")
    assert read_task.type == "api"
    assert read_task.depends_on == ("TASK-002", "TASK-003", "T004")
    assert read_task.outputs == ("src/a b.py", "tests/*.py")
    assert read_task.inputs == ("docs/_x.md",)
    assert read_task.acceptance == (
        "an end before its start is refused",
        "it `works, well` on two lines",
        "deeper",
    )
    assert read_task.test_contracts == (
        TestContract("TC-002", Level.UNIT, 'python -m pytest -q "a;b"', 15),
        TestContract("TC-003", Level.E2E, "run it", 16),
    )
    assert read_task.contracts == (
        Contract("schema", "c/b.json = booking.models:Booking", 18),
        Contract("command", "check | it", 19),
    )
    assert read_task.gates == (
        GateSpec("lint", "ruff check src", line=21),
        GateSpec("audit", "pip-audit", Network.YES, 90.0, 22),
    )
    assert (read_task.coverage, read_task.implementer, read_task.command) == (
        80.0,
        "agent",
        "make; true",
    )
    assert (read_task.red_first, read_task.network, read_task.timeout) == (
        False,
        Network.LOOPBACK,
        5400,
    )
    assert read_task.uses == (
        Resource("gpu", "1"), Resource("port", "5432"), Resource("memory", "4GB"), Resource("screen", "1"),
    )  # fmt: skip
    assert (read_task.keywords, read_task.stack) == (("validation", "a, b"), ())
    assert read_task.patterns == ("PATTERN-001",)
    assert read_task.requires == (
        Requirement("root"), Requirement("secret", "STRIPE_KEY"), Requirement("tool", "docker"),
    )  # fmt: skip
    assert read_task.budget == Budget(5, 30, 200_000, 5)
    assert read_task.review is ReviewMode.AUTO


@pytest.mark.parametrize("text", ["none", "-", "\u2013", "\u2014", "None", ""])
def test_nothing_is_written_in_many_ways(text):
    read_task = task(
        f"- Depends on: {text}\n- Output files: {text}\n- Gates: {text}\n- Acceptance: {text}\n"
    )
    assert (read_task.depends_on, read_task.outputs) == ((), ())
    assert (read_task.gates, read_task.acceptance) == ((), ())


SAME = [
    "- Status: STALE\n- Type: data\n- Output files: `a.py`, `b.py`\n- Acceptance:\n  - one\n  - two\n\nProse.\n",
    "* type: Data\n* STATUS: stale ⚠️\n* files:\n  + a.py\n  + `b.py`\n* acceptance:\n  1. one\n  2. [ ] two\n\n\nProse.\n",
    "**Status:** STALE  \n**Type:** data  \n**Output files:**\n- a.py\n- b.py\n\n**Acceptance:**\n\n- one\n- two\n\nProse.\n\n---\n",
    "Status: stale\nTask type: data\nOutputs: `a.py`,\n`b.py`\nAcceptance:\n- one\n- two\n\nProse.\n",
    "Prose.\n\n__Status__: STALE\\\n__Type__: data\n\n**File:** a.py, b.py\n\n**Acceptance criteria**:\n* one\n* two\n",
    "| Field | Value |\n|:--|--:|\n| **Status** | STALE |\n| Type | data |\n| Files | a.py<br>b.py |\n\n**Acceptance:**\n- one\n- two\n\nProse.\n",
    "Prose.\n\n- Status: STALE\n- Type: data\n- Output files: a.py; b.py\n- Acceptance:\n  - one\n  - two\n",
]


@pytest.mark.parametrize("text", SAME[1:])
def test_all_styles_say_the_same(text):
    one, other = task(SAME[0]), task(text)
    assert (other.status, other.type, other.outputs) == (Status.STALE, "data", ("a.py", "b.py"))
    assert (other.acceptance, other.prose) == (("one", "two"), "Prose.")
    assert other.spec == one.spec


def test_a_list_of_prose_is_prose():
    read_task = task("- build it\n- test it: well\n\n- Later\n")
    assert read_task.prose == "- build it\n- test it: well\n\n- Later"


def test_blocks_are_read_with_lf_whatever_the_line_ends():
    text = (
        '```python file="src/a b.py"\r\nx = 1\r\n\r\n```\r\n'
        "```diff file=src/c.py\r\n-a\r\n+b\r\n```\r\n"
        "~~~sh run\r\nmake\r\n~~~\r\n"
        "``` file=old.py delete\r\n```\r\n"
        "```python\r\nexample\r\n```\r\n"
        "1. In a list:\r\n   ````py file=./d.py\r\n   ```\r\n   ````\r\n"
    )
    read_task = task(text)
    assert [(block.kind, block.path, block.text, block.line) for block in read_task.blocks] == [
        (BlockKind.FILE, "src/a b.py", "x = 1\n\n", 3),
        (BlockKind.PATCH, "src/c.py", "-a\n+b\n", 7),
        (BlockKind.RUN, "", "make\n", 11),
        (BlockKind.DELETE, "old.py", "", 14),
        (BlockKind.FILE, "d.py", "```\n", 20),
    ]
    assert "example" in read_task.prose


def test_quotes_of_changes_and_written_commands_are_taken_out_of_the_prose():
    plan = read(
        "## TASK-001: a\n\ntext\n!change dates are UTC\nmore\n\n> CHANGE-001 (2026-11-21): one\n"
        "> goes on\n> CHANGE-002 (2026-11-22): two\n\n> a plain quote\n\n!replay\n"
    )
    assert plan.tasks[0].changes == (
        "CHANGE-001 (2026-11-21): one goes on",
        "CHANGE-002 (2026-11-22): two",
    )
    assert plan.tasks[0].prose == "text\nmore\n\n> a plain quote"
    assert [(w.task, w.kind, w.text, w.line) for w in plan.written_commands] == [
        ("TASK-001", "change", "dates are UTC", 4),
        ("TASK-001", "replay", "", 13),
    ]


# --- digests --------------------------------------------------------------------------

BASE = "- Status: PENDING\n- Type: data\n- Files: a.py\n- Needs: TASK-002\n- Acceptance:\n  - one\n- Tests:\n  - TC-1 (unit): `t`\n- Gates:\n  - lint: `l`\n\nProse here.\n\n```\ncode  x\n```\n"


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ("PENDING", "DONE — note", ""),
        (
            "- Type: data\n",
            "- Type: data\n- Budget: 2 attempts\n- Review: off\n- Keywords: x\n",
            "",
        ),
        ("Prose here.", "Prose\n  here.", ""),
        ("Prose here.\n", "Prose here.\n\n> CHANGE-001 (2026-11-21): x\n", ""),
        ("code  x", "code x", "what"),
        ("Prose here.", "Prose there.", "what"),
        ("  - one", "  - two", "what"),
        ("a.py", "b.py", "what"),
        ("TASK-002", "TASK-003", "what"),
        ("- Type", "- Command: `x`\n- Type", "what"),
        ("- Type", "- Implementer: x\n- Type", "what"),
        ("- Type", "- Coverage: 50\n- Type", "proof"),
        ("`t`", "`u`", "proof"),
        ("`l`", "`m`", "proof"),
        ("- Type", "- Contracts:\n  - schema: a.json\n- Type", "proof"),
    ],
)
def test_each_change_counts_for_its_own_digest(old, new, changed):
    assert old in BASE
    before, after = task(BASE).spec, task(BASE.replace(old, new, 1)).spec
    assert (before.what != after.what) == (changed == "what")
    assert (before.proof != after.proof) == (changed == "proof")


def test_the_title_counts_for_what_is_built():
    assert task(BASE).spec.what != task(BASE, "## TASK-001: b").spec.what
    assert task(BASE).spec == task(BASE, "### TASK-001 —   *a*").spec


@pytest.mark.parametrize(
    ("word", "reach"),
    [("no", Network.NO), ("loopback", Network.LOOPBACK), ("Registries", Network.REGISTRIES)],
)
def test_the_network_is_asked_for_by_name_by_a_task_and_by_a_gate(word, reach):
    options = f" ({word}, 60 s)" if reach is not Network.NO else ""
    said = task(f"- Network: {word}\n- Gates:\n  - audit{options}: `pip check`\n")
    assert (said.network, said.gates[0].network) == (reach, reach)


@pytest.mark.parametrize(
    ("written", "rank"),
    [("high", 1), ("Critical", 0), ("P3", 3), ("4", 4), ("urgent", 0), ("-", None), ("", None)],
)
def test_priorities_are_words_or_numbers(written, rank):
    (task,) = read(f"## TASK-003: x\n\n- Priority: {written}\n- Source: `a/b.md:3`\n").tasks
    assert (task.priority, task.source) == (rank, "a/b.md:3")


def test_a_priority_that_is_none_is_told():
    (problem,) = read("## TASK-003: x\n\n- Priority: soon\n").problems
    assert problem.message == 'unknown priority "soon"'
    assert "critical, high" in problem.hint


def test_a_long_title_is_cut_and_told_with_its_line():
    long = "word " * 200_000
    plan = read_plan(f"# {long}\n\n## TASK-001: {long}\n\n- Type: api\n".encode(), "TASK-GRAPH.md")
    assert len(plan.title) == LONGEST_TITLE + 1
    assert len(plan.tasks[0].title) == LONGEST_TITLE + 1
    (told,) = plan.problems
    assert (told.line, told.is_error) == (3, False)
    assert "has 999,999 characters" in told.message


def test_titles_that_differ_behind_the_cut_are_other_work():
    one, other = (
        read_plan(f"## TASK-001: {'x' * 600}{end}\n\n- Type: api\n".encode(), "T").tasks[0]
        for end in "ab"
    )
    assert one.title == other.title
    assert one.spec.what != other.spec.what


COMPOSED = "docs/Übersicht.md"
DECOMPOSED = unicodedata.normalize("NFD", COMPOSED)


def told(*outputs):
    sections = [
        f"## TASK-{number:03}: a\n- Output files: `{path}`\n- Test contracts: `true`\n"
        for number, path in enumerate(outputs, start=1)
    ]
    data = "\n".join(sections).encode()
    plan = read_plan(data, "TASK-GRAPH.md")
    found = check_plan(
        plan.tasks,
        places=Spans(data, "TASK-GRAPH.md"),
        found=lambda _: True,
        exists=lambda _: True,
    )
    return [problem for problem in found if "the same file on macOS" in problem.message]


@pytest.mark.parametrize(
    ("first", "second"),
    [("src/App.py", "src/app.py"), ("Src/app.py", "src/app.py"), (COMPOSED, DECOMPOSED)],
)
def test_spellings_of_one_file_are_told_where_the_second_stands(first, second):
    (problem,) = told(first, second)
    assert (problem.line, problem.severity) == (6, Severity.WARNING)
    assert f'"{second}" and "{first}" are the same file' in problem.message


@pytest.mark.parametrize(
    ("first", "second"),
    [("src/app.py", "src/app.py"), ("src/app.py", "lib/app.py"), ("a/Ü.md", "a/U.md")],
)
def test_others_are_not(first, second):
    assert told(first, second) == []


def test_a_name_in_the_form_that_macos_once_wrote_folds_to_the_one_that_git_keeps():
    assert DECOMPOSED != COMPOSED
    assert fold_spelling(DECOMPOSED) == fold_spelling(COMPOSED)
    assert "normal form C" in warning(DECOMPOSED.split("/")[1])
    assert warning(COMPOSED.split("/")[1]) == ""


PLAN = "# P\n\n## TASK-001: a\n\n- Output files: `a`\n- Contracts: {}\n"
SERVED = "openapi: `c/o.yaml` url=http://127.0.0.1:8001 start={}"


def contracts(text):
    plan = read_plan(PLAN.format(text).encode(), "TASK-GRAPH.md")
    return [(one.kind, one.value) for one in plan.tasks[0].contracts]


@pytest.mark.parametrize(
    ("written", "command"),
    [
        ('"a; b"', "a; b"),
        ("'a; b'", "a; b"),
        (r'"echo \"x; y\"; python b.py"', 'echo "x; y"; python b.py'),
        ('"serve *one* _two_ &amp; <br> three"', "serve *one* _two_ &amp; <br> three"),
    ],
)
def test_a_command_in_quotes_may_hold_what_separates_entries(written, command):
    found = contracts(f"{SERVED.format(written)}; command: `true; false`")
    assert [kind for kind, _ in found] == ["openapi", "command"]
    assert openapi(found[0][1]).start == command
    assert found[1][1] == "true; false"


def test_what_comes_behind_the_quotes_is_read_as_before():
    text = "openapi: `c/o.yaml` start='a; b' url=http://127.0.0.1:8001; schema: `s.json` = `m:T`"
    first, second = contracts(text)
    assert openapi(first[1]).url == "http://127.0.0.1:8001"
    assert second == ("schema", "s.json = m:T")


def test_an_open_quote_takes_nothing_with_it():
    found = contracts("schema: `a.json` = `m:T`; command: `x` it's; command: `y`=\"z")
    assert [kind for kind, _ in found] == ["schema", "command", "command"]


def proofs_of(field):
    plan = read_plan(f"## TASK-001: a\n\n- Output files: `a`\n- {field}\n".encode(), "T")
    (task,) = plan.tasks
    found = (*task.test_contracts, *task.contracts, *task.gates)
    return [getattr(one, "value", "") or one.command for one in found], plan.problems


@pytest.mark.parametrize(
    ("field", "commands"),
    [
        ("Tests: `TC-001 (unit): pytest -q`", ["pytest -q"]),
        ("Tests: `TC-1: a`, `TC-2: b`", ["a", "b"]),
        ("Tests: TC-1: `a`, **TC-2**: `b`", ["a", "b"]),
        ("Tests: `TC-1: a; b`; `TC-2: c`", ["a; b", "c"]),
        ("Tests:\n  - ``TC-1 (e2e): echo `date` ``", ["echo `date`"]),
        ("Tests:\n  - `TC-1: echo *a* _b_ <c> &amp;`", ["echo *a* _b_ <c> &amp;"]),
        ("Tests:\n  ```sh\n  TC-1 (unit): pytest -q\n  make\n  ```", ["pytest -q", "make"]),
        ("Tests: `pytest -q a.py::test_b`", ["pytest -q a.py::test_b"]),
        ("Contracts: `openapi: a.yaml app=a.b:c`", ["a.yaml app=a.b:c"]),
        ("Contracts: `command: true`; `command: x: y`", ["true", "x: y"]),
        ("Gates: `lint: ruff check .`", ["ruff check ."]),
        ("Gates: `lint (network): ruff check .`", ["ruff check ."]),
    ],
)
def test_an_entry_that_stands_in_ticks_with_its_name_is_that_entry(field, commands):
    assert proofs_of(field) == (commands, ())


def test_a_gate_without_a_name_is_no_name():
    found, problems = proofs_of("Gates: `pytest -q a`")
    assert (found, [one.message for one in problems]) == ([], ['bad gate "`pytest -q a`"'])
