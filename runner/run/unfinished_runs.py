"""What runs that never said they ended had done by then: asked of the journal after a crash."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from runner.journal.events import (
    ChangeRecorded,
    DecisionMade,
    RunFinished,
    RunStarted,
    TaskDone,
    TaskLanded,
)
from runner.journal.tree_events import HistoryMoved, HistoryMoving
from runner.repo.trailers import format_checked

if TYPE_CHECKING:
    from collections.abc import Iterable

    from runner.journal.events import Record
    from runner.model import Decision

WANTED = frozenset(
    (
        *("run.started", "run.finished", "task.landed", "task.done", "decision.made"),
        *("change.recorded", "history.moving", "history.moved"),
    )
)
"""The kinds of records that `UnfinishedRuns.of` looks at; the others need not be decoded."""


@dataclass(slots=True)
class UnfinishedRuns:
    """The story since a run last ended by itself."""

    head: str = ""
    """The commit that the first of these runs began on; empty before the first commit."""
    landed: dict[tuple[str, int], TaskLanded] = field(default_factory=dict)
    """Landings by task and attempt."""
    checked: list[str] = field(default_factory=list)
    """A `Checked:` line for each task that was proven without a commit of its own."""
    decisions: list[Record] = field(default_factory=list)
    changes: list[Record] = field(default_factory=list)
    """Changes of the specification; their documents may not say so yet."""
    moving: Record | None = None
    """An undo or replay that nothing followed: its commit may be on the branch."""
    _begun: bool = False

    @classmethod
    def of(cls, records: Iterable[Record]) -> UnfinishedRuns:
        """The records since the last `run.finished`."""
        story = cls()
        for record in records:
            if isinstance(record.event, RunFinished):
                story = cls()
            else:
                story._take(record)  # its own
        return story

    @property
    def decided(self) -> set[tuple[str, Decision]]:
        """Task and decision of each that is noted."""
        return {
            (record.task, record.event.decision)
            for record in self.decisions
            if isinstance(record.event, DecisionMade)
        }

    def _take(self, record: Record) -> None:
        match record.event:
            case RunStarted(head=head) if not self._begun:
                self.head, self._begun = head, True
            case TaskLanded():
                self.landed[record.task, record.attempt] = record.event
            case TaskDone(commit=""):
                self.checked.append(format_checked_line(record))
            case DecisionMade():
                self.decisions.append(record)
            case ChangeRecorded():
                self.changes.append(record)
            case HistoryMoving():
                self.moving = record
            case HistoryMoved():
                self.moving = None


def format_checked_line(record: Record) -> str:
    """What a record commit says of a task that is DONE without a commit of its own."""
    assert isinstance(record.event, TaskDone)
    event = record.event
    return format_checked(record.task, record.attempt, event.spec, event.tree, event.proofs)
