"""The queue of reviews for the person at the terminal during a run.

Nothing here is asked from inside the settling of something else. An outcome that a person has to
see is put down, the coordinator asks about the first one, and hears its workers until a key comes:
so other tasks are built, proven and landed meanwhile, and what they come to is asked next.
"""

from __future__ import annotations

from collections import deque
from enum import Enum
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from runner.config.permissions import CHECK as PERMISSION
from runner.gates.regression import Suspects
from runner.model import Ending, ReviewMode
from runner.model.words import HELD_OUT, HELD_OUT_FAILED, ITEM_REVIEW, UNRUN
from runner.model.work import AcceptanceRow, ItemVerdict, Judge, items_of, with_rows
from runner.run import permission_prompts
from runner.run.proof_sufficiency import ASSURANCE, find_lack, wants_independence
from runner.run.review import (
    WHOLE_RUN,
    Answer,
    ProvenProposal,
    QuestionContext,
    Ruling,
    find_met,
    find_reason,
    is_approved,
    refusals,
)
from runner.run.workers import Asking, Finished, Permitting, Tracing

if TYPE_CHECKING:
    from collections.abc import Callable

    from runner.model import Outcome, Task
    from runner.run.limits.retries import Retries
    from runner.run.preparation import Preparation
    from runner.run.review import Asker, ChangeReview
    from runner.run.workers import Message


_OF_A_PERSON = frozenset({ASSURANCE, ITEM_REVIEW, UNRUN, HELD_OUT, HELD_OUT_FAILED})
"""Checks whose questions an implementer cannot answer."""


class WithdrawnError(Exception):
    """A question to a person was withdrawn by another event; a value that is never shown."""


class ReviewOutcome(Enum):
    """The result of a question, for the code that starts tasks."""

    ENDED = 1
    GOES_ON = 2
    PLANNED = 3
    """Its plan may be built."""
    WAITS = 4


class Question(Struct, frozen=True):
    """One thing to ask: a task's own plan, or without it what an attempt came to."""

    task: Task
    outcome: Outcome | None = None
    answer: Callable[[Ruling], None] | None = None
    """Resumes the worker that waits for it, if any."""


