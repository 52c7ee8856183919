"""A field is whole everywhere or nowhere: all nouns, each field off its default, out and back.

Plan cache, journal, snapshot and the cluster's wire are formats of their own. A field that one of
them forgets vanishes on the second read; a field that a digest forgets changes nothing. Whoever
adds one is told here what it has to pass.
"""

import typing
from collections.abc import Mapping, Sequence
from datetime import date
from enum import StrEnum
from types import NoneType, UnionType

import pytest
from msgspec import UNSET, Struct

from runner.config.permissions import Rulebook
from runner.config.setting_values import SecretSource
from runner.extensions.bridge.forge_http import ForgeHttp
from runner.extensions.cluster import message
from runner.extensions.cluster.message import Job, JobAnswer, as_bytes, read_answer, read_job
from runner.journal import events, session_events, state, task_state
from runner.journal.events import TYPES, Record
from runner.journal.records import decode, encode
from runner.journal.snapshot import read_state, write_state
from runner.journal.state import PersistentMap, RunState
from runner.journal.task_state import TaskState
from runner.model import Budget, Task
from runner.model.codec import Codec, usual_values
from runner.plan.cache import load_plan
from runner.plan.cache_file import encode_section, section_from
from runner.plan.document import read_plan
from runner.plan.outline import Found, KnownSection
from runner.plan.sections import PlanCommand, Section
from runner.plan.source import Problem
from runner.run.secret_leases import _Lease

PLAN = """# Shop

## TASK-001: Orders

- Status: BLOCKED — no key
- Type: api
- Depends on: TASK-002
- Output files: `src/orders.py`, `app/[slug]/page.ts`
- Inputs: `docs/orders.md`
- Acceptance:
  - an order has a number
- Changes tests: `tests/test_orders.py`
- Test contracts:
  - TC-001 (e2e, fails): `pytest tests/test_orders.py`
  - TC-002 (unit, held out): `pytest tests/test_numbers.py`
- Held-out files:
  - `tests/test_numbers.py` sha256:DIGEST
- Test author: claude
- Assurance: independent
- Contracts:
  - schema: `contracts/order.json` = `orders:Order`
- Gates:
  - audit (network, 90 s): `pip-audit`
- Coverage: 81 %
- Implementer: agent
- Command: `make orders`
- Red first: yes
- Uses: gpu 1
- Network: loopback
- Timeout: 90 minutes
- Keywords: money
- Stack: flask
- Patterns: PATTERN-001
- Requires: secret STRIPE_KEY
- Budget: 5 attempts, 30 minutes, 200k tokens, $5
- Review: auto
- Priority: high
- Model: strong-2
- Source: specs/tasks.md:12

> CHANGE-001 (2026-11-22): numbers begin at 1000

Orders have lines.

```python file=app/[slug]/page.ts
x = 1
```

## TASK-002: Words

- Output files: `notes.md`
- Proof: none — words alone
- Contracts: none — nothing talks to it
""".replace("DIGEST", "01234567" * 8)
"""Each field of a task off its default at least once."""

NOT_OF_THE_PLAN = {"GateSpec.origin": "only gates that a manifest declares have one"}

EDITS = {
    "title": ("TASK-001: Orders", "TASK-001: Sales"),
    "depends_on": ("Depends on: TASK-002", "Depends on: none"),
    "outputs": ("`src/orders.py`, ", "`src/order.py`, "),
    "acceptance": ("has a number", "has a name"),
    "changes_tests": ("Changes tests: `tests/", "Changes tests: `test/"),
    "test_contracts": ("pytest tests/test_o", "pytest -q tests/test_o"),
    "held_out_files": ("sha256:0123", "sha256:3210"),
    "contracts": ("= `orders:Order`", "= `orders:Sale`"),
    "gates": ("pip-audit", "pip-audit -s"),
    "coverage": ("81 %", "82 %"),
    "implementer": ("Implementer: agent", "Implementer: model"),
    "command": ("make orders", "make sales"),
    "prose": ("have lines", "have rows"),
    "blocks": ("x = 1", "x = 2"),
    "no_proof": ("words alone", "words only"),
    "no_contracts": ("nothing talks", "nobody talks"),
}
"""An edit of each field that says what is built, or how it is proven."""

