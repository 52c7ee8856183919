"""Handle an outcome: land it, hold it, retry it, or give the task to a person."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from runner.errors import ExitCode, RunnerError
from runner.journal.events import TaskApproved, TaskFailed
from runner.model import Ending, Outcome, Reason, ReviewMode
from runner.model.words import HELD_OUT
from runner.run import permission_prompts, review
from runner.run.landing.gate_batch import GateBatch
from runner.run.landing.lander import (
    Conflict,
    ConflictingFiles,
    Elsewhere,
    Filtered,
    Landed,
    Moved,
    Unavailable,
)
from runner.run.landing.moved_branch import LandingQueue, conflicts, put_back
from runner.run.limits.budget import Scope
from runner.run.limits.retries import CANCELLED, Retries, as_failed, describe_failures
from runner.run.permission_prompts import PermissionPrompts, reason_of, wait_for_answers
from runner.run.regressions import regression
from runner.run.regressions.early_cutoff import mark_stale_again
from runner.run.regressions.proof_reuse import ProofReuse
from runner.run.review import Answer
from runner.run.review_queue import Question, ReviewOutcome, ReviewQueue, WithdrawnError
from runner.run.worker_assignment import Assignment
from runner.writes.log import Fate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from runner.config.settings import Settings
    from runner.journal.task_state import TaskState
    from runner.model import Change, Finding, Task
    from runner.run.journal_writer import JournalWriter
    from runner.run.landing.gate_batch import BatchMember, BatchVerdict
    from runner.run.landing.lander import Lander, Link, Result
    from runner.run.limits.budget import Deadline
    from runner.run.outcome_recorder import OutcomeRecorder
    from runner.run.preparation import Preparation
    from runner.run.review import ChangeReview, Ruling


ADOPTED = "adopted"
"""Value of the Review trailer for a branch that a person finished and submitted."""
WAITS_FOR_REVIEW = "waits for your review: runner review"


class OutcomeHandler(Struct, dict=True):
    """Settles outcomes one at a time, in the coordinator's thread."""

    journal: JournalWriter
    lander: Lander
    preparation: Preparation
    settings: Settings
    review: ChangeReview
    books: OutcomeRecorder
    codes: set[ExitCode] = field(default_factory=set)
    edited: Callable[[Task], str] = lambda _task: ""
    """What a person changed in a task's plan section since the run began, as text."""
    cancelled: set[str] = field(default_factory=set)
    """Tasks whose attempt a person ended with `cancel`."""
    overdue: dict[str, Deadline] = field(default_factory=dict)
    """Tasks whose attempt was ended by a timeout."""
    say: Callable[[str], None] = lambda _text: None
    """Prints information for the person during the run."""
    halted: bool = False
    """Whether nothing new may start: the branch is not where the run began."""
    turn: LandingQueue = field(default_factory=LandingQueue)
    standing: ProofReuse = field(default_factory=ProofReuse)
    _ended: deque[Task] = field(default_factory=deque)
    """Tasks that came to their end with another one."""
    _again: deque[tuple[Assignment, Outcome]] = field(default_factory=deque)

    def __post_init__(self) -> None:
        """Create the retry handler, which shares the journal."""
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
        self.batch = GateBatch(self.preparation, self.lander, self.settings)

    @property
    def questions(self) -> PermissionPrompts:
        """Prompts for permission rules that ask a person."""
        return PermissionPrompts(self.journal, self.review.asker)

    def halt(self) -> None:
        """Stop new starts and landings, since the branch now belongs to another run."""
        self.codes.add(ExitCode.CONFLICT)
        self.halted = True

    def next_again(self) -> Assignment | None:
        """Work whose proof has to run again on a moved branch, or a test suite for a batch."""
        return self._again.popleft()[0] if self._again else None

    def put_aside(self) -> tuple[str, ...]:
        """Hold all unproven and unreviewed work at the end of a run; return the tasks."""
        again = [one for one in self._again if not one[0].gates]
        put = [(assignment.task, outcome) for assignment, outcome in again]
        put += [(one.task, one.outcome) for one in self.turn.give_up()]
        self._again.clear()
        batch = self.batch.give_up()
        unseen = self.context.take_all()
        for task, outcome in unseen:
            self.books.hold(task, outcome, review.HELD, WAITS_FOR_REVIEW)
        for task, outcome in put:
            self.books.hold(task, outcome, "conflict", "proven; lands with the next run")
        for one in batch:
            self._hold_waiting(one.task, one.outcome)
        self.books.drop_released()
        waiting = (one.task.id for one in batch)
        return (*(task.id for task, _ in (*put, *unseen)), *waiting)

    def _hold_waiting(self, task: Task, outcome: Outcome) -> None:
        """Keep what waits for a batch, where the run ends first."""
        if outcome.ending is Ending.PASSED:
            self.books.hold(task, outcome, "conflict", "its last gate runs with the next run")
        else:
            self.settle_interrupted(task)

    def settle(self, task: Task, outcome: Outcome) -> bool:
        """Settle one outcome; True if the same work continues."""
        if self.batch.runs_at == task.id:
            return self._settle_run(task, outcome)
        self.context.forget(task.id)
        self.batch.forget(task.id)
        goes_on = self._settle(task, self.standing.join(outcome))
        if not goes_on:
            self._let_go(task)
        return goes_on

    def _let_go(self, task: Task) -> None:
        self.turn.over(task.id)
        self.books.drop_left(task.id)

    def land_parked(self) -> Iterator[Task]:
        """Land what was parked and may go on; the tasks that came to their end."""
        while (one := self.turn.next_parked() or self.batch.take_later()) is not None:
            if one.outcome.ending is not Ending.PASSED:
                self._prove_again(one.task, one.outcome, self.lander.head())
            elif not self._land(one.task, one.outcome, one.how):
                self._end(one.task)
            yield from self._take_ended()
        yield from self._take_ended()

    def _end(self, task: Task) -> None:
        self._let_go(task)
        self._ended.append(task)

    def _take_ended(self) -> Iterator[Task]:
        while self._ended:
            yield self._ended.popleft()

    # --- batches ----------------------------------------------------------------------

    def run_batch(self) -> None:
        """Have the test suite run for those that wait; or land them, where none needs it."""
        self._go_on(self.batch.request())

    def _go_on(self, step: Assignment | BatchVerdict | None) -> None:
        """Run the suite, or land what passed together and give the culprit what it found."""
        match step:
            case Assignment():
                self._again.appendleft((step, Outcome(step.task.id, 0, Ending.WAITS, "", "")))
            case (passed, culprit):
                if passed:
                    self._land_batch(passed)
                if culprit is not None:
                    outcome = self.context.settle_questions(culprit.task, culprit.outcome)
                    if not self._settle_ending(culprit.task, outcome):
                        self._end(culprit.task)

    def _settle_run(self, task: Task, outcome: Outcome) -> bool:
        """Hear how a test suite ended for a batch; the task in whose slot it ran still waits."""
        own = self.batch.take_answer(outcome)
        if own is None:
            return True  # a task's own outcome that came twice
        late, by_person = self.overdue.pop(task.id, None), task.id in self.cancelled
        self.cancelled.discard(task.id)
        self.books.record_finished(task, own)
        step = self.batch.hear(outcome)
        if late is not None:  # the time of the run is over
            for one in self.batch.give_up():
                self._hold_waiting(one.task, one.outcome)
                self._end(one.task)
        elif by_person and self.batch.withdraw(task.id):
            self.books.block(task, own, Reason.REVIEW, CANCELLED)
            self._end(task)
        self._go_on(step)
        return True

    def _land_batch(self, members: Sequence[BatchMember]) -> None:
        """Land all of them by one swap of the branch; where it moved, each is placed again."""
        edited = [one for one in members if self._put_back_edited(one.task, one.outcome)]
        landed = () if edited else self._land_chain(members)
        if not landed:
            self.batch.put_later(one for one in members if one not in edited)
        for task, outcome, one in landed:
            self.record_landed(task, outcome, one)
            self._end(task)

    def _land_chain(
        self, members: Sequence[BatchMember]
    ) -> tuple[tuple[Task, Outcome, Landed], ...]:
        """Land the members in one swap, and return how each landed; empty if none did."""
        links: list[Link] = []
        try:
            for task, outcome, how, _ in members:
                parent = links[-1].commit if links else outcome.base
                links.append(self.lander.link(task, outcome, parent, how))
            result = self.lander.land_chain(links)
        except RunnerError as error:
            if self.journal.state.landing is None:
                for task, outcome, *_ in members:
                    self.books.hold(task, outcome, "cannot-land", error.message)
            raise
        if isinstance(result, Elsewhere):
            self.say(result.message)
            self.halt()
        if not isinstance(result, Landed):
            return ()
        late = result.late
        return tuple((one.task, one.outcome, Landed(one.commit, one.tree, late)) for one in links)

    def _put_back_edited(self, task: Task, outcome: Outcome) -> bool:
        """Put the outcome back if a person has edited the task meanwhile; True if it was."""
        if not (words := self.edited(task)):
            return False
        self.books.close_writes(outcome, Fate.DROPPED)
        self._put_back(task, outcome, words)
        self._end(task)
        return True

    # --- one outcome ------------------------------------------------------------------

    def _settle(self, task: Task, outcome: Outcome) -> bool:
        late, by_person = self.overdue.pop(task.id, None), task.id in self.cancelled
        self.cancelled.discard(task.id)
        if by_person and late is None:  # also where it came back in the same moment
            self.books.record_finished(task, outcome)
            self.books.block(task, outcome, Reason.REVIEW, CANCELLED)
            return False
        # First of all: a result for an outdated specification must neither land nor be held for a
        # review.
        if outcome.ending is not Ending.INTERRUPTED and (how := self.edited(task)):
            self._put_back(task, outcome, how)
            return False
        plans = self.preparation.plans
        if plans is not None and plans.hear(task, outcome, self.books):
            return False
        outcome = self.preparation.require_held_out(task, outcome)
        outcome = self.context.settle_questions(task, outcome)
        if outcome.ending is Ending.INTERRUPTED and late is not None:
            self.retries.end(task, outcome, late)
            return False
        victims = regression.victims(outcome.findings)
        if self.batch.delays(task, outcome, victims):
            return True
        return self._settle_ending(task, outcome)

    def _settle_ending(self, task: Task, outcome: Outcome) -> bool:
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
            case Ending.INTERRUPTED:
                self.settle_interrupted(task)
        return False

    def withdraw(self, task: Task) -> bool:
        """Return proven work that waits to land to a person; False if there is none."""
        if self.context.has_heard(task.id):
            self.cancelled.add(task.id)
        again = next((one for one in self._again if one[0].task.id == task.id), None)
        if again is not None:
            self._again.remove(again)
            self.batch.forget(task.id)
        outcome = self.batch.withdraw(task.id) or (
            again[1] if again else self.context.withdraw(task.id) or self.turn.withdraw(task.id)
        )
        if outcome is not None:
            self.books.block(task, outcome, Reason.REVIEW, CANCELLED)
            self._let_go(task)
        return outcome is not None

    def in_time(self, task: Task, outcome: Outcome) -> tuple[Outcome, str]:
        """Return the outcome of a group's member, and why it was ended, or ""."""
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
        """Record an attempt that was ended from outside, which does not count."""
        if self.batch.runs_at == task.id:  # its own work was put aside before
            return
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
        """Ask the first waiting question, and return its task and the result."""
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
        """Return `meanwhile` wrapped so that it raises WithdrawnError for a withdrawn question."""
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
                same = self.retries.would_repeat(task)
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
        # Record before the landing begins: a kill right after it leaves approved writes open, and
        # the next run closes them by git's state (`crash_cleanup.close_writes`).
        self.books.decisions(task, outcome)
        self.books.record_approved(task, outcome, ruling.how)
        adopted = task.id in self.preparation.adopted
        return self._land(task, outcome, ADOPTED if adopted else ruling.how)

    def _explain_unchanged(self, task: Task, known: TaskState) -> str:
        """Explain that a task was to become something else, and did not."""
        if not known.changed or known.reuse or task.id in self.preparation.prove_first:
            return ""
        chosen = getattr(self.preparation.implementer(task), "name", "")
        how = "; edit its code blocks in the plan to make the change" if chosen == "blocks" else ""
        self.say(f"{task.id} was rebuilt and nothing changed{how}")
        return "rebuilt, and nothing changed"

    def _take_edit(self, task: Task, outcome: Outcome, changes: tuple[Change, ...]) -> bool:
        """Queue a person's edit to pass the pipeline and proof again; return True."""
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
        result: Result | None
        if self.batch.takes(task, outcome):
            result = self.batch.join(task, outcome, how)
        else:
            result = self._land_or_hold(task, outcome, how)
        match result:
            case None:
                self.turn.over(task.id)
                return True
            case Landed():
                self.record_landed(task, outcome, result)
                return False
            case Moved(base):
                return self._prove_again(task, outcome, base)
            case Conflict(base, paths):
                self._conflict(task, outcome, base, paths)
            case refusal:
                self._hold_refused(task, outcome, refusal)
        return False

    def record_landed(self, task: Task, outcome: Outcome, landed: Landed) -> None:
        """Write down that a task is DONE with its commit."""
        if landed.commit:
            self.books.close_writes(outcome, Fate.LANDED, landed.commit)
        kept = f"kept your version of {', '.join(landed.late)}" if landed.late else ""
        note = "; ".join(filter(None, (kept, permission_prompts.note_on_done(outcome))))
        self.preparation.forget_landed(task)
        self.books.record_done(task, outcome, commit=landed.commit, tree=landed.tree, note=note)
        if task.id in self.preparation.released:
            self.books.let_go(task.id)

    def _hold_refused(self, task: Task, outcome: Outcome, refusal: Result) -> None:
        """Keep proven work that cannot land at the moment."""
        match refusal:
            case ConflictingFiles(paths):
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
        """Discard an outcome whose task was edited meanwhile."""
        put_back(task, outcome, how, self.books)
        if task.id in self.preparation.released:
            self.books.let_go(task.id)

    def _land_or_hold(self, task: Task, outcome: Outcome, how: str) -> Result:
        """Land; where that cannot even begin (a key that does not sign), the work is held."""
        try:
            return self.lander.land(task, outcome, how)
        except RunnerError as error:
            # Once a landing has begun, the branch may have moved already: only recovery may decide
            # its result (`run/recovery`).
            if self.journal.state.landing is None:
                self.books.hold(task, outcome, "cannot-land", error.message)
            raise

    def _prove_again(self, task: Task, outcome: Outcome, base: str) -> bool:
        """Queue the unchanged files to be proven on the moved branch; return True."""
        carried = self.preparation.make_carried(task, outcome.changes, base, outcome.attempt)
        carried = self.batch.above(carried)
        self._again.append((self.standing.spare_tests(carried, outcome), outcome))
        self.turn.mark_overtaken(task.id)
        return True

    def _conflict(self, task: Task, outcome: Outcome, base: str, paths: tuple[str, ...]) -> None:
        findings = conflicts(paths, base)
        self.books.close_writes(outcome, Fate.DROPPED)
        failed = replace(outcome, ending=Ending.FAILED, findings=findings)
        self.retries.again(task, failed, same=False)

    def _settle_rejected(self, task: Task, outcome: Outcome, findings: tuple[Finding, ...]) -> None:
        """Turn a person's rejection into the next attempt's brief; it is no failed attempt."""
        failed = replace(outcome, ending=Ending.FAILED, findings=findings)
        self.retries.remember(outcome)
        self.journal.note(TaskFailed(findings=findings), task=task.id, attempt=outcome.attempt)
        if self.retries.would_repeat(task):
            self.books.block(task, failed, Reason.REVIEW, findings[0].message)
            return
        self.journal.note(TaskApproved(by="review", note="rejected: retrying"), task=task.id)

    # --- not passed -------------------------------------------------------------------

    def _settle_failed(self, task: Task, outcome: Outcome) -> None:
        known = self.journal.state.task(task.id)
        if known.cut_off:
            self.books.record_finished(task, outcome)
            mark_stale_again(self.journal, known, describe_failures(outcome, 1))
            return
        refusals = [finding for finding in outcome.findings if finding.refuses]
        by_review = bool(refusals) and all(one.check == review.CHECK for one in refusals)
        # Only if a person decides: a rejection by a reviewing command is a failed attempt.
        if by_review and self.preparation.review_mode(task) is ReviewMode.PROMPT:
            self.books.record_finished(task, outcome)
            self._settle_rejected(task, outcome, tuple(refusals))
            return
        rules = self.preparation.write_rules(task, outcome.attempt)
        if wait_for_answers(task, outcome, rules, self.books, self.questions):
            return
        same = self.retries.would_repeat(task)
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
