"""Rebuild the store's tables of builds from their journals, and compare them."""

from __future__ import annotations

import socket
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Self

from msgspec import Struct, field
from sqlalchemy import delete, func, select

from runner.extensions.team.build_claim import write_mine
from runner.extensions.team.event_rows import (
    ENDS,
    EXECUTING,
    READY,
    VERIFYING,
    add_lines,
    decode_lines,
    draw_state,
    find_last_seq,
    fold_own,
    list_journals,
    note_event,
    read_lines,
    refine,
    update_tasks,
    write_tasks,
)
from runner.extensions.team.store_engine import NEWS, UnfitValueError, ring
from runner.extensions.team.store_upkeep import is_pruned
from runner.extensions.team.tables import RUNNING, answers, builds, events, tasks
from runner.extensions.team.team_budget import find_wrong_sums
from runner.journal.events import AttemptFinished, AttemptStarted
from runner.journal.records import BadRecordError, NewerRecordError, UnfitRecordError, decode
from runner.journal.session_events import DraftProposed, PlanProposed, find_usage
from runner.journal.state import RunState, fold
from runner.model import Status
from runner.project import find_journal

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from sqlalchemy import Connection

    from runner.extensions.team.build_queue import QueuedBuild
    from runner.extensions.team.store_engine import Store
    from runner.journal.events import Record

_AT_ONCE = 1 << 20
"""Bytes of one transaction, or one line."""
_VERIFIES = "verification.started"


class Rebuilt(Struct, frozen=True):
    """The result of rebuilding projections."""

    builds: int
    events: int
    unreached: tuple[tuple[str, str], ...]
    """Builds with an unreadable journal, and its location; their copies were kept."""
    pruned: int
    """Builds whose copies were pruned (`store_upkeep`): they stay so."""


def rebuild(store: Store) -> Rebuilt:
    """Rebuild events and tasks from the journals that this machine can read.

    A journal that is elsewhere, or gone, leaves what the store has of it as it is.
    """
    done, copied, pruned, unreached = 0, 0, 0, []
    with store.read() as connection:
        known = connection.execute(builds.select().order_by(builds.c.id)).all()
    for row in known:
        is_here = row.host in ("", socket.gethostname())
        lines = _read_whole_lines(row.place, row.plan) if is_here else None
        with store.write() as connection:
            # A worker writes these rows with this row locked (`write_mine`).
            query = select(builds.c.id).where(builds.c.id == row.id)
            connection.execute(query.with_for_update())
            is_left_so = is_pruned(connection, row.id)
            pruned += is_left_so
            if row.place and lines is None and not is_left_so:
                unreached.append((row.id, f"{row.host}:{row.place}"))
            if lines and not is_left_so:
                copied += _copy_again(connection, row.id, lines)
            project_tasks(connection, row.id)
            done += 1
            state = draw_state(connection, row.id)
            if row.state not in RUNNING:  # whoever works on it says so itself
                connection.execute(
                    builds.update()
                    .where(builds.c.id == row.id, builds.c.token == row.token)
                    .values(state=state)
                )
    return Rebuilt(done, copied, tuple(unreached), pruned)


def _copy_again(connection: Connection, build: str, lines: list[bytes]) -> int:
    journal, last = (decode(line, wanted=()) for line in (lines[0], lines[-1]))
    # Only the store has later events: the file is damaged there, or was truncated.
    known = (events.c.journal == journal.id) & (events.c.seq <= last.seq)
    connection.execute(delete(events).where(known))
    add_lines(connection, build, journal.id, lines)
    return len(lines)


def project_tasks(connection: Connection, build: str) -> None:
    """Write the tasks of a build from the newest journal of its clones."""
    if journals := list_journals(connection, build):
        lines = read_lines(connection, journals[-1])
        write_tasks(connection, build, fold(decode_lines(lines)))


def _read_whole_lines(place: str, plan: str) -> list[bytes] | None:
    if not place:
        return None
    try:
        data = find_journal(Path(place), plan).read_bytes()
    except OSError:
        return None
    lines = data.splitlines(keepends=True)
    whole = []
    for line in lines:
        try:
            decode(line, wanted=())
        except (BadRecordError, UnfitRecordError, NewerRecordError):
            break
        whole.append(line)
    return whole


# --- whether it is so -----------------------------------------------------------------


