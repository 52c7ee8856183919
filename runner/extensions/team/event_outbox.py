"""Events of a team's builds for whoever tells them on: in order for each journal, piece by piece.

Most builds are over and sent. Each look is at those that are not over, at those that were not sent
whole the last time, and now and then at all whose own events go on behind the cursor: a build that
is over was perhaps tried again while nobody looked.
"""

from __future__ import annotations

import threading
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

from sqlalchemy import func, or_, select, text
from sqlalchemy.exc import SQLAlchemyError

from runner.errors import ExitCode, RunnerError
from runner.extensions.team.build_state import ENDS
from runner.extensions.team.event_rows import find_last_seq
from runner.extensions.team.tables import builds, events

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sqlalchemy import Connection

    from runner.extensions.team.store_engine import Store

_TURN = int.from_bytes(b"runner", "big")
"""The key of the lock, which is the database's."""
_AT_ONCE = 500
_ALL_EVERY = 600.0
"""Seconds from one look at all builds to the next."""


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
        """Have it, or raise RunnerError, exit 6, while somebody else has; StoreAwayError."""
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
            # Of the session, not of a transaction: none stays open (PostgreSQL, 13.3.5).
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
        """Let others have it."""
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
        """Builds that may have something new, with their repositories, the oldest first.

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
        """Look at all builds the next time: not everything was delivered."""
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
        """The number of the last event of a build's own."""
        with self._store.read() as connection:
            return find_last_seq(connection, build)

    def list_journals(self, build: str) -> tuple[str, ...]:
        """Those of its clones, then the build's own.

        In this order the last of its own events comes after all others: an end is such an event.
        """
        query = select(events.c.journal).where(events.c.build == build).distinct()
        with self._store.read() as connection:
            found = sorted(map(str, connection.execute(query).scalars()))
        return (*(one for one in found if one != build), build)

    def read_behind(self, journal: str, after: int) -> Iterator[tuple[int, str, str]]:
        """Number, type and line of each event behind a number; no transaction stays open."""
        while True:
            query = select(events.c.seq, events.c.type, events.c.line)
            query = query.where(events.c.journal == journal, events.c.seq > after)
            with self._store.read() as connection:
                rows = connection.execute(query.order_by(events.c.seq).limit(_AT_ONCE)).all()
            yield from ((int(seq), str(kind), str(line)) for seq, kind, line in rows)
            if len(rows) < _AT_ONCE:
                return
            after = int(rows[-1][0])
