"""What an outcome means: land it, hold it, try again, or give the task to a person."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from runner.errors import ExitCode, RunnerError
from runner.gates.contracts import not_run
from runner.journal.events import (
    AttemptFinished,
    DecisionMade,
    TaskApproved,
    TaskBlocked,
    TaskDone,
    TaskFailed,
)
from runner.model import Ending, Finding, Reason, ReviewMode
from runner.run import drafts, review
from runner.run.carrying import conflicts
from runner.run.lander import Conflict, Elsewhere, Filtered, InTheWay, Landed, Moved
from runner.run.review import Answer
from runner.writes.log import Fate
from runner.writes.log import Review as Approval

if TYPE_CHECKING:
    from collections.abc import Callable

    from runner.config.settings import Settings
    from runner.implementers.base import Implementer
    from runner.model import Change, Decision, Digest, Outcome, Task
    from runner.run.lander import Lander, Result
    from runner.run.ledger import Ledger
    from runner.run.preparation import Preparation
    from runner.run.review import Review, Ruling
    from runner.run.site import Assignment
    from runner.writes.log import WriteLog


WAITS_FOR_REVIEW = "waits for your review: runner review"


@dataclass(slots=True)
class Settlement:
    """Settles outcomes one at a time, in the coordinator's thread."""

    ledger: Ledger
    lander: Lander
    preparation: Preparation
    settings: Settings
    write_log: WriteLog
    review: Review
    next_decision: Callable[[int], int]
    """The number of the next decision, after the last in the journal and those in the file."""
    decided: set[tuple[str, Decision]] = field(default_factory=set)
    """Task and decision of what is noted: a proof or an attempt again may tell it again."""
    codes: set[ExitCode] = field(default_factory=set)
    halted: bool = False
    """Whether nothing new may start: the branch is not where the run began."""
    _again: deque[tuple[Assignment, Outcome]] = field(default_factory=deque)
    _recorded: dict[str, tuple[int, tuple[tuple[str, Digest | None], ...]]] = field(
        default_factory=dict
    )
    """Attempt and writes of each task that the write log has last."""

    def next_again(self) -> Assignment | None:
        """Work whose proof has to run again on a moved branch."""
        return self._again.popleft()[0] if self._again else None

    def put_aside(self) -> tuple[str, ...]:
        """Hold what has to be proven again, since this run ends before; gives the tasks."""
        put = tuple(self._again)
        self._again.clear()
        for assignment, outcome in put:
            self._hold(assignment.task, outcome, "conflict", "proven; lands with the next run")
        return tuple(assignment.task.id for assignment, _ in put)

    def settle(self, task: Task, outcome: Outcome) -> bool:
        """Bring one outcome to its end; True when the same work goes on in another proof."""
        match outcome.ending:
            case Ending.PASSED:
                return self._passed(task, outcome)
            case Ending.FAILED | Ending.BLOCKED:
                self._failed(task, outcome)
            case Ending.WAITS:
                self._hold(task, outcome, "review", WAITS_FOR_REVIEW)
            case Ending.INTERRUPTED:
                self.interrupted(task)
        return False

    def interrupted(self, task: Task) -> None:
        """An attempt was ended from outside: it counts for nothing."""
        attempt = self.ledger.state.task(task.id).last_attempt
        event = AttemptFinished(ending=Ending.INTERRUPTED, tree="", seconds=0.0)
        self.ledger.note(event, task=task.id, attempt=attempt, durable=True)

    # --- passed -----------------------------------------------------------------------

    def _passed(self, task: Task, outcome: Outcome) -> bool:
        self._note_finished(task, outcome)
        if not outcome.changes:
            self._done(task, outcome, commit="", tree=outcome.tree)
            return False
        ruling = self.ruling(task, outcome)
        match ruling.answer:
            case Answer.WAITS:
                self._hold(task, outcome, "review", WAITS_FOR_REVIEW)
                return False
            case Answer.REJECTED if ruling.standing:
                failed = replace(outcome, ending=Ending.FAILED, findings=ruling.findings)
                implementer = self._implementer(task)
                same = implementer is None or implementer.repeatable
                self._try_again(task, failed, same=same)
                return False
            case Answer.REJECTED:
                self._rejected(task, outcome, ruling.findings)
                return False
            case Answer.EDITED:
                return self._take_edit(task, outcome, ruling.changes)
        self._note_decisions(task, outcome)
        self._record_writes(task, outcome, ruling.how)
        return self._land(task, outcome, ruling.how)

    def _record_writes(self, task: Task, outcome: Outcome, how: str) -> None:
        """Write down what was approved, once an attempt: a second proof approves nothing new."""
        writes = tuple((change.path, change.after) for change in outcome.changes)
        if self._recorded.get(task.id) == (outcome.attempt, writes):
            return
        self.write_log.record(
            outcome.changes,
            run=self.ledger.run,
            task=task.id,
            attempt=outcome.attempt,
            review=Approval(how),
        )
        self._recorded[task.id] = (outcome.attempt, writes)

    def ruling(self, task: Task, outcome: Outcome) -> Ruling:
        """Whether these writes may land, by whom the task's review asks."""
        mode = self.preparation.review_mode(task)
        before = partial(self._before, outcome.base)
        return self.review.rule(task, outcome.attempt, outcome.changes, mode, before)

    def _before(self, base: str, path: str) -> bytes | None:
        return self.lander.repository.blob(base, path) if base else None

    def _take_edit(self, task: Task, outcome: Outcome, changes: tuple[Change, ...]) -> bool:
        """A person's edit goes through the whole pipeline and proof, and is then shown again."""
        self.preparation.edits[task.id] = changes
        carried = self.preparation.carried(task, changes, outcome.base, outcome.attempt)
        self._again.append((carried, outcome))
        return True

    def _implementer(self, task: Task) -> Implementer | None:
        chosen = self.preparation.implementer(task)
        return None if isinstance(chosen, Finding) else chosen

    def _land(self, task: Task, outcome: Outcome, how: str) -> bool:
        match self._landed(task, outcome, how):
            case Landed(commit, tree, late):
                self._close_writes(outcome, Fate.LANDED, commit)
                note = f"kept your own {', '.join(late)}" if late else ""
                self._done(task, outcome, commit=commit, tree=tree, note=note)
                if task.id in self.preparation.released:
                    drafts.let_go(self.lander.repository, task.id)
                    self.lander.staging.remove(self.lander.staging.list(task.id))
                return False
            case Moved(base):
                return self._prove_again(task, outcome, base)
            case Conflict(base, paths):
                self._conflict(task, outcome, base, paths)
            case InTheWay(paths):
                shown = ", ".join(paths)
                self._hold(task, outcome, "in-the-way", f"your own changes are in the way: {shown}")
            case Filtered(paths):
                note = f"git filters (LFS) {', '.join(paths)}: a task cannot write it"
                self._block(task, outcome, Reason.POLICY, note)
            case Elsewhere(message):
                self._hold(task, outcome, "conflict", message)
                self.codes.add(ExitCode.CONFLICT)
                self.halted = True
        return False

    def _landed(self, task: Task, outcome: Outcome, how: str) -> Result:
        """Land; where that cannot even begin (a key that does not sign), the work is held."""
        try:
            return self.lander.land(task, outcome, how)
        except RunnerError as error:
            if self.ledger.state.landing is None:
                self._hold(task, outcome, "conflict", error.message)
            raise

    def _close_writes(self, outcome: Outcome, fate: Fate, commit: str = "") -> None:
        self.write_log.close(
            run=self.ledger.run,
            task=outcome.task,
            attempt=outcome.attempt,
            fate=fate,
            commit=commit,
        )

    def _prove_again(self, task: Task, outcome: Outcome, base: str) -> bool:
        """The branch moved and nobody touched these files: the same bytes are proven there."""
        carried = self.preparation.carried(task, outcome.changes, base, outcome.attempt)
        self._again.append((carried, outcome))
        return True

    def _conflict(self, task: Task, outcome: Outcome, base: str, paths: tuple[str, ...]) -> None:
        findings = conflicts(paths, base)
        self._close_writes(outcome, Fate.DROPPED)
        self._try_again(task, replace(outcome, ending=Ending.FAILED, findings=findings), same=False)

    def _rejected(self, task: Task, outcome: Outcome, findings: tuple[Finding, ...]) -> None:
        """A person's no is the next attempt's brief; it does not count as a failed attempt."""
        failed = replace(outcome, ending=Ending.FAILED, findings=findings)
        self.preparation.remember(outcome, partial(self._before, outcome.base))
        self.ledger.note(TaskFailed(findings=findings), task=task.id, attempt=outcome.attempt)
        implementer = self._implementer(task)
        if implementer is None or implementer.repeatable:
            self._block(task, failed, Reason.REVIEW, findings[0].message)
            return
        self.ledger.note(TaskApproved(by="review", note="try again"), task=task.id)

    def _hold(self, task: Task, outcome: Outcome, kind: str, note: str) -> None:
        """Keep proven bytes for later: they land without calling the implementer again."""
        ref = drafts.hold(self.lander.repository, task, outcome)
        self.lander.staging.stage(
            outcome.changes, run=self.ledger.run, task=task.id, attempt=outcome.attempt
        )
        self._note_finished(task, outcome, held=kind, ref=ref)
        self._note_decisions(task, outcome)
        event = TaskBlocked(reason=Reason.REVIEW, note=note)
        self.ledger.note(event, task=task.id, attempt=outcome.attempt, durable=True)

    def _done(
        self, task: Task, outcome: Outcome, *, commit: str, tree: str, note: str = ""
    ) -> None:
        self._note_decisions(task, outcome)
        self.ledger.note(
            TaskDone(
                spec=task.spec,
                commit=commit,
                tree=tree,
                proofs=outcome.proofs,
                patterns=self.preparation.applied.get(task.id, ()),
                note="; ".join(part for part in (note, not_run(task)) if part),
            ),
            task=task.id,
            attempt=outcome.attempt,
            durable=True,
        )

    def _note_decisions(self, task: Task, outcome: Outcome) -> None:
        """Keep what was decided, once a run and its crashes, before anything of it lands."""
        for decision in outcome.decisions:
            if (task.id, decision) in self.decided:
                continue
            self.decided.add((task.id, decision))
            number = self.next_decision(self.ledger.state.decisions)
            event = DecisionMade(number=number, decision=decision)
            self.ledger.note(event, task=task.id, attempt=outcome.attempt, durable=True)

    # --- not passed -------------------------------------------------------------------

    def _failed(self, task: Task, outcome: Outcome) -> None:
        refusals = [finding for finding in outcome.findings if finding.refuses]
        by_review = bool(refusals) and all(one.check == review.CHECK for one in refusals)
        if by_review and self.preparation.review_mode(task) is ReviewMode.PROMPT:
            self._note_finished(task, outcome)
            self._rejected(task, outcome, tuple(refusals))
            return
        same = outcome.ending is Ending.BLOCKED
        implementer = self._implementer(task)
        self._try_again(task, outcome, same=same or implementer is None or implementer.repeatable)

    def _try_again(self, task: Task, outcome: Outcome, *, same: bool) -> None:
        """Leave the task PENDING for the next attempt, or block it where none can help."""
        self._note_finished(task, outcome)
        self.preparation.remember(outcome, partial(self._before, outcome.base))
        tries = self.ledger.state.task(task.id).attempts_in_row
        if outcome.ending is Ending.BLOCKED:
            self._block(task, outcome, outcome.reason or Reason.CHECKS, _what_failed(outcome, 1))
        elif same or tries >= (task.budget.attempts or self.settings.attempts):
            self._block(task, outcome, Reason.CHECKS, _what_failed(outcome, tries))
        elif self._minutes_are_used_up(task):
            note = f"{_what_failed(outcome, tries)}; out of time"
            self._block(task, outcome, Reason.CHECKS, note)
            self.codes.add(ExitCode.STOPPED)

    def _minutes_are_used_up(self, task: Task) -> bool:
        minutes = task.budget.minutes or self.settings.minutes
        return self.ledger.state.task(task.id).seconds_in_row >= minutes * 60

    def _block(self, task: Task, outcome: Outcome, reason: Reason, note: str) -> None:
        branch = drafts.keep_draft(self.lander.repository, task, outcome)
        note = f"{note}; work kept on {branch}" if branch else note
        self.ledger.note(
            TaskBlocked(reason=reason, note=note, draft=branch, findings=outcome.findings),
            task=task.id,
            attempt=outcome.attempt,
            durable=True,
        )

    def _note_finished(
        self, task: Task, outcome: Outcome, *, held: str = "", ref: str = ""
    ) -> None:
        self.ledger.note(
            AttemptFinished(
                ending=outcome.ending,
                tree=outcome.tree,
                seconds=outcome.seconds,
                reason=outcome.reason,
                findings=outcome.findings,
                proofs=outcome.proofs,
                decisions=len(outcome.decisions),
                held=held,
                ref=ref,
                summary=outcome.summary,
            ),
            task=task.id,
            attempt=outcome.attempt,
            durable=bool(outcome.changes) or outcome.ending is not Ending.PASSED,
        )


def _what_failed(outcome: Outcome, tries: int) -> str:
    """`TC-003 failed 5 times`, for the status note."""
    checks = list(dict.fromkeys(f.check for f in outcome.findings if f.refuses))
    shown = ", ".join(checks[:3]) + (" …" if len(checks) > 3 else "")  # noqa: PLR2004 - three fit in a line
    times = {1: "", 2: " twice"}.get(tries, f" {tries} times")
    return f"{shown or 'its proof'} failed{times}"
