"""Events of a build in the store: its own, written here, and the lines of its clone's journal."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sqlalchemy import Text, bindparam, cast, delete, func, insert, literal, select

from runner import effects
from runner.extensions.team.build_state import fold_own, refine
from runner.extensions.team.tables import builds, events, tasks
from runner.journal.log import PRODUCER
from runner.journal.records import (
    BadRecordError,
    NewerRecordError,
    UnfitRecordError,
    decode,
    to_text,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sqlalchemy import Connection, Insert

    from runner.extensions.team.store_engine import Store
    from runner.journal.events import Record
    from runner.journal.state import RunState
    from runner.journal.task_state import TaskState

READY = "branch.created"
"""Since this event of its own, a build is as far as the journal of its clone says."""
_AT_ONCE = 500
_NAMES = ("id", "time", "type", "run", "task", "causation", "correlation", "producer")
_SEQ = '"seq":0'


def _insert_next() -> Insert:
    """An event behind the last one of its build, by one way to the server instead of three."""
    own: dict[str, Any] = {name: bindparam(name, type_=Text) for name in _NAMES}
    last = select(func.max(events.c.seq)).where(events.c.journal == bindparam("of"))
    seq = func.coalesce(last.scalar_subquery(), 0) + 1
    line = bindparam("head", type_=Text) + cast(seq, Text) + bindparam("tail", type_=Text)
    own |= {"journal": builds.c.id, "build": builds.c.id, "seq": seq, "version": literal(1)}
    own |= {"line": line, "tags": builds.c.tags}
    row = select(*own.values()).where(builds.c.id == bindparam("of"))
    return insert(events).from_select(list(own), row)


_NOTE = _insert_next()


def note_event(
    connection: Connection, build: str, kind: str, fields: Mapping[str, object] | None = None
) -> None:
    """Write down an event of the build itself, as the last one.

    Whoever calls this has the row of the build locked, or just made it: numbers have no gaps.
    """
    now, new = effects.timestamp(), effects.new_id()
    line = to_text({"v": 1, "id": new, "seq": 0, "time": now, "type": kind, **(fields or {})})
    head, _, tail = line.partition(_SEQ)  # an id has no such words, and only it stands before
    row = dict(zip(_NAMES, (new, now, kind, "", "", "", new, PRODUCER), strict=True))
    connection.execute(_NOTE, {**row, "of": build, "head": head + _SEQ[:-1], "tail": tail})


def add_lines(connection: Connection, build: str, journal: str, lines: Sequence[bytes]) -> None:
    """Copy whole lines of a clone's journal, which follow the last one that was copied.

    A line that is there already is left as it is. Raises what `codec.decode` does.
    """
    tags = _tags_of(connection, build)
    rows = [{**_row_of(build, journal, line), "tags": tags} for line in lines]
    for first in range(0, len(rows), _AT_ONCE):
        some = rows[first : first + _AT_ONCE]
        known = select(events.c.seq).where(
            events.c.journal == journal, events.c.seq.in_([row["seq"] for row in some])
        )
        there = set(connection.execute(known).scalars())
        if new := [row for row in some if row["seq"] not in there]:
            connection.execute(events.insert(), new)


def _row_of(build: str, journal: str, line: bytes) -> dict[str, object]:
    one = decode(line, wanted=())
    head = (one.id, one.time, one.type, one.run, one.task, one.cause, one.origin, one.producer)
    return _row(build, journal, one.seq, head, line.decode("utf-8", "replace").rstrip("\n"))


def _row(build: str, journal: str, seq: int, head: tuple[str, ...], line: str) -> dict[str, object]:
    return {
        **dict(zip(_NAMES, head, strict=True)),
        "build": build,
        "journal": journal,
        "seq": seq,
        "version": 1,
        "line": line,
    }


def _tags_of(connection: Connection, build: str) -> str:
    return str(connection.execute(select(builds.c.tags).where(builds.c.id == build)).scalar())


# --- what they say --------------------------------------------------------------------


def list_journals(connection: Connection, build: str) -> tuple[str, ...]:
    """Ids of the journals of clones that a build has events of, the last claim's at the end."""
    query = select(events.c.journal).where(events.c.build == build, events.c.journal != build)
    known = sorted(connection.execute(query.distinct()).scalars())
    # Not by their times: each host has a clock of its own, and one of them may be a day ahead.
    own = (json.loads(line) for line in read_lines(connection, build))
    begun = [str(one.get("journal", "")) for one in own if one["type"] == READY]
    place = {journal: at for at, journal in enumerate(begun)}
    return tuple(sorted(known, key=lambda one: place.get(one, -1)))