NEITHER = {
    "id": "its name, by which the digests are found",
    "line": "where it stands",
    "spec": "the digests themselves",
    "status": "what came of it",
    "note": "what came of it",
    "type": "words for the implementer and patterns; what it asks for stands in its contracts",
    "inputs": "what is read to build it; its content is looked at instead",
    "red_first": "how a new proof is tried, not what it asks",
    "uses": "when it may run",
    "network": "what it may reach while it runs",
    "timeout": "how long it may run",
    "keywords": "how patterns are found",
    "stack": "how patterns are found",
    "patterns": "advice",
    "requires": "when it may run",
    "budget": "how long it is tried",
    "review": "who looks",
    "changes": "a change is recorded by the journal as what it is",
    "literal": "how `outputs` and `inputs` are read, and so a part of them",
    "assurance": "what its proof must be worth, not what it asks",
    "test_author": "who writes the tests is not what they ask",
    "priority": "when it starts is not what it builds",
    "model": "who builds it is not what it builds",
    "source": "where it came from is not what it builds",
}
"""Fields of a task that no digest holds, and why."""


# --- a noun with every field off its default --------------------------------------------


def hints_of(kind):
    """The types of a noun's fields, by name."""
    return READER.hints(kind)


def vocabulary():
    """Names of the wire, and the journal's own: those do not travel, and are filled here too."""
    rooms = (events, session_events, state, task_state)
    own = {
        name: noun for room in rooms for name, noun in vars(room).items() if isinstance(noun, type)
    }
    others = {"Record": Record, "Review": events.WriteReviewed}
    return {**message._vocabulary(), **own, **others, "Sequence": Sequence, "Mapping": Mapping}


READER = Codec(vocabulary)


def filled(kind, **given):
    """A noun whose fields all differ from their defaults."""
    defaults = usual_values(kind)
    values = {
        name: given[name] if name in given else value_of(hint, name, defaults.get(name, UNSET))
        for name, hint in hints_of(kind).items()
    }
    same = [name for name, value in values.items() if value == defaults.get(name, UNSET)]
    assert not same, f"{kind.__name__}: {same} have their defaults, so nothing is shown of them"
    return kind(**values)


def value_of(hint, name, default):
    if hint is bool:
        return default is not True
    if hint in PLAIN:
        return f"{name}, {PLAIN[str]}" if hint is str else PLAIN[hint]
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, UnionType):
        (kind,) = (one for one in inner if one is not NoneType)
        return value_of(kind, name, default)
    if origin in (tuple, frozenset, Sequence):
        kinds = inner if inner[-1] is not Ellipsis and origin is tuple else inner[:1]
        return (tuple if origin is Sequence else origin)(
            value_of(kind, f"{name}-{at}", UNSET) for at, kind in enumerate(kinds)
        )
    if origin is dict:
        return {"a key": value_of(inner[1], name, UNSET)}
    if issubclass(hint, StrEnum):
        return next(one for one in reversed(hint) if one is not default)
    return filled(hint)


PLAIN = {
    str: "ünïted",
    int: 7,
    float: 2.5,
    bytes: b"\x00\n",
    date: date(2026, 11, 22),
}


# --- the plan -----------------------------------------------------------------------------


def missing_in(nouns):
    """Fields that have their default in all of these nouns, and in all nouns within them."""
    seen, off = {}, set()
    stack = list(nouns)
    while stack:
        noun = stack.pop()
        if isinstance(noun, tuple) and not hasattr(noun, "_fields"):
            stack += noun
        elif isinstance(noun, Struct):
            kind = type(noun)
            seen[kind], usual = kind.__struct_fields__, usual_values(kind)
            for name in seen[kind]:
                value = getattr(noun, name)
                if name not in usual or value != usual[name]:
                    off.add(f"{kind.__name__}.{name}")
                stack.append(value)
    return {f"{kind.__name__}.{name}" for kind, names in seen.items() for name in names} - off


