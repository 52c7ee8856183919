"""The journal of a build's clone, copied into the store as it grows."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from runner.extensions.team.build_claim import write_mine
from runner.extensions.team.build_state import EXECUTING, VERIFYING, fold_own, refine
from runner.extensions.team.doorbell import NEWS, ring
from runner.extensions.team.event_rows import (
    READY,
    add_lines,
    find_last_seq,
    note_event,
    update_tasks,
    write_tasks,
)
from runner.extensions.team.projections import project_tasks
from runner.extensions.team.store_engine import UnfitValueError
from runner.extensions.team.tables import builds
from runner.journal.events import AttemptFinished, AttemptStarted
from runner.journal.records import BadRecordError, NewerRecordError, UnfitRecordError, decode
from runner.journal.session_events import DraftProposed, PlanProposed, find_usage
from runner.journal.state import RunState, fold
from runner.model import Status

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from sqlalchemy import Connection

    from runner.extensions.team.build_queue import QueuedBuild
    from runner.extensions.team.store_engine import Store
    from runner.journal.events import Record

_AT_ONCE = 1 << 20
"""Bytes that one transaction takes, or one line."""
_VERIFIES = "verification.started"


@dataclass
class JournalCopy:
    """One claim's view of the journal: what is in the store of it, and what it comes to."""

    path: Path
    branch: str
    state: RunState = field(default_factory=RunState.empty)
    _offset: int = 0
    _journal: str = ""
    _begun: bool = False
    _old: int = 0
    """The number of the last event from before this claim."""
    dollars: float = 0.0
    """The reported cost of implementers in this claim."""
    is_reported: bool = True
    """Whether nothing kept an implementer from reporting its cost."""
    _open: set[str] = field(default_factory=set)

    @classmethod
    def begin(cls, path: Path, branch: str) -> Self:
        """One by which nothing counts for this claim that is there already."""
        made = cls(path, branch)
        made.read_old()
        return made

    def read_old(self) -> None:
        """Take in what is there before a run begins: it tells nothing of this claim's state."""
        while lines := self._read():
            self.state, _ = self._take(self.state, lines)
            if not lines:
                break  # a damaged one, or one of a newer runner: behind it nothing is read
            self._offset += sum(map(len, lines))
        self._old = self.state.seq
        self._offset = 0
        self.state = RunState.empty()

    def step(self, store: Store, mine: QueuedBuild, tasks: Collection[str]) -> bool:
        """Copy what is new; whether there was something. `tasks` are those that are to be DONE.

        Raises LostClaimError, StoreAwayError: then nothing was copied, and it is tried again.
        """
        lines = self._read()
        state, records = self._take(self.state, lines)
        if not records:
            return False
        journal = self._journal or records[0].id
        with write_mine(store, mine) as (connection, now):
            became = self._begin(connection, mine, journal, now.state)
            last = find_last_seq(connection, journal)
            new = [line for line, one in zip(lines, records, strict=True) if one.seq > last]
            if new:
                add_lines(connection, mine.id, journal, new)
            if self._begun:
                update_tasks(connection, mine.id, self.state, state)
            else:
                write_tasks(connection, mine.id, state)
            became = refine(became, [one.type for one in records if one.seq > self._old])
            if became == EXECUTING and _are_done(state, tasks):
                note_event(connection, mine.id, _VERIFIES)
                became = VERIFYING
            if new:
                ring(connection, NEWS)
            if became != now.state:
                update = builds.update().where(builds.c.id == mine.id)
                connection.execute(update.values(state=became))
        # Only behind the commit: where it fails, the same lines are read again.
        self._journal, self._begun, self.state = journal, True, state
        self._offset += sum(map(len, lines))
        self._count(records)
        return True

    def save(self, store: Store, mine: QueuedBuild) -> None:
        """Copy what the store lacks of a journal whose clone is to go, as far as it can be read.

        It is another claim's: nothing of it tells of this one. Raises LostClaimError,
        StoreAwayError: then the clone has to stay.
        """
        # What a store cannot hold at all it would not get from a clone that stays, either.
        with suppress(UnfitValueError):
            while lines := self._read():
                self.state, records = self._take(self.state, lines)
                if not records or not self._journal:
                    break
                with write_mine(store, mine) as (connection, _):
                    add_lines(connection, mine.id, self._journal, lines)
                    project_tasks(connection, mine.id)
                self._offset += sum(map(len, lines))

    @property
    def is_cost_known(self) -> bool:
        """Whether every implementer that began here reported its cost."""
        return self.is_reported and not self._open

    def _count(self, records: Sequence[Record]) -> None:
        for one in records:
            if one.seq <= self._old:
                continue
            match one.event:
                case AttemptStarted():
                    self._open.add(one.task)
                case AttemptFinished(usage=usage):
                    self._open.discard(one.task)
                    self.dollars += usage.dollars if usage else 0.0
                case PlanProposed(usage=usage) if usage:
                    self.dollars += usage.dollars
                case DraftProposed() as drafted:
                    self.dollars += find_usage(drafted).dollars

    def _begin(self, connection: Connection, mine: QueuedBuild, journal: str, state: str) -> str:
        """Say once which journal tells of this claim, and since when; gives the state."""
        if self._begun:
            return state
        fields = {"branch": self.branch, "journal": journal, "after": self._old}
        note_event(connection, mine.id, READY, fields)
        return fold_own([READY], state)

    def _read(self) -> list[bytes]:
        """Whole lines behind those that were taken, as many as go into one transaction."""
        try:
            with self.path.open("rb") as file:
                file.seek(self._offset)
                data = file.read(_AT_ONCE)
                # A line that is longer than one piece is read whole: the copy would never come past
                # it.
                if data and b"\n" not in data:
                    data += file.readline()
        except FileNotFoundError:
            return []
        lines = data.splitlines(keepends=True)
        # Without its end the last one is being written at this moment: the next look finds it
        # whole.
        return lines if not lines or lines[-1].endswith(b"\n") else lines[:-1]

    def _take(self, state: RunState, lines: list[bytes]) -> tuple[RunState, Sequence[Record]]:
        """The state with these lines; those behind a damaged one are left out of the list."""
        records = []
        for at, line in enumerate(lines):
            try:
                records.append(decode(line))
            except (BadRecordError, UnfitRecordError, NewerRecordError):
                del lines[at:]
                break
        if not self._journal and records and records[0].seq == 1:
            self._journal = records[0].id
        return fold(records, state), records


def _are_done(state: RunState, tasks: Collection[str]) -> bool:
    return bool(tasks) and all(state.task(one).status is Status.DONE for one in tasks)