class ReviewQueue(Struct):
    """First come, first asked; in the coordinator's thread alone."""

    review: ChangeReview
    preparation: Preparation
    retries: Retries
    waiting: deque[Question] = field(default_factory=deque)
    later: deque[Message] = field(default_factory=deque)
    """Questions that arrived while a person was being prompted."""

    @property
    def is_open(self) -> bool:
        """Whether anything is to be asked, or heard that would ask."""
        return bool(self.waiting or self.later)

    @property
    def first(self) -> Question:
        """Next question: plans first, since work waits for them."""
        return next((one for one in self.waiting if one.outcome is None), self.waiting[0])

    def put(self, one: Question) -> None:
        """Append a question."""
        self.waiting.append(one)

    def drop(self, one: Question) -> None:
        """Remove an answered question."""
        self.waiting.remove(one)

    def forget(self, task: str) -> None:
        """Remove the questions of a worker that has returned."""
        kept = (one for one in self.waiting if one.task.id != task or one.answer is None)
        self.waiting = deque(kept)
        self.later = deque(one for one in self.later if not _is_asked_by(one, task))

    def withdraw(self, task: str) -> Outcome | None:
        """Ask nothing more of a task's proven work; what it was, or None where none waits."""
        for one in self.waiting:
            if one.task.id == task and one.outcome is not None and one.answer is None:
                self.waiting.remove(one)
                return one.outcome
        return None

    def has_heard(self, task: str) -> bool:
        """Return whether a worker has finished the task and its message waits in the queue."""
        return any(isinstance(one, Finished) and one.task == task for one in self.later)

    def has(self, one: Question) -> bool:
        """Return whether an item still waits for its answer."""
        return any(each is one for each in self.waiting)

    def takes(self, task: Task, outcome: Outcome) -> bool:
        """Queue proven work for a person's review; False if none is needed."""
        asks = self.review.would_ask(task, outcome.changes, self._mode(task, outcome))
        if asks:
            self.put(Question(task, outcome))
        return asks

    def take_all(self) -> list[tuple[Task, Outcome]]:
        """Remove and return all proven work without a review, at the end of the run."""
        left = self._proven()
        self.waiting.clear()
        return left

    def _proven(self) -> list[tuple[Task, Outcome]]:
        # If a worker waits for the answer, its work is not proven yet; `release` lets it continue.
        known = ((one.task, one.outcome) for one in self.waiting if one.answer is None)
        return [(task, outcome) for task, outcome in known if outcome is not None]

    def puts_off(self, message: Message | None) -> bool:
        """Postpone a message that would ask a person now; False if it would not."""
        if not _may_ask(message):
            return False
        assert message is not None
        self.later.append(message)
        return True

    # --- asking -----------------------------------------------------------------------

    def rule(
        self, task: Task, outcome: Outcome, meanwhile: Callable[[], None] | None = None
    ) -> Ruling:
        """Return whether these writes may land, according to the task's review mode."""
        mode = self._mode(task, outcome)
        around = QuestionContext(
            others=lambda: self._others(task),
            meanwhile=meanwhile,
            no_auto=self.preparation.why_not_auto(task) if mode is ReviewMode.PROMPT else None,
        )
        shown = self._proposed(task, outcome)
        ruling = self.review.rule(task, shown.attempt, shown.changes, mode, shown.before, around)
        if ruling.answer is Answer.AUTO:
            self.preparation.switch.add(WHOLE_RUN if ruling.how == WHOLE_RUN else task.id)
        return ruling

    def _mode(self, task: Task, outcome: Outcome) -> ReviewMode:
        """Return the review mode; PROMPT if a person answered questions of the proof."""
        answered = permission_prompts.was_answered(outcome)
        return ReviewMode.PROMPT if answered else self.preparation.review_mode(task)

    def _others(self, than: Task) -> list[ProvenProposal]:
        """Return the proven work of other tasks that waits for review."""
        return [self._proposed(*one) for one in self._proven() if one[0].id != than.id]

    def _proposed(self, task: Task, outcome: Outcome) -> ProvenProposal:
        def before(path: str) -> bytes | None:
            return self.retries.blob(outcome.base, path) if outcome.base else None

        return ProvenProposal(task, outcome.attempt, outcome.changes, before)

    def apply_answers(self, task: Task, outcome: Outcome) -> Outcome:
        """Return the outcome as passed if a person approved these bytes, else unchanged."""
        if not outcome.questions or not outcome.changes:
            return outcome
        known = is_approved(self.review.journal.state, task.id, outcome.changes, outcome.questions)
        if not known:
            return outcome
        reason = find_reason(self.review.journal.state, task.id, outcome.changes, outcome.questions)
        return permission_prompts.with_approval(permission_prompts.waive(outcome, reason), reason)

    def settle_questions(self, task: Task, outcome: Outcome) -> Outcome:
        """Apply the answers to questions of the proof; open ones allow one repair."""
        outcome = self._with_items(task, self._ask_about_tests(task, outcome))
        outcome = self._ask_about_assurance(task, outcome)
        outcome = self.apply_answers(task, outcome)
        if outcome.ending is not Ending.FAILED or not outcome.questions or not outcome.changes:
            return outcome
        state = self.review.journal.state
        if refusals(state, task.id, outcome.changes) or self._may_repair(task, outcome):
            return outcome
        if self.review.asker and self.preparation.is_asked(task):
            self._ask_person(self.review.asker, task, outcome)
            if refusals(self.review.journal.state, task.id, outcome.changes):
                return outcome
            outcome = self.apply_answers(task, outcome)
        passed = outcome.ending is Ending.PASSED
        return outcome if passed else replace(outcome, ending=Ending.WAITS)

    def _ask_about_tests(self, task: Task, outcome: Outcome) -> Outcome:
        """Return the outcome with failed held-out tests as a question after the last round."""
        asked = permission_prompts.as_question(outcome)
        if asked is outcome:
            return outcome
        state = self.review.journal.state
        failed = state.task(task.id).held_out_rounds + 1
        over = failed >= self.retries.settings.proof.held_out_rounds
        if over or self.retries.would_repeat(task) or self.retries.is_last(task, outcome):
            return asked
        known = is_approved(state, task.id, outcome.changes, asked.questions)
        return asked if known else outcome

    def _with_items(self, task: Task, outcome: Outcome) -> Outcome:
        """Return the outcome with acceptance items that a person confirmed for these bytes."""
        items = items_of(task)
        state = self.review.journal.state
        met = find_met(state, task.id, items, outcome.changes) if outcome.changes else ()
        rows = [AcceptanceRow(item, ItemVerdict.MET, Judge.PERSON) for item in met]
        return replace(outcome, proofs=with_rows(outcome.proofs, rows, items)) if rows else outcome

    def _ask_about_assurance(self, task: Task, outcome: Outcome) -> Outcome:
        """Return the outcome with a question if its grade is below the required one."""
        wanted = wants_independence(task, self.retries.settings) and outcome.changes
        passed = outcome.ending is Ending.PASSED and not self.preparation.is_by_person(task)
        question = find_lack(outcome.proofs) if wanted and passed else None
        if question is None:
            return outcome
        return replace(outcome, ending=Ending.FAILED, findings=(*outcome.findings, question))

    def _may_repair(self, task: Task, outcome: Outcome) -> bool:
        """Return whether the implementer gets another attempt with these new findings."""
        checks = {one.check for one in outcome.questions}
        if checks <= _OF_A_PERSON or HELD_OUT_FAILED in checks:
            return False  # nothing that it could write lets the gate run, or mends a test
        known = self.review.journal.state.task(task.id)
        shown = known.held is not None or permission_prompts.was_shown(known, outcome.questions)
        return not (shown or self.retries.would_repeat(task) or self.retries.is_last(task, outcome))

    def _ask_person(self, asker: Asker, task: Task, outcome: Outcome) -> None:
        """Ask at the terminal, and keep the answers."""
        lines = [f"{task.id} asks you:", *permission_prompts.format_questions(outcome.questions)]
        typed = asker.choose("\n".join(lines), permission_prompts.PROMPT)[:1]
        waives = permission_prompts.needs_reason(outcome.questions)
        reason = asker.choose("", "why? ") if typed == "r" or (typed == "y" and waives) else ""
        journal = self.review.journal
        if typed == "y" and (reason or not waives):
            yeses = permission_prompts.approvals(outcome.changes, outcome.questions, reason)
            for yes in yeses:
                journal.note(yes, task=task.id, attempt=outcome.attempt, durable=True)
        elif typed == "r" and reason:
            no = permission_prompts.rejection(outcome.changes, reason)
            journal.note(no, task=task.id, attempt=outcome.attempt, durable=True)


def release(message: Message | None) -> bool:
    """Release a waiting worker without an answer at the end of the run; False if none waits."""
    match message:
        case Asking(_, answer):
            answer(Ruling(Answer.WAITS))
        case Permitting(_, _, _, permit):
            permit(None)
        case Tracing(_, _, answer_with):
            answer_with(Suspects())
        case _:
            return False
    return True


def _is_asked_by(message: Message, task: str) -> bool:
    match message:
        case Asking(outcome):
            return outcome.task == task
        case Permitting(id_):
            return id_ == task
    return False


def _may_ask(message: Message | None) -> bool:
    match message:
        case Asking() | Permitting():
            return True
        case Finished(_, result):
            outcome = result()
            if outcome.ending in (Ending.PASSED, Ending.INTERRUPTED):
                return False  # it is put down, and asked in its turn
            asks_rule = any(one.check == PERMISSION for one in outcome.findings)
            return bool(outcome.questions) or asks_rule
    return False
