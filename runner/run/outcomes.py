"""What an outcome means: land it, hold it, try again, or give the task to a person."""

from __future__ import annotations

from collections import deque
from dataclasses import field, replace
from typing import TYPE_CHECKING

from runner.errors import ExitCode, RunnerError
from runner.journal.events import TaskApproved, TaskFailed
from runner.lazy_dataclass import dataclass
from runner.model import Ending, Reason, ReviewMode
from runner.model.words import HELD_OUT
from runner.run import permission_prompts, review
from runner.run.landing.lander import (
    Conflict,
    Elsewhere,
    FilesInTheWay,
    Filtered,
    Landed,
    Moved,
    Unavailable,
)
from runner.run.landing.moved_branch import LandingQueue, conflicts, put_back
from runner.run.limits.deadlines import Scope
from runner.run.limits.held_out_rounds import reason_of
from runner.run.limits.retries import CANCELLED, Retries, as_failed, what_failed
from runner.run.permission_prompts import PermissionPrompts, wait_for_answers
from runner.run.regressions import regression
from runner.run.regressions.early_cutoff import stale_again
from runner.run.regressions.proof_reuse import ProofReuse
from runner.run.review import Answer
from runner.run.review_queue import Question, ReviewOutcome, ReviewQueue, WithdrawnError
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
    from runner.run.review import ChangeReview, Ruling


ADOPTED = "adopted"
"""What the Review trailer says of a branch that a person finished and handed in."""
WAITS_FOR_REVIEW = "waits for your review: runner review"