def list_own_types(store: Store, build: str) -> list[str]:
    """The kinds of a build's own events, in their order. Raises StoreAwayError."""
    query = select(events.c.type).where(events.c.journal == build).order_by(events.c.seq)
    with store.read() as connection:
        return list(connection.execute(query).scalars())


def find_last_seq(connection: Connection, journal: str) -> int:
    """Number of the last event of a journal that is in the store; 0 for none."""
    query = select(func.max(events.c.seq)).where(events.c.journal == journal)
    return int(connection.execute(query).scalar() or 0)


def is_copied(store: Store, build: str, journal: bytes) -> bool:
    """Whether the store has a journal to its last line, or let it go (`store_upkeep`)."""
    lines = journal.splitlines(keepends=True)
    if not lines:
        return True
    try:
        first, last = decode(lines[0], wanted=()), decode(lines[-1], wanted=())
    except (BadRecordError, UnfitRecordError, NewerRecordError):
        return False
    if list_own_types(store, build)[-1:] == ["build.pruned"]:
        return True
    with store.read() as connection:
        return find_last_seq(connection, first.id) >= last.seq


def read_lines(connection: Connection, journal: str, after: int = 0) -> list[str]:
    """The lines of one journal behind a number, in their order."""
    query = (
        select(events.c.line)
        .where(events.c.journal == journal, events.c.seq > after)
        .order_by(events.c.seq)
    )
    return list(connection.execute(query).scalars())


def read_last(connection: Connection, build: str, most: int) -> list[tuple[str, str]]:
    """Journal and line of the last events of a build, its own and its clones', the newest first."""
    query = select(events.c.journal, events.c.line).where(events.c.build == build)
    query = query.order_by(events.c.time.desc(), events.c.seq.desc()).limit(most)
    return [(str(row.journal), str(row.line)) for row in connection.execute(query)]


def count_events(connection: Connection, known: Sequence[str]) -> list[tuple[str, int]]:
    """How many events there are of each of these builds."""
    query = select(events.c.build, func.count()).where(events.c.build.in_(known))
    rows = connection.execute(query.group_by(events.c.build).order_by(events.c.build))
    return [(str(build), int(number)) for build, number in rows]


def draw_state(connection: Connection, build: str) -> str:
    """The state of a build as its events have it."""
    own = [json.loads(line) for line in read_lines(connection, build)]
    state = fold_own(one["type"] for one in own)
    ready = next((one for one in reversed(own) if one["type"] == READY), None)
    if ready is None:
        return state
    # What its journal held before the claim belongs to an earlier one, and says nothing of this
    # state.
    query = select(events.c.type).where(
        events.c.journal == ready.get("journal", ""), events.c.seq > ready.get("after", 0)
    )
    return refine(state, connection.execute(query).scalars())


def decode_lines(lines: Iterable[str]) -> Iterable[Record]:
    """The records of lines, to be folded."""
    return (decode(line.encode()) for line in lines)


def write_tasks(connection: Connection, build: str, state: RunState) -> None:
    """Have the tasks of a build as a fold of its journal says them."""
    connection.execute(delete(tasks).where(tasks.c.build == build))
    if rows := [_task_row(build, one) for one in state.tasks.values()]:
        connection.execute(tasks.insert(), rows)


def update_tasks(connection: Connection, build: str, before: RunState, after: RunState) -> None:
    """Have those tasks of a build anew that a fold says otherwise than it did."""
    # The fold keeps the very object of a task without a new event (`journal/persistent`).
    rows = [
        _task_row(build, one) for one in after.tasks.values() if one is not before.tasks.get(one.id)
    ]
    if rows:
        named = tasks.c.task.in_([row["task"] for row in rows])
        connection.execute(delete(tasks).where(tasks.c.build == build, named))
        connection.execute(tasks.insert(), rows)


def _task_row(build: str, one: TaskState) -> dict[str, object]:
    return {
        "build": build,
        "task": one.id,
        "status": str(one.status),
        "reason": str(one.reason or ""),
        "attempts": one.last_attempt,
        "commit": one.commit,
    }
