"""The journal and the state it folds to, kept in step: the one writer of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from runner.journal.events import Event, Record
    from runner.journal.state import RunState

    Listener: TypeAlias = Callable[[Record, RunState], None]


class Appender(Protocol):
    """Where events go: the journal of the repository, or a rehearsal's memory."""

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
    ) -> Record:
        """Write one event."""

    def sync(self) -> None:
        """Make everything appended so far durable."""


class Ledger:
    """Appends what happened and folds it at once; used by the coordinator alone."""

    def __init__(self, journal: Appender, state: RunState) -> None:
        self._journal = journal
        self.state = state
        self._listeners: list[Listener] = []

    @property
    def run(self) -> str:
        """Id of the run that writes."""
        return self._journal.run

    def listen(self, listener: Listener) -> None:
        """Have `listener` told of every event after it was folded: console, checkpoint, reports."""
        self._listeners.append(listener)

    def note(
        self,
        event: Event,
        *,
        task: str = "",
        attempt: int = 0,
        cause: str = "",
        durable: bool = False,
    ) -> Record:
        """Write one event down; `durable` ones are on disk before this returns."""
        record = self._journal.append(
            event, task=task, attempt=attempt, cause=cause, durable=durable
        )
        self.state = self.state.after(record)
        for listener in self._listeners:
            listener(record, self.state)
        return record

    def sync(self) -> None:
        """Make everything noted so far durable."""
        self._journal.sync()