@dataclass(slots=True)
class OutcomeHandler:
    """Settles outcomes one at a time, in the coordinator's thread."""

    journal: JournalWriter
    lander: Lander
    preparation: Preparation
    settings: Settings
    review: ChangeReview
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
    context: ReviewQueue = field(init=False)
    """What a person at the terminal is asked, in its turn."""
    _again: deque[tuple[Assignment, Outcome]] = field(default_factory=deque)

    def __post_init__(self) -> None:
        """What follows attempts that did not pass is decided elsewhere, with the same books."""
        self.retries = Retries(
            journal=self.journal,
            preparation=self.preparation,
            settings=self.settings,
            books=self.books,
            codes=self.codes,
            blob=self.lander.repository.blob,
            say=self.say,
        )
        self.context = ReviewQueue(self.review, self.preparation, self.retries)

    @property
    def questions(self) -> PermissionPrompts:
        """Where permission rules have a person asked."""
        return PermissionPrompts(self.journal, self.review.asker)

    def halt(self) -> None:
        """Have nothing new started, and nothing land, since the branch is somebody else's now."""
        self.codes.add(ExitCode.CONFLICT)
        self.halted = True

    def next_again(self) -> Assignment | None:
        """Work whose proof has to run again on a moved branch."""
        return self._again.popleft()[0] if self._again else None

    def put_aside(self) -> tuple[str, ...]:
        """The run ends: hold what has to be proven again, and give the tasks."""
        put = [(assignment.task, outcome) for assignment, outcome in self._again]
        put += [(one.task, one.outcome) for one in self.turn.give_up()]
        self._again.clear()
        unseen = self.context.take_all()
        for task, outcome in unseen:
            self.books.hold(task, outcome, review.HELD, WAITS_FOR_REVIEW)
        for task, outcome in put:
            self.books.hold(task, outcome, "conflict", "proven; lands with the next run")
        self.books.drop_let_go()
        return tuple(task.id for task, _ in (*put, *unseen))

    def settle(self, task: Task, outcome: Outcome) -> bool:
        """Bring one outcome to its end; True when the same work goes on."""
        self.context.forget(task.id)
        goes_on = self._settle(task, self.standing.join(outcome))
        if not goes_on:
            self._let_go(task)
        return goes_on

    def _let_go(self, task: Task) -> None:
        self.turn.over(task.id)
        self.books.drop_left(task.id)

    def land_parked(self) -> Iterator[Task]:
        """Land what was parked and may go on; the tasks that came to their end."""
        while (one := self.turn.next_parked()) is not None:
            if not self._land(one.task, one.outcome, one.how):
                self._let_go(one.task)
                yield one.task

    def _settle(self, task: Task, outcome: Outcome) -> bool:
        late, by_person = self.overdue.pop(task.id, None), task.id in self.cancelled
        self.cancelled.discard(task.id)
        if by_person and late is None:  # also where it came back in the same moment
            self.books.record_finished(task, outcome)
            self.books.block(task, outcome, Reason.REVIEW, CANCELLED)
            return False
        # Before anything is made of it: what passed by words that nobody asks for any more must
        # neither land nor be held for a review.
        if outcome.ending is not Ending.INTERRUPTED and (how := self.edited(task)):
            self._put_back(task, outcome, how)
            return False
        plans = self.preparation.plans
        if plans is not None and plans.hear(task, outcome, self.books):
            return False
        outcome = self.preparation.require_held_out(task, outcome)
        outcome = self.context.settle_questions(task, outcome)
        match outcome.ending:
            case Ending.PASSED:
                return self._settle_passed(task, outcome)
            case Ending.FAILED | Ending.BLOCKED:
                self._settle_failed(task, outcome)
            case Ending.WAITS:
                asked = permission_prompts.note_of(outcome.questions)
                note = "; ".join(filter(None, (asked, WAITS_FOR_REVIEW)))
                why = reason_of(outcome.questions)
                self.books.hold(task, outcome, review.HELD, note, why)
            case Ending.INTERRUPTED if late is not None:
                self.retries.end(task, outcome, late)
            case Ending.INTERRUPTED:
                self.settle_interrupted(task)
        return False

    def withdraw(self, task: Task) -> bool:
        """Give a person back proven work that only waits to land; False where none does."""
        if self.context.has_heard(task.id):
            self.cancelled.add(task.id)
        again = next((one for one in self._again if one[0].task.id == task.id), None)
        if again is not None:
            self._again.remove(again)
        outcome = (
            again[1] if again else self.context.withdraw(task.id) or self.turn.withdraw(task.id)
        )
        if outcome is not None:
            self.books.block(task, outcome, Reason.REVIEW, CANCELLED)
            self._let_go(task)
        return outcome is not None

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
        if self.preparation.has_survivors(task, outcome):
            waits = "its test author gets the mutants that no test notices"
            self.books.hold(task, outcome, Reason.TEST_AUTHOR, waits, Reason.TEST_AUTHOR)
            return False
        self.books.record_finished(task, outcome)
        if not outcome.changes:
            known = self.journal.state.task(task.id)
            note = known.cut_off or self._explain_unchanged(task, known)
            self.books.record_done(task, outcome, commit="", tree=outcome.tree, note=note)
            return False
        if self.context.takes(task, outcome):
            return True
        return self._settle_ruled(task, outcome, self.context.rule(task, outcome))

    def ask_first(self, meanwhile: Callable[[], None] | None) -> tuple[Task, ReviewOutcome]:
        """Put the first question that waits; the task that it is of, and what came of it."""
        one = self.context.first
        if one.outcome is None:
            plans = self.preparation.plans
            may = plans is not None and plans.may_begin(one.task, meanwhile)
            self.context.drop(one)
            return one.task, ReviewOutcome.PLANNED if may else ReviewOutcome.WAITS
        try:
            ruling = self.context.rule(one.task, one.outcome, self._watch(one, meanwhile))
        except WithdrawnError:
            self.say(f"{one.task.id} was stopped, so its question was dropped")
            return one.task, ReviewOutcome.GOES_ON
        self.context.drop(one)
        if one.answer is not None:
            one.answer(ruling)
        elif not self._settle_ruled(one.task, one.outcome, ruling):
            self._let_go(one.task)
            return one.task, ReviewOutcome.ENDED
        return one.task, ReviewOutcome.GOES_ON

    def _watch(
        self, one: Question, meanwhile: Callable[[], None] | None
    ) -> Callable[[], None] | None:
        """The same, but it raises WithdrawnError once nobody waits for this answer any more."""
        if meanwhile is None:
            return None

        def go_on() -> None:
            meanwhile()
            if not self.context.has(one):
                raise WithdrawnError

        return go_on

    def _settle_ruled(self, task: Task, outcome: Outcome, ruling: Ruling) -> bool:
        """Apply the ruling on proven work; return True when the same work goes on."""
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
            case Answer.AUTO:  # the same bytes once more, for whoever reviews now to read
                carried = self.preparation.make_carried(
                    task, outcome.changes, outcome.base, outcome.attempt
                )
                self._again.append((carried, outcome))
                return True
        # Written down before the landing begins: a kill right behind leaves approved writes open,
        # and the next run closes them by what git has (`crash_cleanup.close_writes`).
        self.books.decisions(task, outcome)
        self.books.record_approved(task, outcome, ruling.how)
        adopted = task.id in self.preparation.adopted
        return self._land(task, outcome, ADOPTED if adopted else ruling.how)

    def _explain_unchanged(self, task: Task, known: TaskState) -> str:
        """Explain that a task was to become something else, and did not."""
        if not known.changed or known.reuse or task.id in self.preparation.prove_first:
            return ""
        chosen = getattr(self.preparation.implementer(task), "name", "")
        how = "; edit its blocks to make the change" if chosen == "blocks" else ""
        self.say(f"{task.id} was rebuilt and nothing changed{how}")
        return "rebuilt, and nothing changed"

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
            case refusal:
                self._hold_refused(task, outcome, refusal)
        return False

    def _hold_refused(self, task: Task, outcome: Outcome, refusal: Result) -> None:
        """Keep proven work that may not land as things are."""
        match refusal:
            case FilesInTheWay(paths):
                shown = ", ".join(paths)
                self.books.hold(
                    task, outcome, "in-the-way", f"your own changes are in the way: {shown}"
                )
            case Filtered(paths):
                note = f"a task cannot write {', '.join(paths)}: git filters (LFS) apply"
                self.books.block(task, outcome, Reason.POLICY, note)
            case Unavailable(message):
                self.books.hold(task, outcome, HELD_OUT, message, Reason.HELD_OUT)
            case Elsewhere(message):
                self.books.hold(task, outcome, "conflict", message)
                self.halt()

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
            # With a landing begun, the branch may have moved already: only recovery may say what
            # became of it (`run/recovery`).
            if self.journal.state.landing is None:
                self.books.hold(task, outcome, "cannot-land", error.message)
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
        self.journal.note(TaskFailed(findings=findings), task=task.id, attempt=outcome.attempt)
        if self.retries.gives_the_same(task):
            self.books.block(task, failed, Reason.REVIEW, findings[0].message)
            return
        self.journal.note(TaskApproved(by="review", note="try again"), task=task.id)

    # --- not passed -------------------------------------------------------------------

    def _settle_failed(self, task: Task, outcome: Outcome) -> None:
        known = self.journal.state.task(task.id)
        if known.cut_off:
            self.books.record_finished(task, outcome)
            stale_again(self.journal, known, what_failed(outcome, 1))
            return
        refusals = [finding for finding in outcome.findings if finding.refuses]
        by_review = bool(refusals) and all(one.check == review.CHECK for one in refusals)
        # Only where a person is asked: what a reviewing command refuses is a failed attempt.
        if by_review and self.preparation.review_mode(task) is ReviewMode.PROMPT:
            self.books.record_finished(task, outcome)
            self._settle_rejected(task, outcome, tuple(refusals))
            return
        rules = self.preparation.write_rules(task, outcome.attempt)
        if wait_for_answers(task, outcome, rules, self.books, self.questions):
            return
        same = self.retries.gives_the_same(task)
        halts = self.settings.proof.regression == "halt" or self.retries.is_last(task, outcome)
        rejected = review.refusals(self.journal.state, task.id, outcome.changes)
        if rejected:  # a person's no to these very bytes holds: it is not asked again
            findings = (*(review.rejection(one) for one in rejected), *outcome.findings)
            outcome = replace(outcome, findings=findings)
        elif regression.victims(outcome.findings) and halts:
            regression.hold_back(task, outcome, self.books)
            self.codes.add(ExitCode.REGRESSION)
            return
        same = same or outcome.ending is Ending.BLOCKED
        self.retries.again(task, outcome, same=same, refused_before=bool(rejected))
