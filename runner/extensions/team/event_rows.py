"""The events of builds in the store, a build's own and its clone's journal lines, and their fold.

A build's own events say who has it and how it ended; while a run goes on in its clone, that run's
journal says how far it is. Events are delivered in order for each journal, piece by piece.

Most builds are over and sent. Each check reads those that are not over and those that were not
sent completely. Now and then it reads all builds whose own events continue behind the cursor: a
finished build may have been retried meanwhile.
"""

from __future__ import annotations

import json
import threading
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from sqlalchemy import Text, bindparam, cast, delete, func, insert, literal, or_, select, text
from sqlalchemy.exc import SQLAlchemyError

from runner import effects
from runner.errors import ExitCode, RunnerError
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
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from sqlalchemy import Connection, Insert

    from runner.extensions.team.store_engine import Store
    from runner.journal.events import Record
    from runner.journal.state import RunState
    from runner.journal.task_state import TaskState

PENDING = "PENDING"
ANALYZING = "ANALYZING"
PLANNING = "PLANNING"
EXECUTING = "EXECUTING"
VERIFYING = "VERIFYING"
ENDS = ("COMPLETED", "FAILED", "CANCELLED")
"""Final states: only a retry follows them."""
_BY_OWN = {
    "build.queued": PENDING,
    "build.retried": PENDING,
    "build.released": PENDING,
    "build.put-off": PENDING,
    "build.waits": PENDING,
    "build.answered": PENDING,
    "build.claimed": ANALYZING,
    "clone.started": ANALYZING,
    "clone.completed": ANALYZING,
    "branch.created": PLANNING,
    "verification.started": VERIFYING,
    "build.completed": "COMPLETED",
    "build.failed": "FAILED",
    "build.cancelled": "CANCELLED",
}
"""New state of a build by its own event; other events don't change it."""
_WORKS = frozenset({"attempt.started", "task.landing", "task.landed", "task.done"})


def fold_own(types: Iterable[str], state: str = PENDING) -> str:
    """Return the state that follows from the build's own events."""
    for one in types:
        state = _BY_OWN.get(one, state)
    return state


def refine(state: str, types: Iterable[str]) -> str:
    """Return the state after the run's events since the build's branch was ready."""
    if state == PLANNING and not _WORKS.isdisjoint(types):
        return EXECUTING
    return state


def was_retried(own: Sequence[str]) -> bool:
    """Return whether a person retried the build since its previous claim."""
    claims = [at for at, kind in enumerate(own) if kind == "build.claimed"]
    return len(claims) > 1 and "build.retried" in own[claims[-2] :]


def count_since_retry(own: Sequence[str], kind: str) -> int:
    """Count the events of a kind since the last retry."""
    last = max((at for at, one in enumerate(own) if one == "build.retried"), default=0)
    return own[last:].count(kind)


READY = "branch.created"
"""After this own event, a build's state follows the journal of its clone."""
_AT_ONCE = 500
_NAMES = ("id", "time", "type", "run", "task", "causation", "correlation", "producer")
_SEQ = '"seq":0'
_TURN = int.from_bytes(b"runner", "big")
"""Key of the advisory lock, unique in the database."""
_ALL_EVERY = 600.0
"""Seconds between two checks of all builds."""


def _insert_next() -> Insert:
    """Return a statement that inserts an event after the last one of its build."""
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
    """Return the IDs of a build's clone journals, the latest claim's last."""
    query = select(events.c.journal).where(events.c.build == build, events.c.journal != build)
    known = sorted(connection.execute(query.distinct()).scalars())
    # Not by time: each host has its own clock, which may be a day ahead.
    own = (json.loads(line) for line in read_lines(connection, build))
    begun = [str(one.get("journal", "")) for one in own if one["type"] == READY]
    place = {journal: at for at, journal in enumerate(begun)}
    return tuple(sorted(known, key=lambda one: place.get(one, -1)))


