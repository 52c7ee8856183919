"""What an outcome means: land it, hold it, try again, or give the task to a person."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from runner.errors import ExitCode
from runner.journal.events import (
    AttemptFinished,
    DecisionMade,
    TaskApproved,
    TaskBlocked,
    TaskDone,
    TaskFailed,
)
from runner.model import Ending, Finding, Reason
from runner.run import drafts, review
from runner.run.lander import Conflict, Elsewhere, InTheWay, Landed, Moved
from runner.run.review import Answer
from runner.writes.log import Fate, Review

if TYPE_CHECKING:
    from runner.config.settings import Settings
    from runner.implementers.base import Implementer
    from runner.model import Outcome, Task
    from runner.run.attempt import Assignment
    from runner.run.lander import Lander
    from runner.run.ledger import Ledger
    from runner.run.preparation import Preparation
    from runner.run.review import Asker
    from runner.writes.log import WriteLog


@dataclass(slots=True)
class Settlement:
    """Settles outcomes one at a time, in the coordinator's thread."""

    ledger: Ledger
    lander: Lander
    preparation: Preparation
    settings: Settings
    write_log: WriteLog
    asker: Asker | None
    review_insisted: bool = False
    codes: set[ExitCode] = field(default_factory=set)
    halted: bool = False
    """Whether nothing new may start: the branch is not where the run began."""
    _again: deque[Assignment] = field(default_factory=deque)

    def next_again(self) -> Assignment | None:
        """Work whose proof has to run again on a moved branch."""
        return self._again.popleft() if self._again else None

    def settle(self, task: Task, outcome: Outcome) -> bool:
        """Bring one outcome to its end; True when the same work goes on in another proof."""
        match outcome.ending:
            case Ending.PASSED:
                return self._passed(task, outcome)
            case Ending.FAILED | Ending.BLOCKED:
                self._failed(task, outcome)
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
        ruling = self._review(task, outcome)
        if ruling.answer is Answer.WAITS:
            self._hold(task, outcome, "review", "waits for your review: runner review")
            return False
        if ruling.answer is Answer.REJECTED:
            self._rejected(task, outcome, ruling.findings)
            return False
        self.write_log.record(
            outcome.changes,
            run=self.ledger.run,
            task=task.id,
            attempt=outcome.attempt,
            review=Review(ruling.how),
        )
        return self._land(task, outcome, ruling.how)

    def _review(self, task: Task, outcome: Outcome) -> review.Ruling:
        implementer = self._implementer(task)
        mode = review.mode_for(task, implementer, self.settings, terminal=self.asker is not None)
        return review.rule(
            task,
            outcome.attempt,
            outcome.changes,
            mode,
            ledger=self.ledger,
            asker=self.asker,
            insisted=self.review_insisted,
        )

    def _implementer(self, task: Task) -> Implementer | None:
        chosen = self.preparation.implementer(task)
        return None if isinstance(chosen, Finding) else chosen

    def _land(self, task: Task, outcome: Outcome, how: str) -> bool:
        result = self.lander.land(task, outcome, how)
        match result:
            case Landed(commit, tree, late):
                self._close_writes(outcome, Fate.LANDED, commit)
                note = f"kept your own {', '.join(late)}" if late else ""
                self._done(task, outcome, commit=commit, tree=tree, note=note)
                drafts.let_go(self.lander.repository, task.id)
                return False
            case Moved(base):
                return self._prove_again(task, outcome, base)
            case Conflict(base, paths):
                self._conflict(task, outcome, base, paths)
            case InTheWay(paths):
                shown = ", ".join(paths)
                self._hold(task, outcome, "in-the-way", f"your own changes are in the way: {shown}")
            case Elsewhere(message):
                self._hold(task, outcome, "conflict", message)
                self.codes.add(ExitCode.CONFLICT)
                self.halted = True
        return False

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
        self._again.append(self.preparation.carried(task, outcome.changes, base, outcome.attempt))
        return True

    def _conflict(self, task: Task, outcome: Outcome, base: str, paths: tuple[str, ...]) -> None:
        findings = tuple(
            Finding(
                check="conflict",
                path=path,
                message=f"changed on the branch (now {base[:12]}) while the task worked on it",
                hint="build on the file as it is now",
            )
            for path in paths
        )
        self._close_writes(outcome, Fate.DROPPED)
        self._try_again(task, replace(outcome, ending=Ending.FAILED, findings=findings), same=False)

    def _rejected(self, task: Task, outcome: Outcome, findings: tuple[Finding, ...]) -> None:
        """A person's no is the next attempt's brief; it does not count as a failed attempt."""
        failed = replace(outcome, ending=Ending.FAILED, findings=findings)
        self.ledger.note(TaskFailed(findings=findings), task=task.id, attempt=outcome.attempt)
        implementer = self._implementer(task)
        if implementer is None or implementer.repeatable:
            self._block(task, failed, Reason.REVIEW, f"rejected: {findings[0].message}")
            return
        self.ledger.note(TaskApproved(by="review", note="try again"), task=task.id)

    def _hold(self, task: Task, outcome: Outcome, kind: str, note: str) -> None:
        """Keep proven bytes for later: they land without calling the implementer again."""
        ref = drafts.hold(self.lander.repository, task, outcome)
        self.lander.staging.stage(
            outcome.changes, run=self.ledger.run, task=task.id, attempt=outcome.attempt
        )
        self._note_finished(task, outcome, held=kind, ref=ref)
        event = TaskBlocked(reason=Reason.REVIEW, note=note)
        self.ledger.note(event, task=task.id, attempt=outcome.attempt, durable=True)

    def _done(
        self, task: Task, outcome: Outcome, *, commit: str, tree: str, note: str = ""
    ) -> None:
        known = self.ledger.state.task(task.id)
        for decision in outcome.decisions:
            number = self.ledger.state.decisions + 1
            self.ledger.note(DecisionMade(number=number, decision=decision), task=task.id)
        self.ledger.note(
            TaskDone(
                spec=task.spec,
                commit=commit,
                tree=tree,
                proofs=outcome.proofs,
                patterns=known.open_attempt.patterns if known.open_attempt else known.patterns,
                note=note,
            ),
            task=task.id,
            attempt=outcome.attempt,
            durable=True,
        )

    # --- not passed -------------------------------------------------------------------

    def _failed(self, task: Task, outcome: Outcome) -> None:
        same = outcome.ending is Ending.BLOCKED
        implementer = self._implementer(task)
        self._try_again(task, outcome, same=same or implementer is None or implementer.repeatable)

    def _try_again(self, task: Task, outcome: Outcome, *, same: bool) -> None:
        """Leave the task PENDING for the next attempt, or block it where none can help."""
        self._note_finished(task, outcome)
        tries = self.ledger.state.task(task.id).attempts_in_row
        if outcome.ending is Ending.BLOCKED:
            self._block(task, outcome, outcome.reason or Reason.CHECKS, _what_failed(outcome, 1))
        elif same or tries >= (task.budget.attempts or self.settings.attempts):
            self._block(task, outcome, Reason.CHECKS, _what_failed(outcome, tries))

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
            durable=True,
        )


def _what_failed(outcome: Outcome, tries: int) -> str:
    """`TC-003 failed 5 times`, for the status note."""
    checks = list(dict.fromkeys(f.check for f in outcome.findings if f.refuses))
    shown = ", ".join(checks[:3]) + (" …" if len(checks) > 3 else "")  # noqa: PLR2004 - three fit in a line
    times = {1: "", 2: " twice"}.get(tries, f" {tries} times")
    return f"{shown or 'its proof'} failed{times}"
