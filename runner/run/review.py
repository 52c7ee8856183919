"""Ask the reviewers of a task's writes, and collect their answers before the landing."""

from __future__ import annotations

import os
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from runner.journal.events import TaskApproved, TaskFailed, TaskStaled, WriteRejected, WriteReviewed
from runner.journal.session_events import ReviewSwitched
from runner.journal.task_fold import APPROVED, REJECTED
from runner.lazy_module import lazy_module
from runner.model import Finding, ReviewMode, Status, digest_of
from runner.model.words import UNRUN
from runner.writes.paths import is_control

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from runner.config.settings import Settings
    from runner.implementers.base import Implementer
    from runner.journal.events import Event
    from runner.journal.state import RunState
    from runner.journal.task_state import TaskState
    from runner.model import Change, Digest, Task
    from runner.run.journal_writer import JournalWriter
    from runner.run.landing import lease_state
else:
    lease_state = lazy_module("runner.run.landing.lease_state")

CHECK = "review"
REJECTED_BY = "a person rejected this"
HELD = "review"
"""Kind of held work that waits for a person."""
WHOLE_RUN = "run"
"""Subject of a review switch that is not about one task."""
WHOLE = ""
"""Path of a decision about a whole proposal."""


class Answer(StrEnum):
    """The result of a review."""

    APPROVED = "approved"
    EDITED = "edited"
    """A person changed the proposal: it passes the whole pipeline and is shown again."""
    REJECTED = "rejected"
    WAITS = "waits"
    NEXT = "next"
    """No answer yet: show the task's next change."""
    PREVIOUS = "previous"
    AUTO = "auto"
    """From now on use the reviewer for unattended runs: for the task, or the run."""


class Reply(Struct, frozen=True):
    """A person's answer to one change."""

    answer: Answer
    reason: str = ""
    content: bytes | None = None
    """Bytes as edited by the person."""
    for_all: bool = False
    """Whether it applies to all remaining changes of the task; for plans, of the run."""
    others: tuple[tuple[str, Change], ...] = ()
    """Changes of other tasks, by ID, that were shown and are approved with it."""


class ProvenProposal(Struct, frozen=True):
    """Proven work of a task that nobody has answered yet."""

    task: Task
    attempt: int
    changes: Sequence[Change]
    before: Before


class Spot(Struct, frozen=True):
    """The position of a change among its task's changes, and its answer so far."""

    number: int = 1
    count: int = 1
    left: int = 1
    """Unanswered changes, including this one."""
    note: str = ""
    is_plan: bool = False
    """Whether it is a task's own plan, not a file that lands."""
    no_auto: str | None = None
    """Why `Answer.AUTO` is unavailable; empty if available, None if it makes no sense."""
    others: Callable[[], Sequence[ProvenProposal]] | None = None
    """Returns what else is waiting now."""
    meanwhile: Callable[[], None] | None = None
    """Runs while the person decides; None if everything waits for them."""


class QuestionContext(Struct, frozen=True):
    """The context of a question during a run: see `Spot`."""

    others: Callable[[], Sequence[ProvenProposal]] | None = None
    meanwhile: Callable[[], None] | None = None
    no_auto: str | None = None


class Ruling(Struct, frozen=True):
    """The answer for a whole task; `findings` go into the next attempt's brief."""

    answer: Answer
    how: str = ""
    """`applied`, `edited`, `auto` or `off`, for the write log and the trailers."""
    findings: tuple[Finding, ...] = ()
    standing: bool = False
    """Whether exactly these bytes were rejected before."""
    changes: tuple[Change, ...] = ()
    """All changes of the task including a person's edits, if they edited."""


class Asker(Protocol):
    """Puts questions to a person at the terminal, one at a time."""

    def ask(self, task: Task, change: Change, before: bytes | None, spot: Spot) -> Reply:
        """Show one change and hear what to do with it."""

    def choose(self, text: str, question: str) -> str:
        """Show a text, put a question; what is typed, in small letters."""


class Before(Protocol):
    """Knows the bytes that a path had before a task."""

    def __call__(self, path: str) -> bytes | None:
        """Return the bytes, or None if the path did not exist."""


