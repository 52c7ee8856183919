"""Events of a team's builds for whoever tells them on: in order for each journal, piece by piece.

Most builds are over and told. Each look is at those that are not over, at those that were not told
whole the last time, and now and then at all whose own events go on behind the cursor: a build that
is over was perhaps tried again while nobody looked.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from sqlalchemy import func, or_, select

from runner.team.build_state import ENDS
from runner.team.event_rows import find_last_seq
from runner.team.tables import builds, events

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from runner.team.store_engine import Store

_AT_ONCE = 500
_ALL_EVERY = 600.0
"""Seconds from one look at all builds to the next."""


class StoredEvents:
    """The events of an open store; of one build alone where it is named."""

    def __init__(self, store: Store, build: str = "") -> None:
        self._store, self._build = store, build
        self._open: dict[str, str] = {}
        self._newest = ""
        self._looked = 0.0

    def list_unsettled(self, reached: Callable[[str], int]) -> list[tuple[str, str]]:
        """Builds that may have something new, with their repositories, the oldest first.

        `reached` says how far the build's own events were told.
        """
        if not self._looked or time.monotonic() - self._looked > _ALL_EVERY:
            self._looked = time.monotonic()
            self._open |= dict(self._find_behind(reached))
        found = self._find_live()
        chosen = dict(sorted({**self._open, **found}.items()))
        self._open = found  # those that were over get this one look more
        return list(chosen.items())

    def look_again(self) -> None:
        """Something was not told to its end: the next look is at all builds."""
        self._looked = 0.0

    def _find_live(self) -> dict[str, str]:
        said = select(builds.c.id, builds.c.repository)
        if self._build:
            said = said.where(builds.c.id == self._build)
        else:
            is_new = builds.c.id > self._newest
            said = said.where(or_(builds.c.state.not_in(ENDS), is_new)).order_by(builds.c.id)
        with self._store.read() as connection:
            found = {str(id_): str(name) for id_, name in connection.execute(said)}
        self._newest = max([self._newest, *found])
        return found

    def _find_behind(self, reached: Callable[[str], int]) -> Iterator[tuple[str, str]]:
        last = select(func.max(events.c.seq)).where(events.c.journal == builds.c.id)
        said = select(builds.c.id, builds.c.repository, last.scalar_subquery())
        if self._build:
            said = said.where(builds.c.id == self._build)
        with self._store.read() as connection:
            rows = connection.execute(said).all()
        return ((str(id_), str(name)) for id_, name, seq in rows if (seq or 0) > reached(str(id_)))

    def find_last(self, build: str) -> int:
        """The number of the last event of a build's own."""
        with self._store.read() as connection:
            return find_last_seq(connection, build)

    def list_journals(self, build: str) -> tuple[str, ...]:
        """Those of its clones, then the build's own.

        In this order who has told the last of its own has told all: an end is an event of its own.
        """
        said = select(events.c.journal).where(events.c.build == build).distinct()
        with self._store.read() as connection:
            found = sorted(map(str, connection.execute(said).scalars()))
        return (*(one for one in found if one != build), build)

    def read_behind(self, journal: str, after: int) -> Iterator[tuple[int, str, str]]:
        """Number, type and line of each event behind a number; no transaction stays open."""
        while True:
            said = select(events.c.seq, events.c.type, events.c.line)
            said = said.where(events.c.journal == journal, events.c.seq > after)
            with self._store.read() as connection:
                rows = connection.execute(said.order_by(events.c.seq).limit(_AT_ONCE)).all()
            yield from ((int(seq), str(kind), str(line)) for seq, kind, line in rows)
            if len(rows) < _AT_ONCE:
                return
            after = int(rows[-1][0])
