"""Who approves a task's writes before they land, and what they said."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from runner.journal.events import WriteRejected, WriteReviewed
from runner.model import Finding, ReviewMode
from runner.writes.paths import is_control

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runner.config.settings import Settings
    from runner.implementers.base import Implementer
    from runner.journal.state import RunState
    from runner.model import Change, Task
    from runner.run.ledger import Ledger


class Answer(StrEnum):
    """What a review came to."""

    APPROVED = "approved"
    REJECTED = "rejected"
    WAITS = "waits"


@dataclass(frozen=True, slots=True)
class Ruling:
    """The answer for a whole task; `findings` go into the next attempt's brief."""

    answer: Answer
    how: str
    """`applied`, `edited`, `auto` or `off`, for the write log and the trailers."""
    findings: tuple[Finding, ...] = ()


class Asker(Protocol):
    """Puts one question to a person at the terminal."""

    def ask(self, task: Task, change: Change, left: int) -> tuple[Answer, str, bool]:
        """Show one change; the answer, the reason of a rejection, and whether it is for all."""


def mode_for(
    task: Task, implementer: Implementer | None, settings: Settings, *, terminal: bool
) -> ReviewMode:
    """Who reviews this task's writes: the plan and the repository only tighten.

    File blocks were written by the person; anybody else's bytes are shown where a person sits.
    """
    by_person = implementer is None or implementer.name in ("blocks", "check")
    default = ReviewMode.PROMPT if terminal and not by_person else ReviewMode.OFF
    return settings.review_of(task.review, default)


def rule(
    task: Task,
    attempt: int,
    changes: Sequence[Change],
    mode: ReviewMode,
    *,
    ledger: Ledger,
    asker: Asker | None,
    insisted: bool,
) -> Ruling:
    """Have every change approved, each decision kept as an event.

    `insisted` says that the person's own settings turned review off: only then are control files
    approved unseen.
    """
    if mode is not ReviewMode.PROMPT and not insisted and any(is_control(c.path) for c in changes):
        mode = ReviewMode.PROMPT
    if mode is ReviewMode.OFF:
        for change in changes:
            _note_approved(ledger, task, attempt, change, "off")
        return Ruling(Answer.APPROVED, "off")
    return _by_person(task, attempt, changes, ledger=ledger, asker=asker)


def _by_person(
    task: Task, attempt: int, changes: Sequence[Change], *, ledger: Ledger, asker: Asker | None
) -> Ruling:
    open_ones = [change for change in changes if _said(ledger.state, task, change) is None]
    if open_ones and asker is not None:
        _ask_all(task, attempt, open_ones, ledger=ledger, asker=asker)
    said = [_said(ledger.state, task, change) for change in changes]
    rejected = [event for event in said if isinstance(event, WriteRejected)]
    if rejected:
        return Ruling(Answer.REJECTED, "rejected", tuple(_finding(event) for event in rejected))
    if any(event is None for event in said):
        return Ruling(Answer.WAITS, "")
    return Ruling(Answer.APPROVED, "applied")


def _ask_all(
    task: Task, attempt: int, changes: Sequence[Change], *, ledger: Ledger, asker: Asker
) -> None:
    for place, change in enumerate(changes):
        answer, reason, for_all = asker.ask(task, change, len(changes) - place)
        if answer is Answer.WAITS:
            return
        for one in changes[place:] if for_all else (change,):
            note_answer(ledger, task.id, attempt, one, answer=answer, reason=reason)
        if for_all or answer is Answer.REJECTED:
            return


def note_answer(
    ledger: Ledger, task: str, attempt: int, change: Change, *, answer: Answer, reason: str
) -> None:
    """Keep a person's decision about exactly these bytes."""
    if answer is Answer.APPROVED:
        event = WriteReviewed(change.path, change.before, change.after, "applied", "person")
        ledger.note(event, task=task, attempt=attempt, durable=True)
    else:
        refusal = WriteRejected(change.path, change.before, change.after, reason, "person")
        ledger.note(refusal, task=task, attempt=attempt, durable=True)


def _note_approved(ledger: Ledger, task: Task, attempt: int, change: Change, how: str) -> None:
    event = WriteReviewed(change.path, change.before, change.after, how)
    ledger.note(event, task=task.id, attempt=attempt)


def _said(state: RunState, task: Task, change: Change) -> WriteReviewed | WriteRejected | None:
    return state.review(task.id, change.path, change.before, change.after)


def _finding(event: WriteRejected) -> Finding:
    return Finding(
        check="review",
        path=event.path,
        message=f"a person rejected this change: {event.reason or 'no reason given'}",
        hint="change the file as the reason says",
    )
