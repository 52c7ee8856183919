"""Who approves a task's writes before they land, and what they said."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from runner.journal.events import WriteRejected, WriteReviewed
from runner.model import Finding, ReviewMode, digest_of
from runner.writes.paths import is_control

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runner.config.settings import Settings
    from runner.implementers.base import Implementer
    from runner.journal.state import RunState
    from runner.model import Change, Digest, Task
    from runner.run.ledger import Ledger

CHECK = "review"
WHOLE = ""
"""The path under which a decision about a whole proposal is kept."""


class Answer(StrEnum):
    """What a review came to."""

    APPROVED = "approved"
    EDITED = "edited"
    """A person changed the proposal: it goes through the whole pipeline and is shown again."""
    REJECTED = "rejected"
    WAITS = "waits"


@dataclass(frozen=True, slots=True)
class Said:
    """A person's answer to one change."""

    answer: Answer
    reason: str = ""
    content: bytes | None = None
    """The bytes as the person edited them."""
    for_all: bool = False
    """Whether it holds for all changes of the task that are left."""


@dataclass(frozen=True, slots=True)
class Ruling:
    """The answer for a whole task; `findings` go into the next attempt's brief."""

    answer: Answer
    how: str = ""
    """`applied`, `edited`, `auto` or `off`, for the write log and the trailers."""
    findings: tuple[Finding, ...] = ()
    standing: bool = False
    """Whether these very bytes had been rejected before."""
    changes: tuple[Change, ...] = ()
    """All changes of the task with a person's edit among them, when they edited."""


class Asker(Protocol):
    """Puts questions to a person at the terminal, one at a time."""

    def ask(self, task: Task, change: Change, before: bytes | None, left: int) -> Said:
        """Show one change and hear what to do with it."""

    def choose(self, text: str, question: str) -> str:
        """Show a text, put a question; what is typed, in small letters."""


class Before(Protocol):
    """Knows the bytes that a path had before a task."""

    def __call__(self, path: str) -> bytes | None:
        """The bytes, or None where the path was not there."""


def mode_for(
    task: Task, implementer: Implementer | None, settings: Settings, *, terminal: bool
) -> ReviewMode:
    """Who reviews this task's writes: the plan and the repository only tighten.

    File blocks were written by the person; anybody else's bytes are shown where a person sits.
    """
    by_person = implementer is None or implementer.name in ("blocks", "check")
    default = ReviewMode.PROMPT if terminal and not by_person else ReviewMode.OFF
    return settings.review_of(task.review, default)


@dataclass(frozen=True, slots=True)
class Review:
    """The review of one attempt's changes, each decision kept as an event."""

    ledger: Ledger
    asker: Asker | None
    insisted: bool
    """Whether the person's own settings loosened the review: only then are control files approved
    unseen."""

    def rule(
        self,
        task: Task,
        attempt: int,
        changes: Sequence[Change],
        mode: ReviewMode,
        before: Before,
    ) -> Ruling:
        """Have every change approved, by whom `mode` says."""
        refused = self._refused(task, changes)
        if refused:
            return Ruling(Answer.REJECTED, findings=refused, standing=True)
        unseen = mode is not ReviewMode.PROMPT
        if unseen and (self.insisted or not any(is_control(one.path) for one in changes)):
            for change in changes:
                event = WriteReviewed(change.path, change.before, change.after, mode.value)
                self.ledger.note(event, task=task.id, attempt=attempt)
            return Ruling(Answer.APPROVED, mode.value)
        return self._by_person(task, attempt, changes, before)

    def _by_person(
        self, task: Task, attempt: int, changes: Sequence[Change], before: Before
    ) -> Ruling:
        open_ones = [one for one in changes if said_of(self.ledger.state, task.id, one) is None]
        if open_ones and self.asker is not None:
            edited = self._ask(task, attempt, open_ones, before)
            if edited is not None:
                others = (one for one in changes if one.path != edited.path)
                return Ruling(Answer.EDITED, changes=(*others, edited))
        refused = self._refused(task, changes)
        if refused:
            return Ruling(Answer.REJECTED, findings=refused)
        said = [said_of(self.ledger.state, task.id, change) for change in changes]
        if any(event is None for event in said):
            return Ruling(Answer.WAITS)
        reviews = {event.review for event in said if isinstance(event, WriteReviewed)}
        return Ruling(Answer.APPROVED, "edited" if "edited" in reviews else "applied")

    def _refused(self, task: Task, changes: Sequence[Change]) -> tuple[Finding, ...]:
        return tuple(rejection(event) for event in refusals(self.ledger.state, task.id, changes))

    def _ask(
        self, task: Task, attempt: int, changes: Sequence[Change], before: Before
    ) -> Change | None:
        """Ask for each change; the changed proposal when a person edited one."""
        if self.asker is None:
            return None
        for place, change in enumerate(changes):
            said = self.asker.ask(task, change, before(change.path), len(changes) - place)
            match said.answer:
                case Answer.WAITS:
                    return None
                case Answer.EDITED:
                    return _edited(change, said.content)
            for one in changes[place:] if said.for_all else (change,):
                note_answer(self.ledger, task.id, attempt, one, said)
            if said.for_all or said.answer is Answer.REJECTED:
                return None
        return None


def note_answer(ledger: Ledger, task: str, attempt: int, change: Change, said: Said) -> None:
    """Keep a person's decision about exactly these bytes."""
    if said.answer is Answer.REJECTED:
        refusal = WriteRejected(change.path, change.before, change.after, said.reason, "person")
        ledger.note(refusal, task=task, attempt=attempt, durable=True)
    else:
        event = WriteReviewed(change.path, change.before, change.after, "applied", "person")
        ledger.note(event, task=task, attempt=attempt, durable=True)


def said_of(state: RunState, task: str, change: Change) -> WriteReviewed | WriteRejected | None:
    """What a person decided about exactly this change, if they did."""
    return state.review(task, change.path, change.before, change.after)


def refusals(state: RunState, task: str, changes: Sequence[Change]) -> tuple[WriteRejected, ...]:
    """What a person rejected of these very bytes, file by file or as a whole.

    A no holds whoever reviews today. A whole that was rejected is another one as soon as one of its
    files is.
    """
    whole = state.review(task, WHOLE, None, proposal_digest(changes))
    said = [whole, *(said_of(state, task, change) for change in changes)]
    return tuple(event for event in said if isinstance(event, WriteRejected))


def proposal_digest(changes: Sequence[Change]) -> Digest:
    """The digest of a whole proposal: of its paths with what they become."""
    lines = sorted(f"{change.path}\0{change.after}\n" for change in changes)
    return digest_of("".join(lines).encode("utf-8", "surrogateescape"))


def _edited(change: Change, content: bytes | None) -> Change:
    after = None if content is None else digest_of(content)
    return replace(change, content=content, after=after)


def rejection(event: WriteRejected) -> Finding:
    """What the next attempt is told of a person's no."""
    return Finding(
        check=CHECK,
        path=event.path,
        message=f"a person rejected this: {event.reason or 'no reason given'}",
        hint="change it as the reason says",
    )