def find_faults(store: Store) -> Iterator[str]:
    """Yield the faults of the store, a line each; delays are not reported."""
    if store.is_sqlite:
        yield from _check_file(store)
    with store.read() as connection:
        yield from _check_numbers(connection)
        for row in connection.execute(builds.select().order_by(builds.c.id)).all():
            drawn = draw_state(connection, row.id)
            if drawn != row.state:
                yield f"build {row.id} is {row.state}, but its events say {drawn}"
            yield from _check_tasks(connection, row.id)
        yield from _check_answers(connection)
        yield from find_wrong_sums(connection)


def _check_answers(connection: Connection) -> Iterator[str]:
    lost = (
        select(answers.c.id, answers.c.build)
        .join(builds, builds.c.id == answers.c.build)
        .where(answers.c.taken == "", builds.c.state.in_(ENDS))
    )
    for one in connection.execute(lost):
        yield f"answer {one.id} was never applied: build {one.build} has ended"


def _check_file(store: Store) -> Iterator[str]:
    with store.read() as connection:
        results = connection.exec_driver_sql("PRAGMA integrity_check").scalars().all()
        yield from (f"the file is damaged: {one}" for one in results if one != "ok")
        broken = connection.exec_driver_sql("PRAGMA foreign_key_check").all()
        yield from (f"a row of {one[0]} refers to a missing row" for one in broken)


def _check_numbers(connection: Connection) -> Iterator[str]:
    counted = select(events.c.journal, func.count(), func.min(events.c.seq), func.max(events.c.seq))
    for journal, number, first, last in connection.execute(counted.group_by(events.c.journal)):
        if first != 1 or number != last:
            yield f"the events of journal {journal} have gaps: {number} of {first} to {last}"


def _check_tasks(connection: Connection, build: str) -> Iterator[str]:
    journals = list_journals(connection, build)
    if not journals:
        return
    try:
        state = fold(decode_lines(read_lines(connection, journals[-1])))
    except (BadRecordError, UnfitRecordError, NewerRecordError) as error:
        yield f"an event of build {build} is damaged: {error}"
        return
    stored = tasks.select().where(tasks.c.build == build)
    known = {one.task: one.status for one in connection.execute(stored)}
    drawn = {one.id: str(one.status) for one in state.tasks.values()}
    if known != drawn:
        yield f"the tasks of build {build} differ from its journal: runner team store rebuild"


class JournalCopy(Struct):
    """One claim's view of the journal: what is in the store of it, and what it comes to."""

    path: Path
    branch: str
    state: RunState = field(default_factory=RunState.empty)
    _offset: int = 0
    _journal: str = ""
    _begun: bool = False
    _old: int = 0
    """Number of the last event before this claim."""
    dollars: float = 0.0
    """Reported cost of implementers in this claim."""
    is_reported: bool = True
    """Whether every implementer could report its cost."""
    _open: set[str] = field(default_factory=set)

    @classmethod
    def begin(cls, path: Path, branch: str) -> Self:
        """Create a copy that ignores all lines already in the journal."""
        made = cls(path, branch)
        made.read_old()
        return made

    def read_old(self) -> None:
        """Read the journal of earlier runs, which does not count for this claim's state."""
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

        Raises LostClaimError, StoreDownError: then nothing was copied, and it is tried again.
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
        # Only after the commit: if it fails, the same lines are read again.
        self._journal, self._begun, self.state = journal, True, state
        self._offset += sum(map(len, lines))
        self._count(records)
        return True

    def save(self, store: Store, mine: QueuedBuild) -> None:
        """Copy what the store lacks of a journal whose clone is to go, as far as it can be read.

        It is another claim's: nothing of it tells of this one. Raises LostClaimError,
        StoreDownError: then the clone has to stay.
        """
        # Values that a store cannot hold would not be copied from a surviving clone either.
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
        """Record once which journal belongs to this claim and from where, and return the state."""
        if self._begun:
            return state
        fields = {"branch": self.branch, "journal": journal, "after": self._old}
        note_event(connection, mine.id, READY, fields)
        return fold_own([READY], state)

    def _read(self) -> list[bytes]:
        """Return the next complete lines, as many as fit into one transaction."""
        try:
            with self.path.open("rb") as file:
                file.seek(self._offset)
                data = file.read(_AT_ONCE)
                # Read a line longer than one piece completely: otherwise the copy would never pass
                # it.
                if data and b"\n" not in data:
                    data += file.readline()
        except FileNotFoundError:
            return []
        lines = data.splitlines(keepends=True)
        # A last line without its end is still being written: the next read finds it complete.
        return lines if not lines or lines[-1].endswith(b"\n") else lines[:-1]

    def _take(self, state: RunState, lines: list[bytes]) -> tuple[RunState, Sequence[Record]]:
        """Return the state after these lines, and the records before the first damaged one."""
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