def mode_for(
    task: Task, implementer: Implementer | None, settings: Settings, *, terminal: bool
) -> ReviewMode:
    """Return the review mode of this task's writes; plan and repository can only tighten it.

    File blocks were written by the person; anybody else's bytes are shown where a person sits.
    """
    by_person = implementer is None or implementer.name in ("blocks", "check")
    default = ReviewMode.PROMPT if terminal and not by_person else ReviewMode.OFF
    return settings.review_of(task.review, default)


class ChangeReview(Struct, frozen=True):
    """The review of one attempt's changes, each decision kept as an event."""

    journal: JournalWriter
    asker: Asker | None
    insisted: bool
    """Whether the person's own settings loosened the review: only then are control files approved
    unseen."""
    approved: dict[str, tuple[int, set[WriteReviewed]]] = field(default_factory=dict)
    """By task, what was approved without a person in its last attempt."""

    def rule(
        self,
        task: Task,
        attempt: int,
        changes: Sequence[Change],
        mode: ReviewMode,
        before: Before,
        around: QuestionContext = QuestionContext(),
    ) -> Ruling:
        """Review every change as `mode` says, and return the ruling."""
        refused = self._find_refused(task, changes)
        if refused:
            return Ruling(Answer.REJECTED, findings=refused, standing=True)
        loosened = self.insisted and mode is ReviewMode.OFF  # by a person, and by no command
        unseen = loosened or not any(is_control(one.path) for one in changes)
        if unseen and mode is not ReviewMode.PROMPT:
            self._note_approved(task, attempt, changes, mode)
            return Ruling(Answer.APPROVED, mode.value)
        return self._by_person(ProvenProposal(task, attempt, changes, before), around)

    def _note_approved(
        self, task: Task, attempt: int, changes: Sequence[Change], mode: ReviewMode
    ) -> None:
        """Record each approved change once, also where a moved branch needs another proof."""
        last, noted = self.approved.get(task.id, (attempt, set()))
        noted = noted if last == attempt else set()
        events = [WriteReviewed(one.path, one.before, one.after, mode.value) for one in changes]
        for event in events:
            if event not in noted:
                self.journal.note(event, task=task.id, attempt=attempt)
        self.approved[task.id] = (attempt, noted | set(events))

    def would_ask(self, task: Task, changes: Sequence[Change], mode: ReviewMode) -> bool:
        """Return whether `rule` would prompt at the terminal."""
        if self.asker is None or self._find_refused(task, changes):
            return False
        loosened = self.insisted and mode is ReviewMode.OFF
        seen = mode is ReviewMode.PROMPT or any(is_control(one.path) for one in changes)
        return seen and not loosened and bool(self._open(task, changes))

    def _by_person(self, shown: ProvenProposal, around: QuestionContext) -> Ruling:
        task, changes = shown.task, shown.changes
        if self.asker is not None:
            ruling = self._ask(self.asker, shown, around)
            if ruling is not None:
                return ruling
        refused = self._find_refused(task, changes)
        if refused:
            return Ruling(Answer.REJECTED, findings=refused)
        answers = [find_answer(self.journal.state, task.id, change) for change in changes]
        if any(event is None for event in answers):
            return Ruling(Answer.WAITS)
        reviews = {event.review for event in answers if isinstance(event, WriteReviewed)}
        return Ruling(Answer.APPROVED, "edited" if "edited" in reviews else "applied")

    def _find_refused(self, task: Task, changes: Sequence[Change]) -> tuple[Finding, ...]:
        return tuple(rejection(event) for event in refusals(self.journal.state, task.id, changes))

    def _ask(self, asker: Asker, shown: ProvenProposal, around: QuestionContext) -> Ruling | None:
        """Ask until every change is answered; the ruling where that decides of all of it at once.

        A saved edit is its own approval: who writes the bytes need not be shown them again.
        """
        task, attempt, changes = shown.task, shown.attempt, shown.changes
        at = self._find_unanswered(task, changes, -1)
        while at is not None:
            change = changes[at]
            spot = self._spot(task, changes, at, around)
            reply = asker.ask(task, change, shown.before(change.path), spot)
            match reply.answer:
                case Answer.WAITS:
                    return None
                case Answer.EDITED:
                    edited = _with_content(change, reply.content)
                    word = (edited.path, edited.before, edited.after, "edited", "person")
                    _note_word(self.journal, WriteReviewed(*word), task.id, attempt)
                    others = (one for one in changes if one.path != edited.path)
                    return Ruling(Answer.EDITED, changes=(*others, edited))
                case Answer.AUTO:
                    scope = WHOLE_RUN if reply.for_all else "task"
                    event = ReviewSwitched(ReviewMode.AUTO.value, scope, "person")
                    _note_word(self.journal, event, task.id, attempt)
                    return Ruling(Answer.AUTO, scope)
                case Answer.NEXT | Answer.PREVIOUS:
                    at = (at + (1 if reply.answer is Answer.NEXT else -1)) % len(changes)
                    continue
            for place in self._open(task, changes) if reply.for_all else [at]:
                note_answer(self.journal, task.id, attempt, changes[place], reply)
            for other, its_change in reply.others:
                its_attempt = self.journal.state.task(other).last_attempt
                note_answer(self.journal, other, its_attempt, its_change, reply)
            if reply.answer is Answer.REJECTED:
                return None
            at = self._find_unanswered(task, changes, at)
        return None

    def _open(self, task: Task, changes: Sequence[Change]) -> list[int]:
        """Return the indexes of unanswered changes."""
        state = self.journal.state
        return [at for at, one in enumerate(changes) if find_answer(state, task.id, one) is None]

    def _find_unanswered(self, task: Task, changes: Sequence[Change], after: int) -> int | None:
        """Return the next unanswered change after `after`, starting over at the end, or None."""
        places = self._open(task, changes)
        return next((at for at in places if at > after), places[0] if places else None)

    def _spot(
        self, task: Task, changes: Sequence[Change], at: int, around: QuestionContext
    ) -> Spot:
        event = find_answer(self.journal.state, task.id, changes[at])
        how = event.review if isinstance(event, WriteReviewed) else ""
        left = len(self._open(task, changes))
        return Spot(
            at + 1,
            len(changes),
            left,
            how,
            no_auto=around.no_auto,
            others=around.others,
            meanwhile=around.meanwhile,
        )