def list_own_types(store: Store, build: str) -> list[str]:
    """Return the types of a build's own events in order. Raises StoreDownError."""
    query = select(events.c.type).where(events.c.journal == build).order_by(events.c.seq)
    with store.read() as connection:
        return list(connection.execute(query).scalars())


def find_last_seq(connection: Connection, journal: str) -> int:
    """Return the number of a journal's last event in the store; 0 if there is none."""
    query = select(func.max(events.c.seq)).where(events.c.journal == journal)
    return int(connection.execute(query).scalar() or 0)


def is_copied(store: Store, build: str, journal: bytes) -> bool:
    """Return whether the store has a journal's last line, or has pruned the journal."""
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
    """Return the lines of a journal after event number `after`, in order."""
    query = (
        select(events.c.line)
        .where(events.c.journal == journal, events.c.seq > after)
        .order_by(events.c.seq)
    )
    return list(connection.execute(query).scalars())


def read_last(connection: Connection, build: str, most: int) -> list[tuple[str, str]]:
    """Return journal and line of the last events of a build and its clones, newest first."""
    query = select(events.c.journal, events.c.line).where(events.c.build == build)
    query = query.order_by(events.c.time.desc(), events.c.seq.desc()).limit(most)
    return [(str(row.journal), str(row.line)) for row in connection.execute(query)]


def count_events(connection: Connection, known: Sequence[str]) -> list[tuple[str, int]]:
    """Count the events of each of these builds."""
    query = select(events.c.build, func.count()).where(events.c.build.in_(known))
    rows = connection.execute(query.group_by(events.c.build).order_by(events.c.build))
    return [(str(build), int(number)) for build, number in rows]


def draw_state(connection: Connection, build: str) -> str:
    """Compute the state of a build from its events."""
    own = [json.loads(line) for line in read_lines(connection, build)]
    state = fold_own(one["type"] for one in own)
    ready = next((one for one in reversed(own) if one["type"] == READY), None)
    if ready is None:
        return state
    # Journal entries from before the claim belong to an earlier one and don't affect this state.
    query = select(events.c.type).where(
        events.c.journal == ready.get("journal", ""), events.c.seq > ready.get("after", 0)
    )
    return refine(state, connection.execute(query).scalars())


def decode_lines(lines: Iterable[str]) -> Iterable[Record]:
    """Yield the decoded records of lines."""
    return (decode(line.encode()) for line in lines)


def write_tasks(connection: Connection, build: str, state: RunState) -> None:
    """Replace the tasks of a build by those of its journal's state."""
    connection.execute(delete(tasks).where(tasks.c.build == build))
    if rows := [_task_row(build, one) for one in state.tasks.values()]:
        connection.execute(tasks.insert(), rows)


def update_tasks(connection: Connection, build: str, before: RunState, after: RunState) -> None:
    """Update the tasks of a build whose state has changed."""
    # The fold keeps the same object for a task without new events (`journal/state`).
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


