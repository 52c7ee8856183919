"""What an outcome means: land it, hold it, try again, or give the task to a person."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from runner.errors import ExitCode, RunnerError
from runner.journal.events import (
    TaskApproved,
    TaskFailed,
)
from runner.model import Ending, Reason, ReviewMode
from runner.run import permission_prompts, review
from runner.run.landing.lander import Conflict, Elsewhere, Filtered, InTheWay, Landed, Moved
from runner.run.landing.moved_branch import LandingQueue, conflicts, put_back
from runner.run.limits.deadlines import Scope
from runner.run.limits.retries import CANCELLED, Retries, as_failed, what_failed
from runner.run.permission_prompts import PermissionPrompts, wait_for_answers
from runner.run.regressions import (
    regression,
)
from runner.run.regressions.early_cutoff import stale_again
from runner.run.regressions.proof_reuse import ProofReuse
from runner.run.review import Answer
from runner.writes.log import Fate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from runner.config.settings import Settings
    from runner.journal.task_state import TaskState
    from runner.model import Change, Finding, Outcome, Task
    from runner.run.assignment import Assignment
    from runner.run.journal_writer import JournalWriter
    from runner.run.landing.lander import Lander, Result
    from runner.run.limits.deadlines import Deadline
    from runner.run.outcome_recorder import OutcomeRecorder
    from runner.run.preparation import Preparation
    from runner.run.review import Asker, Review, Ruling


ADOPTED = "adopted"
"""What the Review trailer says of a branch that a person finished and handed in."""
WAITS_FOR_REVIEW = "waits for your review: runner review"


@dataclass(slots=True)
class OutcomeHandler:
    """Settles outcomes one at a time, in the coordinator's thread."""

    ledger: JournalWriter
    lander: Lander
    preparation: Preparation
    settings: Settings
    review: Review
    books: OutcomeRecorder
    codes: set[ExitCode] = field(default_factory=set)
    edited: Callable[[Task], str] = lambda _task: ""
    """What a person changed of a task in the plan since the run began, in words."""
    cancelled: set[str] = field(default_factory=set)
    """Tasks whose attempt a person had ended by `cancel`."""
    overdue: dict[str, Deadline] = field(default_factory=dict)
    """Tasks whose attempt was ended since its time was up."""
    say: Callable[[str], None] = lambda _text: None
    """Tells a person what is good to know while it goes on."""
    halted: bool = False
    """Whether nothing new may start: the branch is not where the run began."""
    turn: LandingQueue = field(default_factory=LandingQueue)
    standing: ProofReuse = field(default_factory=ProofReuse)
    retries: Retries = field(init=False)
    _again: deque[tuple[Assignment, Outcome]] = field(default_factory=deque)

    def __post_init__(self) -> None:
        """What follows attempts that did not pass is decided elsewhere, with the same books."""
        self.retries = Retries(
            ledger=self.ledger,
            preparation=self.preparation,
            settings=self.settings,
            books=self.books,
            codes=self.codes,
            blob=self.lander.repository.blob,
            say=self.say,
        )

    @property
    def questions(self) -> PermissionPrompts:
        """Where permission rules have a person asked."""
        return PermissionPrompts(self.ledger, self.review.asker)

    def next_again(self) -> Assignment | None:
        """Work whose proof has to run again on a moved branch."""
        return self._again.popleft()[0] if self._again else None

    def put_aside(self) -> tuple[str, ...]:
        """The run ends: hold what has to be proven again, and give the tasks."""
        put = [(assignment.task, outcome) for assignment, outcome in self._again]
        put += [(one.task, one.outcome) for one in self.turn.give_up()]
        self._again.clear()
        for task, outcome in put:
            self.books.hold(task, outcome, "conflict", "proven; lands with the next run")
        self.books.drop_let_go()
        return tuple(task.id for task, _ in put)

    def settle(self, task: Task, outcome: Outcome) -> bool:
        """Bring one outcome to its end; True when the same work goes on."""
        goes_on = self._settle(task, self.standing.join(outcome))
        if not goes_on:
            self.turn.over(task.id)
            self.books.drop_left(task.id)
        return goes_on

    def land_parked(self) -> Iterator[Task]:
        """Land what was parked and may go on; the tasks that came to their end."""
        while (one := self.turn.next_parked()) is not None:
            if not self._land(one.task, one.outcome, one.how):
                self.turn.over(one.task.id)
                self.books.drop_left(one.task.id)
                yield one.task

    def _settle(self, task: Task, outcome: Outcome) -> bool:
        late = self.overdue.pop(task.id, None)
        if late is not None:
            self.cancelled.discard(task.id)
        if outcome.ending is not Ending.INTERRUPTED and (how := self.edited(task)):
            self._put_back(task, outcome, how)
            return False
        plans = self.preparation.plans
        if plans is not None and plans.hear(task, outcome, self.books):
            return False
        outcome = self.settle_questions(task, outcome)
        match outcome.ending:
            case Ending.PASSED:
                return self._settle_passed(task, outcome)
            case Ending.FAILED | Ending.BLOCKED:
                self._settle_failed(task, outcome)
            case Ending.WAITS:
                asked = permission_prompts.note_of(outcome.questions)
                note = "; ".join(filter(None, (asked, WAITS_FOR_REVIEW)))
                self.books.hold(task, outcome, review.HELD, note)
            case Ending.INTERRUPTED if late is not None:
                self.retries.end(task, outcome, late)
            case Ending.INTERRUPTED if task.id in self.cancelled:
                self.cancelled.discard(task.id)
                self.books.record_finished(task, outcome)
                self.books.block(task, outcome, Reason.REVIEW, CANCELLED)
            case Ending.INTERRUPTED:
                self.settle_interrupted(task)
        return False

    def in_time(self, task: Task, outcome: Outcome) -> tuple[Outcome, str]:
        """An outcome of a group's member, and why it was ended from outside; else empty."""
        late = self.overdue.pop(task.id, None)
        by_person = task.id in self.cancelled
        self.cancelled.discard(task.id)
        if outcome.ending is not Ending.INTERRUPTED or not (late or by_person):
            return outcome, ""
        if late is None:
            return outcome, CANCELLED
        failed = as_failed(outcome, late)
        by_run = late.scope is Scope.RUN
        return (replace(failed, ending=Ending.INTERRUPTED) if by_run else failed), str(late)

    def settle_interrupted(self, task: Task) -> None:
        """An attempt was ended from outside: it counts for nothing."""
        self.books.record_interrupted(task)
        self.preparation.retry_held(task)
        self.books.drop_left(task.id)

    # --- passed -----------------------------------------------------------------------

    def _settle_passed(self, task: Task, outcome: Outcome) -> bool:
        self.books.record_finished(task, outcome)
        if not outcome.changes:
            known = self.ledger.state.task(task.id)
            note = known.cut_off or self._explain_unchanged(task, known)
            self.books.record_done(task, outcome, commit="", tree=outcome.tree, note=note)
            return False
        ruling = self.rule(task, outcome)
        match ruling.answer:
            case Answer.WAITS:
                self.books.hold(task, outcome, "review", WAITS_FOR_REVIEW)
                return False
            case Answer.REJECTED if ruling.standing:
                failed = replace(outcome, ending=Ending.FAILED, findings=ruling.findings)
                same = self.retries.gives_the_same(task)
                self.retries.again(task, failed, same=same, refused_before=True)
                return False
            case Answer.REJECTED:
                self._settle_rejected(task, outcome, ruling.findings)
                return False
            case Answer.EDITED:
                return self._take_edit(task, outcome, ruling.changes)
        self.books.decisions(task, outcome)
        self.books.record_approved(task, outcome, ruling.how)
        adopted = task.id in self.preparation.adopted
        return self._land(task, outcome, ADOPTED if adopted else ruling.how)

    def _explain_unchanged(self, task: Task, known: TaskState) -> str:
        """What is to be said of a task that was to become something else, and did not."""
        if not known.changed or known.reuse or task.id in self.preparation.prove_first:
            return ""
        chosen = getattr(self.preparation.implementer(task), "name", "")
        how = "; edit its blocks for what was asked" if chosen == "blocks" else ""
        self.say(f"{task.id} was built anew and nothing changed{how}")
        return "built anew, and nothing changed"

    def rule(self, task: Task, outcome: Outcome) -> Ruling:
        """Whether these writes may land, by whom the task's review asks.

        Where a person answered what the proof asked about these bytes, it is theirs.
        """
        mode = self.preparation.review_mode(task)
        if permission_prompts.was_answered(outcome):
            mode = ReviewMode.PROMPT
        before = partial(self._before, outcome.base)
        return self.review.rule(task, outcome.attempt, outcome.changes, mode, before)

    def _before(self, base: str, path: str) -> bytes | None:
        return self.lander.repository.blob(base, path) if base else None

    def _take_edit(self, task: Task, outcome: Outcome, changes: tuple[Change, ...]) -> bool:
        """A person's edit goes through the whole pipeline and proof, and is then shown again."""
        self.preparation.edits[task.id] = changes
        carried = self.preparation.make_carried(task, changes, outcome.base, outcome.attempt)
        self._again.append((carried, outcome))
        return True

    def _land(self, task: Task, outcome: Outcome, how: str) -> bool:
        if self.turn.parks(task, outcome, how):
            return True
        if words := self.edited(task):  # while a person reviewed it, or others landed
            self.books.close_writes(outcome, Fate.DROPPED)
            self._put_back(task, outcome, words)
            return False
        match self._land_or_hold(task, outcome, how):
            case Landed(commit, tree, late):
                self.books.close_writes(outcome, Fate.LANDED, commit)
                kept = f"kept your own {', '.join(late)}" if late else ""
                note = "; ".join(filter(None, (kept, permission_prompts.note_on_done(outcome))))
                self.preparation.forget_landed(task)
                self.books.record_done(task, outcome, commit=commit, tree=tree, note=note)
                if task.id in self.preparation.released:
                    self.books.let_go(task.id)
                return False
            case Moved(base):
                return self._prove_again(task, outcome, base)
            case Conflict(base, paths):
                self._conflict(task, outcome, base, paths)
            case InTheWay(paths):
                shown = ", ".join(paths)
                self.books.hold(
                    task, outcome, "in-the-way", f"your own changes are in the way: {shown}"
                )
            case Filtered(paths):
                note = f"git filters (LFS) {', '.join(paths)}: a task cannot write it"
                self.books.block(task, outcome, Reason.POLICY, note)
            case Elsewhere(message):
                self.books.hold(task, outcome, "conflict", message)
                self.codes.add(ExitCode.CONFLICT)
                self.halted = True
        return False

    def _put_back(self, task: Task, outcome: Outcome, how: str) -> None:
        """A person asks for something else by now: nothing of the old words lands."""
        put_back(task, outcome, how, self.books)
        if task.id in self.preparation.released:
            self.books.let_go(task.id)

    def _land_or_hold(self, task: Task, outcome: Outcome, how: str) -> Result:
        """Land; where that cannot even begin (a key that does not sign), the work is held."""
        try:
            return self.lander.land(task, outcome, how)
        except RunnerError as error:
            if self.ledger.state.landing is None:
                self.books.hold(task, outcome, "conflict", error.message)
            raise

    def _prove_again(self, task: Task, outcome: Outcome, base: str) -> bool:
        """The branch moved and nobody touched these files: the same bytes are proven there."""
        carried = self.preparation.make_carried(task, outcome.changes, base, outcome.attempt)
        self._again.append((self.standing.spare_tests(carried, outcome), outcome))
        self.turn.mark_overtaken(task.id)
        return True

    def _conflict(self, task: Task, outcome: Outcome, base: str, paths: tuple[str, ...]) -> None:
        findings = conflicts(paths, base)
        self.books.close_writes(outcome, Fate.DROPPED)
        failed = replace(outcome, ending=Ending.FAILED, findings=findings)
        self.retries.again(task, failed, same=False)

    def _settle_rejected(self, task: Task, outcome: Outcome, findings: tuple[Finding, ...]) -> None:
        """A person's no is the next attempt's brief; it does not count as a failed attempt."""
        failed = replace(outcome, ending=Ending.FAILED, findings=findings)
        self.retries.remember(outcome)
        self.ledger.note(TaskFailed(findings=findings), task=task.id, attempt=outcome.attempt)
        if self.retries.gives_the_same(task):
            self.books.block(task, failed, Reason.REVIEW, findings[0].message)
            return
        self.ledger.note(TaskApproved(by="review", note="try again"), task=task.id)

    # --- asked ------------------------------------------------------------------------

    def apply_answers(self, task: Task, outcome: Outcome) -> Outcome:
        """The outcome as passed where a person let these bytes pass; else as it is."""
        if not outcome.questions or not outcome.changes:
            return outcome
        asked = (outcome.changes, outcome.questions)
        known = review.is_approved(self.ledger.state, task.id, *asked)
        return permission_prompts.with_approval(outcome) if known else outcome

    def settle_questions(self, task: Task, outcome: Outcome) -> Outcome:
        """What becomes of questions that only a person can answer: one repair, then it waits."""
        outcome = self.apply_answers(task, outcome)
        if outcome.ending is not Ending.FAILED or not outcome.questions or not outcome.changes:
            return outcome
        refused = review.refusals(self.ledger.state, task.id, outcome.changes)
        if refused or self._may_repair(task, outcome):
            return outcome
        if self.review.asker and self.preparation.review_mode(task) is ReviewMode.PROMPT:
            self._ask_person(self.review.asker, task, outcome)
            if review.refusals(self.ledger.state, task.id, outcome.changes):
                return outcome
            outcome = self.apply_answers(task, outcome)
        passed = outcome.ending is Ending.PASSED
        return outcome if passed else replace(outcome, ending=Ending.WAITS)

    def _may_repair(self, task: Task, outcome: Outcome) -> bool:
        """Whether its implementer tries once more: it was not told of this before."""
        known = self.ledger.state.task(task.id)
        told = known.held is not None or permission_prompts.was_told(known, outcome.questions)
        return not told and not self.retries.gives_the_same(task) and not self.is_last_try(task)

    def _ask_person(self, asker: Asker, task: Task, outcome: Outcome) -> None:
        """Ask at the terminal, and keep what is said."""
        lines = [f"{task.id} asks you:", *permission_prompts.format_questions(outcome.questions)]
        typed = asker.choose("\n".join(lines), permission_prompts.PROMPT)[:1]
        reason = asker.choose("", "why? ") if typed == "r" else ""
        if typed == "y":
            for yes in permission_prompts.approvals(outcome.changes, outcome.questions):
                self.ledger.note(yes, task=task.id, attempt=outcome.attempt, durable=True)
        elif reason:
            no = permission_prompts.rejection(outcome.changes, reason)
            self.ledger.note(no, task=task.id, attempt=outcome.attempt, durable=True)

    # --- not passed -------------------------------------------------------------------

    def _settle_failed(self, task: Task, outcome: Outcome) -> None:
        known = self.ledger.state.task(task.id)
        if known.cut_off:
            self.books.record_finished(task, outcome)
            stale_again(self.ledger, known, what_failed(outcome, 1))
            return
        refusals = [finding for finding in outcome.findings if finding.refuses]
        by_review = bool(refusals) and all(one.check == review.CHECK for one in refusals)
        if by_review and self.preparation.review_mode(task) is ReviewMode.PROMPT:
            self.books.record_finished(task, outcome)
            self._settle_rejected(task, outcome, tuple(refusals))
            return
        rules = self.preparation.write_rules(task, outcome.attempt)
        if wait_for_answers(task, outcome, rules, self.books, self.questions):
            return
        same = self.retries.gives_the_same(task)
        halts = self.settings.regression == "halt" or self.is_last_try(task)
        said = review.refusals(self.ledger.state, task.id, outcome.changes)
        if said:  # a person's no to these very bytes holds: it is not asked again
            findings = (*(review.rejection(one) for one in said), *outcome.findings)
            outcome = replace(outcome, findings=findings)
        elif regression.victims(outcome.findings) and halts:
            regression.hold_back(task, outcome, self.books)
            self.codes.add(ExitCode.REGRESSION)
            return
        same = same or outcome.ending is Ending.BLOCKED
        self.retries.again(task, outcome, same=same, refused_before=bool(said))

    def is_last_try(self, task: Task) -> bool:
        """Whether no further attempt would follow this one."""
        return self.retries.is_last(task)