def note_answer(
    journal: JournalWriter, task: str, attempt: int, change: Change, reply: Reply
) -> None:
    """Record a person's decision about exactly these bytes."""
    if reply.answer is Answer.REJECTED:
        refusal = WriteRejected(change.path, change.before, change.after, reply.reason, "person")
        _note_word(journal, refusal, task, attempt)
    else:
        event = WriteReviewed(change.path, change.before, change.after, "applied", "person")
        _note_word(journal, event, task, attempt)


def _note_word(journal: JournalWriter, event: Event, task: str, attempt: int) -> None:
    """Record a person's answer to a question of the run: it asks them where it runs."""
    via = f"terminal by {lease_state.person_name(os.environ)}"
    journal.note(event, task=task, attempt=attempt, durable=True, via=via)


def find_answer(state: RunState, task: str, change: Change) -> WriteReviewed | WriteRejected | None:
    """Return a person's decision about exactly this change, or None."""
    return state.review(task, change.path, change.before, change.after)


def refusals(state: RunState, task: str, changes: Sequence[Change]) -> tuple[WriteRejected, ...]:
    """Return a person's rejections of exactly these bytes, per file or of the whole.

    A no holds whoever reviews today. A whole that was rejected is another one as soon as one of its
    files is.
    """
    whole = state.review(task, WHOLE, None, proposal_digest(changes))
    events = [whole, *(find_answer(state, task, change) for change in changes)]
    return tuple(event for event in events if isinstance(event, WriteRejected))


def is_approved(
    state: RunState, task: str, changes: Sequence[Change], questions: Sequence[Finding]
) -> bool:
    """Return whether a person approved these bytes with each of these questions.

    That a gate cannot run here is no question of one task: an answer to it holds for all.
    """
    whole = proposal_digest(changes)

    def is_answered(question: Finding) -> bool:
        asked = question_digest(question)
        if question.check == UNRUN and _is_answered_anywhere(state, asked):
            return True
        return isinstance(state.review(task, WHOLE, asked, whole), WriteReviewed)

    return bool(questions) and all(map(is_answered, questions))


def find_reason(
    state: RunState, task: str, changes: Sequence[Change], questions: Sequence[Finding]
) -> str:
    """Return the reason that a person gave for letting these questions pass; "" for none."""
    whole = proposal_digest(changes)
    events = (state.review(task, WHOLE, question_digest(one), whole) for one in questions)
    reasons = (one.reason for one in events if isinstance(one, WriteReviewed))
    return next(filter(None, reasons), "")