def test_the_plan_here_writes_every_field_that_a_task_has():
    missing = missing_in(read_plan(PLAN.encode(), "TASK-GRAPH.md").tasks)
    assert missing == set(NOT_OF_THE_PLAN), "write it into PLAN above, or say why no plan has it"


def test_a_plan_is_the_same_on_the_second_read(tmp_path):
    data = PLAN.encode()
    parsed = read_plan(data, "TASK-GRAPH.md").tasks
    first, second = (load_plan(data, "TASK-GRAPH.md", tmp_path).tasks for _ in range(2))
    assert first == parsed
    assert second == parsed


def test_a_plan_is_the_same_below_a_new_beginning(tmp_path):
    load_plan(PLAN.encode(), "TASK-GRAPH.md", tmp_path)
    lower = PLAN.replace("# Shop\n", "# Shop\n\nMore words.\n").encode()
    tasks = load_plan(lower, "TASK-GRAPH.md", tmp_path).tasks
    assert tasks == read_plan(lower, "TASK-GRAPH.md").tasks


def test_every_field_of_a_problem_and_of_a_written_line_is_in_the_plan_s_cache():
    known = KnownSection("", 0, 7, 1, 0, is_last=True, title="", errors=0, warnings=0, tasks=())
    found = Found(known, 0, 7, 1, 1, 0, "", ())
    problem, line = filled(Problem, path="TASK-GRAPH.md"), filled(PlanCommand)
    section = Section(0, 7, 1, 1, 0, "", (), (), (problem,), (line,))
    row = encode_section(section)
    assert section_from(row, found, "TASK-GRAPH.md") == section


def test_every_field_is_of_a_digest_or_it_is_said_why_not():
    assert set(Task.__struct_fields__) == {*EDITS, *NEITHER}
    assert not EDITS.keys() & NEITHER.keys()


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_of_what_is_built_or_proven_changes_a_digest(name):
    old, new = EDITS[name]
    assert PLAN.count(old) == 1
    before = read_plan(PLAN.encode(), "TASK-GRAPH.md").tasks
    after = read_plan(PLAN.replace(old, new).encode(), "TASK-GRAPH.md").tasks
    changed = [(was, now) for was, now in zip(before, after, strict=True) if was.spec != now.spec]
    assert len(changed) == 1
    assert all(getattr(was, name) != getattr(now, name) for was, now in changed)


# --- journal, snapshot, wire --------------------------------------------------------------


def record(event):
    plain = {name: f"{name}-x" for name in ("id", "time", "run", "task", "cause", "origin")}
    name = next(name for name, kind in TYPES.items() if kind is type(event))
    return Record(**plain, v=1, seq=7, type=name, attempt=2, producer="p", event=event, crc="")


@pytest.mark.parametrize("kind", TYPES.values(), ids=list(TYPES))
def test_every_field_of_an_event_is_in_the_journal(kind):
    event = filled(kind)
    assert decode(encode(record(event))).event == event


def test_every_field_of_the_state_is_in_the_snapshot():
    task = filled(TaskState)
    review = filled(events.WriteReviewed)
    key = filled(state.ReviewKey)
    landing = decode(encode(record(filled(events.TaskLanding))))
    whole_state = filled(
        RunState,
        landing=landing,
        tasks=PersistentMap([(task.id, task)]),
        reviews=PersistentMap([(key, review)]),
    )
    assert read_state(write_state(whole_state)) == whole_state


def test_every_field_of_a_job_and_its_answer_is_on_the_wire():
    job, answer = filled(Job), filled(JobAnswer)
    assert read_job(as_bytes(job)) == job
    assert read_answer(as_bytes(answer)) == answer


def test_a_noun_that_stays_on_its_default_is_found():
    with pytest.raises(AssertionError, match="attempts"):
        filled(Budget, attempts=None)


SECRET = "hush-hush"


@pytest.mark.parametrize(
    "noun",
    [
        SecretSource("KEY", f"echo {SECRET}"),
        Rulebook(known_secrets=(SECRET,)),
        ForgeHttp("https://forge.example", SECRET),
        _Lease(1, SECRET, 0.0),
    ],
    ids=lambda noun: type(noun).__name__,
)
def test_no_noun_shows_its_secret(noun):
    assert SECRET not in repr(noun)
