"""A specification that changes: what it makes STALE, and how it is written down."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.journal.events import ChangeRecorded, TaskStaled
from runner.lazy_dataclass import dataclass
from runner.model import Status
from runner.repo.trailers import shorten
from runner.run.dependents import find_reached

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from runner.history.changes_file import ChangesDocument, Quotes
    from runner.journal.events import Record
    from runner.journal.task_state import TaskState
    from runner.model import Task
    from runner.run.journal_writer import JournalWriter

_NOTE = 100
"""Characters of a change that stand behind a status."""


@dataclass(frozen=True, slots=True)
class Reach:
    """One task that a change would make STALE."""

    id: str
    title: str
    reason: str
    tests: tuple[str, ...]
    """Ids of the test contracts that would run again."""
    seconds: float
    """What its attempts took in the past, the median; 0 where none is known."""
    via: str = ""
    """The task next to it on the way from what changes; empty for one that is named."""


@dataclass(frozen=True, slots=True)
class Noted:
    """A named task that just gets the note."""

    id: str
    title: str
    status: Status
    note: str


@dataclass(frozen=True, slots=True)
class Change:
    """What a `!change` would do, looked at and not done."""

    text: str
    tasks: tuple[str, ...]
    stale: tuple[Reach, ...]
    noted: tuple[Noted, ...]

    @property
    def seconds(self) -> float:
        """What building the STALE tasks again would cost, by past attempts."""
        return sum(one.seconds for one in self.stale)


def plan_change(
    tasks: Sequence[Task], state: Callable[[str], TaskState], ids: Sequence[str], text: str
) -> Change:
    """Who becomes STALE: the named tasks that are DONE, and DONE tasks behind any named one.

    Only what is DONE rests on the old words; a task that is PENDING, BLOCKED or STALE has the note
    in its next brief.
    """
    by_id = {task.id: task for task in reversed(tasks)}
    stale, noted = [], []
    for id_ in dict.fromkeys(ids):
        known = state(id_)
        if known.status is Status.DONE:
            stale.append(_reach(by_id[id_], known, "it is what changes"))
        else:
            noted.append(Noted(id_, by_id[id_].title, known.status, known.note))
    rests_on_old = [one.id for one in stale] + [
        one.id for one in noted if one.status is Status.STALE
    ]
    for id_, why in find_reached(tasks, rests_on_old).items():
        known = state(id_)
        if known.status is Status.DONE:
            stale.append(_reach(by_id[id_], known, why.reason, why.via))
    return Change(text, tuple(dict.fromkeys(ids)), tuple(stale), tuple(noted))


def _reach(task: Task, known: TaskState, reason: str, via: str = "") -> Reach:
    tests = tuple(contract.id for contract in task.test_contracts)
    return Reach(task.id, task.title, reason, tests, known.typical_seconds, via)


@dataclass(frozen=True, slots=True)
class ChangeContext:
    """Where a change is written down: journal, CHANGES.md, the plan."""

    ledger: JournalWriter
    document: ChangesDocument
    quotes: Quotes
    plan: Path


def record_change(desk: ChangeContext, change: Change) -> int:
    """Write a change down and make its tasks STALE; gives its number.

    The journal first: whatever a crash cuts off behind it, `complete` writes at the next start.
    """
    number = desk.document.next_number(desk.ledger.state.changes)
    event = ChangeRecorded(
        number=number,
        text=change.text,
        tasks=change.tasks,
        stale=tuple(one.id for one in change.stale),
        reasons=tuple(one.reason for one in change.stale),
        via=tuple(one.via for one in change.stale),
    )
    record = desk.ledger.note(event, task=change.tasks[0], durable=True)
    complete(desk, record)
    return number


def complete(desk: ChangeContext, record: Record) -> None:
    """CHANGES.md, the quotes, and the tasks' statuses after an event; may be repeated."""
    event = record.event
    assert isinstance(event, ChangeRecorded)
    desk.document.write(record)
    desk.quotes.put(desk.plan, record)
    for id_, note, via in _notes(event):
        known = desk.ledger.state.task(id_)
        if known.status is Status.DONE:
            stale = TaskStaled(note=note, fields=() if via else ("change",), via=via)
            desk.ledger.note(stale, task=id_, attempt=known.last_attempt, cause=record.id)
    desk.ledger.sync()


def _notes(event: ChangeRecorded) -> Iterator[tuple[str, str, str]]:
    """What stands behind STALE of each task, and through which other one it is."""
    name = f"CHANGE-{event.number:03d}"
    roads = event.via or ("",) * len(event.stale)
    for id_, reason, via in zip(event.stale, event.reasons, roads, strict=True):
        if id_ in event.tasks:
            yield id_, f"{name}: {shorten(event.text, _NOTE)}", ""
        else:
            yield id_, f"{name}: {reason}", via