def item_digest(item: str, text: str) -> Digest:
    """Return what names one acceptance item in a person's answer about a proposal."""
    return digest_of(f"acceptance\0{item}\0{text}".encode())


def find_met(
    state: RunState, task: str, items: Mapping[str, str], changes: Sequence[Change]
) -> tuple[str, ...]:
    """Return the acceptance items that a person says exactly these bytes meet."""
    whole = proposal_digest(changes)
    return tuple(
        item
        for item, text in items.items()
        if isinstance(state.review(task, WHOLE, item_digest(item, text), whole), WriteReviewed)
    )


def _is_answered_anywhere(state: RunState, asked: Digest) -> bool:
    return any(
        key.before == asked and isinstance(event, WriteReviewed)
        for key, event in state.reviews.items()
        if key.path == WHOLE
    )


def question_digest(question: Finding) -> Digest:
    """Return the digest of a question, without its line and detail."""
    text = f"{question.check}\0{question.path}\0{question.message}"
    return digest_of(text.encode("utf-8", "surrogateescape"))


def open_questions(known: TaskState) -> tuple[Finding, ...]:
    """Return the questions about a task's held work."""
    return tuple(finding for finding in known.findings if finding.asks) if known.held else ()


def is_open(state: RunState, task: str, changes: Sequence[Change]) -> bool:
    """Return whether held work has unanswered questions."""
    asked = open_questions(state.task(task))
    return bool(asked) and not is_approved(state, task, changes, asked)


def is_answered(state: RunState, task: str, changes: Sequence[Change]) -> bool:
    """Return whether a person has answered a proposal completely."""
    answered = all(find_answer(state, task, change) for change in changes)
    answered = answered and not is_open(state, task, changes)
    return bool(changes) and (answered or bool(refusals(state, task, changes)))


def _is_released(state: RunState, task: str, changes: Sequence[Change]) -> bool:
    """Return whether the only open questions were answered for all tasks."""
    asked = open_questions(state.task(task))
    return all(one.check == UNRUN for one in asked) and is_approved(state, task, changes, asked)


def follow_up_events(state: RunState, task: str, changes: Sequence[Change]) -> tuple[Event, ...]:
    """Return the events that release a task whose held work is fully answered; else empty.

    It says at once how the task stands; a rejection counts as no failed attempt.
    """
    known = state.task(task)
    if known.held is None or known.held.kind != HELD:
        return ()
    if not (is_answered(state, task, changes) or _is_released(state, task, changes)):
        return ()
    findings = tuple(rejection(event) for event in refusals(state, task, changes))
    if findings:
        return after_refusal(known, findings, REJECTED)
    if known.status is not Status.BLOCKED:
        return ()
    return (TaskApproved(by="review", note=APPROVED),)


def after_refusal(known: TaskState, findings: tuple[Finding, ...], note: str) -> tuple[Event, ...]:
    """Return the events that rebuild a task after a rejection; on a held change if it was there."""
    again = TaskFailed(findings=findings), TaskApproved(by="review", note=note)
    if not known.culprit:
        return again
    return again[0], TaskStaled(note=known.note, culprit=known.culprit), again[1]


def was_refused(known: TaskState) -> bool:
    """Return whether the last attempt repeated changes that a person had rejected."""
    return has_rejection(known.findings)


def has_rejection(findings: Iterable[Finding]) -> bool:
    """Return whether a person rejected these bytes."""
    return any(one.check == CHECK and one.message.startswith(REJECTED_BY) for one in findings)


def proposal_digest(changes: Sequence[Change]) -> Digest:
    """Return the digest of a proposal's paths and new contents."""
    lines = sorted(f"{change.path}\0{change.after}\n" for change in changes)
    return digest_of("".join(lines).encode("utf-8", "surrogateescape"))


def _with_content(change: Change, content: bytes | None) -> Change:
    after = None if content is None else digest_of(content)
    return replace(change, content=content, after=after)


def rejection(event: WriteRejected) -> Finding:
    """Return the next attempt's finding on a person's no."""
    return Finding(
        check=CHECK,
        path=event.path,
        message=f"{REJECTED_BY} change: {event.reason or 'no reason given'}",
        hint="change the file as the reason says",
    )
