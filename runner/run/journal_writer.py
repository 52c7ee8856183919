"""Write events to the journal and fold them into the state: the only writer of a run.

While the coordinator works it gathers: what tells how a task stands is made durable together, with
one fsync, before the coordinator acts on it. It acts when it hands a task to a worker (whose
commands may reach outside the slot), writes what a person reads (plan, checkpoint), or waits.
What lands is no part of this: its record is durable before the branch moves, and all before it.
So after a crash the journal is a prefix of what happened, and what is lost was seen by nobody: a
task whose end is not in it is proven again, and one that has landed is found by its trailers.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from runner import effects
from runner.errors import RunnerError
from runner.journal.events import (
    NAMES,
    AttemptFinished,
    AttemptStarted,
    Record,
    RunFinished,
    RunStarted,
    TaskBlocked,
    TaskDone,
    TaskLanded,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import TypeAlias

    from runner.journal.events import Event
    from runner.journal.state import RunState

    Listener: TypeAlias = Callable[[Record, RunState], None]


_GATHERED = frozenset({AttemptStarted, AttemptFinished, TaskLanded, TaskDone, TaskBlocked})
"""Events that may wait for the next `sync`; a person's answer never does."""


class Appender(Protocol):
    """The target of events: the journal of the repository, or a dry run's memory."""

    @property
    def run(self) -> str:
        """Id of the run that writes."""

    def append(
        self,
        event: Event,
        *,
        task: str = "",
        attempt: int = 0,
        cause: str = "",
        durable: bool = False,
        via: str = "",
    ) -> Record:
        """Write one event."""

    def sync(self) -> None:
        """Sync all appended events to disk."""


class JournalWriter:
    """Appends what happened and folds it at once; used by the coordinator alone."""

    def __init__(self, journal: Appender, state: RunState) -> None:
        self._journal = journal
        self.state = state
        self._listeners: list[tuple[str, Listener]] = []
        self._has_failed = False
        self._warned: dict[str, None] = {}
        self._warn: Callable[[str], None] | None = None
        self._gathers = False
        self._owed = False  # whether something durable was noted and is not yet
        self.others = state.seq
        """Number of events from other writers: if it grows, this one was not alone."""
        self._before = state.seq

    @property
    def run(self) -> str:
        """Id of the run that writes."""
        return self._journal.run

    @property
    def was_sole_writer(self) -> bool:
        """Whether nobody else wrote beside it, as far as its own records tell."""
        return self.others == self._before

    def take_in(self, state: RunState) -> None:
        """Continue from the state of the whole journal, including events that others wrote."""
        self.others += state.seq - self.state.seq
        self.state, self._before = state, self.others

    def listen(self, listener: Listener, document: str = "") -> None:
        """Call `listener` with every event after it was folded: console, checkpoint, reports.

        Where it writes a `document`, a failure of that is a warning.
        """
        self._listeners.append((document, listener))

    def warn_by(self, say: Callable[[str], None]) -> None:
        """Set the function that shows warnings, and show the earlier ones."""
        self._warn = say
        for text in self._warned:
            say(text)

    @contextmanager
    def tolerate(self, about: str) -> Iterator[None]:
        """Warn, once, where something that a run can do without cannot be kept, and go on.

        A failure of the journal itself is raised: without it nobody knows what landed.
        """
        try:
            yield
        except (RunnerError, OSError) as error:
            if self._has_failed:
                raise
            text = f"warning: {about}: {_describe(error)}"
            if text not in self._warned:
                self._warned[text] = None
                if self._warn:
                    self._warn(text)

    def note(
        self,
        event: Event,
        *,
        task: str = "",
        attempt: int = 0,
        cause: str = "",
        durable: bool = False,
        via: str = "",
    ) -> Record:
        """Write one event down; `durable` ones are on disk before this returns.

        `via` says from where a person's word comes.

        While it gathers, those that tell how a task stands are so after the next `sync`.
        """
        later = durable and self._gathers and type(event) in _GATHERED
        self._has_failed = True  # until it is written
        record = self._journal.append(
            event,
            task=task,
            attempt=attempt,
            cause=cause,
            durable=durable and not later,
            via=via,
        )
        self._has_failed = False
        # One fsync covers everything before it in the file: a durable record also syncs earlier
        # ones.
        self._owed = later or (self._owed and not durable)
        # Numbers grow by one in the file, whoever writes: a gap means that another process wrote.
        self.others += record.seq - self.state.seq - 1
        self.state = self.state.after(record)
        for document, listener in self._listeners:
            if not document:
                listener(record, self.state)
                continue
            with self.tolerate(document):
                listener(record, self.state)
        return record

    @contextmanager
    def gather(self) -> Iterator[None]:
        """Delay the sync of status events until the end of the block."""
        self._gathers = True
        try:
            yield
        finally:
            self._gathers = False
            self.sync()

    def sync(self, *, everything: bool = False) -> None:
        """Sync pending events with one fsync, if there are any.

        `everything` takes along what nobody asked to be durable when it was noted.
        """
        if self._owed or everything:
            self._has_failed = True
            self._journal.sync()
            self._has_failed = self._owed = False


def _describe(error: RunnerError | OSError) -> str:
    if isinstance(error, OSError):
        return f"{error.strerror or error} ({error.filename})" if error.filename else str(error)
    place = f" ({error.where})" if error.where else ""
    detail = f": {error.detail.splitlines()[0]}" if error.detail else ""
    return f"{error.message}{place}{detail}"


def begin(
    journal: JournalWriter,
    *,
    head: str,
    branch: str,
    plan: str,
    settings: Mapping[str, str],
    included: tuple[str, ...] = (),
) -> None:
    """Record the start of a run; `included` as `RunStarted` has it."""
    journal.note(
        RunStarted(head, branch, plan, os.getpid(), dict(settings), included),
        durable=True,
    )


def finish(
    journal: JournalWriter,
    *,
    exit_code: int,
    head: str,
    began: float,
    ids: Sequence[str],
    unrecorded: bool = False,
    record: str = "",
) -> None:
    """Record the end of the run, with the number of tasks by status."""
    counts: dict[str, int] = {}
    for id_ in ids:
        status = str(journal.state.task(id_).status)
        counts[status] = counts.get(status, 0) + 1
    journal.note(
        RunFinished(
            exit=exit_code,
            head=head,
            seconds=round(effects.monotonic() - began, 3),
            counts=counts,
            unrecorded=unrecorded,
            record=record,
        ),
        durable=True,
    )


class MemoryJournal(Struct):
    """Makes records of events and keeps none."""

    seq: int
    run: str = "rehearsal"

    def append(
        self,
        event: Event,
        *,
        task: str = "",
        attempt: int = 0,
        cause: str = "",
        durable: bool = False,
        via: str = "",
    ) -> Record:
        """Return the record that the journal would contain."""
        del durable, via
        self.seq += 1
        id_ = f"rehearsal-{self.seq}"
        return Record(
            id=id_,
            seq=self.seq,
            time="",
            run=self.run,
            type=NAMES[type(event)],
            task=task,
            attempt=attempt,
            cause=cause,
            origin=cause or id_,
            producer="rehearsal",
            event=event,
        )

    def sync(self) -> None:
        """Do nothing, since no event is stored."""


def rehearse(state: RunState) -> JournalWriter:
    """Return a journal over `state` that writes nowhere."""
    return JournalWriter(MemoryJournal(state.seq), state)