class DeliveryTurn:
    """One process at a time, on any machine, tells the events of a store; any thread may ask.

    In PostgreSQL it is a lock of a connection, which goes with it however its process ends. A file
    of SQLite serves one machine, where the lock beside the cursors is enough.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._stack = ExitStack()
        self._held: Connection | None = None

    def require(self) -> None:
        """Acquire the turn. Raises RunnerError (exit 6) if another process has it."""
        if self._store.is_sqlite:
            return
        with self._lock:
            if not self._is_mine():
                raise RunnerError(
                    "another process already delivers the events of this store",
                    where=self._store.shown,
                    hint="one process is enough; to find it, query pg_locks and pg_stat_activity",
                    code=ExitCode.CONFLICT,
                )

    def _is_mine(self) -> bool:
        if self._held is not None:
            try:
                self._held.execute(text("SELECT 1"))
            except SQLAlchemyError:  # the connection is gone, and the lock with it
                self._let_go()
            else:
                return True
        with ExitStack() as stack:
            held = stack.enter_context(self._store.hold())
            # A session lock, not a transaction's: no transaction stays open (PostgreSQL, 13.3.5).
            if not held.execute(text(f"SELECT pg_try_advisory_lock({_TURN})")).scalar():
                return False
            self._held, self._stack = held, stack.pop_all()
        return True

    def _let_go(self) -> None:
        held, self._held = self._held, None
        if held is not None:
            held.invalidate()  # a pool would keep it, and the lock with it
        self._stack.close()

    def close(self) -> None:
        """Release the turn."""
        with self._lock:
            self._let_go()


class StoredEvents:
    """The events of an open store; of one build alone where it is named."""

    def __init__(self, store: Store, build: str = "", turn: DeliveryTurn | None = None) -> None:
        self._store, self._build, self._turn = store, build, turn
        self._open: dict[str, str] = {}
        self._newest = ""
        self._looked = 0.0

    def list_unsettled(self, reached: Callable[[str], int]) -> list[tuple[str, str]]:
        """Return the builds that may have new events, with their repositories, oldest first.

        `reached` returns the last delivered number of the build's own events.
        """
        self.require_turn()
        if not self._looked or time.monotonic() - self._looked > _ALL_EVERY:
            self._looked = time.monotonic()
            self._open |= dict(self._find_behind(reached))
        found = self._find_live()
        chosen = dict(sorted({**self._open, **found}.items()))
        self._open = found  # those that were over get this one look more
        return list(chosen.items())

    def require_turn(self) -> None:
        """Raise RunnerError where another process tells them, on whichever machine."""
        if self._turn is not None:
            self._turn.require()

    def look_again(self) -> None:
        """Examine all builds the next time, since not every event was delivered."""
        self._looked = 0.0

    def _find_live(self) -> dict[str, str]:
        query = select(builds.c.id, builds.c.repository)
        if self._build:
            query = query.where(builds.c.id == self._build)
        else:
            is_new = builds.c.id > self._newest
            query = query.where(or_(builds.c.state.not_in(ENDS), is_new)).order_by(builds.c.id)
        with self._store.read() as connection:
            found = {str(id_): str(name) for id_, name in connection.execute(query)}
        self._newest = max([self._newest, *found])
        return found

    def _find_behind(self, reached: Callable[[str], int]) -> Iterator[tuple[str, str]]:
        last = select(func.max(events.c.seq)).where(events.c.journal == builds.c.id)
        query = select(builds.c.id, builds.c.repository, last.scalar_subquery())
        if self._build:
            query = query.where(builds.c.id == self._build)
        with self._store.read() as connection:
            rows = connection.execute(query).all()
        return ((str(id_), str(name)) for id_, name, seq in rows if (seq or 0) > reached(str(id_)))

    def find_last(self, build: str) -> int:
        """Return the number of the build's last own event."""
        with self._store.read() as connection:
            return find_last_seq(connection, build)

    def list_journals(self, build: str) -> tuple[str, ...]:
        """Return the journals of a build's clones, then the build's own.

        In this order the last of its own events comes after all others: an end is such an event.
        """
        query = select(events.c.journal).where(events.c.build == build).distinct()
        with self._store.read() as connection:
            found = sorted(map(str, connection.execute(query).scalars()))
        return (*(one for one in found if one != build), build)

    def read_behind(self, journal: str, after: int) -> Iterator[tuple[int, str, str]]:
        """Yield number, type and line of each event after a number, without a transaction."""
        while True:
            query = select(events.c.seq, events.c.type, events.c.line)
            query = query.where(events.c.journal == journal, events.c.seq > after)
            with self._store.read() as connection:
                rows = connection.execute(query.order_by(events.c.seq).limit(_AT_ONCE)).all()
            yield from ((int(seq), str(kind), str(line)) for seq, kind, line in rows)
            if len(rows) < _AT_ONCE:
                return
            after = int(rows[-1][0])
