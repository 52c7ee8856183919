"""After an attempt that did not pass: another one, now or later, or the task is BLOCKED."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from runner import effects
from runner.errors import ExitCode
from runner.journal.events import TaskBlocked, TaskFailed
from runner.model import Ending, Failure, Finding, Reason
from runner.run.limits import (
    budget,
    failures,
    loops,
)
from runner.run.limits.backoff import Backoff, chance
from runner.run.limits.deadlines import Scope

if TYPE_CHECKING:
    from collections.abc import Callable

    from runner.config.settings import Settings
    from runner.implementers.base import Implementer
    from runner.journal.task_state import TaskState
    from runner.model import Outcome, Task
    from runner.run.books import Books
    from runner.run.ledger import Ledger
    from runner.run.limits.deadlines import Deadline
    from runner.run.limits.failures import Over
    from runner.run.preparation import Preparation


def _nobody(_text: str) -> None:
    """Hear nothing."""


@dataclass(slots=True)
class Retries:
    """Decides it by the tables of `failures`, `loops` and `budget`; asks no implementer."""

    ledger: Ledger
    preparation: Preparation
    settings: Settings
    books: Books
    codes: set[ExitCode]
    blob: Callable[[str, str], bytes | None]
    """The bytes of a path in a commit."""
    say: Callable[[str], None] = _nobody
    backoff: Backoff = field(default_factory=Backoff)

    def implementer(self, task: Task) -> Implementer | None:
        """Who would be called again."""
        chosen = self.preparation.implementer(task)
        return None if isinstance(chosen, Finding) else chosen

    def gives_the_same(self, task: Task) -> bool:
        """Whether another attempt would come to the same bytes."""
        implementer = self.implementer(task)
        adopted = task.id in self.preparation.adopted
        return adopted or implementer is None or implementer.repeatable

    def is_last(self, task: Task) -> bool:
        """Whether no further attempt would follow if this one is refused by a check."""
        tries = self.ledger.state.task(task.id).tries
        repaired = failures.worked(tries) + 1 >= failures.COURSES[Failure.SEMANTIC].tries
        if self._is_agent(task) and repaired:
            return True
        return self.gives_the_same(task) or len(tries) + 1 >= self._most(task)

    def remember(self, outcome: Outcome) -> None:
        """Keep what the attempt proposed, for the next one to read."""
        self.preparation.remember(outcome, lambda path: self._before(outcome, path))

    def again(self, task: Task, outcome: Outcome, *, same: bool) -> None:
        """Leave the task PENDING for the next attempt, or block it where none can help."""
        self.books.finished(task, outcome)
        self.remember(outcome)
        tries = self.ledger.state.task(task.id).attempts_in_row
        if task.id in self.preparation.adopted:
            self._not_adopted(task, outcome)
        elif outcome.ending is Ending.BLOCKED:
            reason = outcome.reason or Reason.CHECKS
            self.books.block(task, outcome, reason, what_failed(outcome, 1))
        elif not same and (outcome.failure is not None or self._is_agent(task)):
            self._by_its_class(task, outcome)
        elif same or tries >= self._most(task):
            self.books.block(task, outcome, Reason.CHECKS, what_failed(outcome, tries))
        elif (used := self._used_up(task)) is not None:
            self.stop(task, outcome, f"{what_failed(outcome, tries)}; used {used}")

    def ended(self, task: Task, outcome: Outcome, late: Deadline) -> None:
        """Its time was up: the attempt failed, unless it was the run's time and no fault of it."""
        if late.scope is Scope.RUN:
            self.books.finished(task, outcome)
            self.preparation.interrupted(task)
            return
        failed = _ended_by(outcome, str(late))
        if late.scope is Scope.TASK:
            self.books.finished(task, failed)
            self.stop(task, failed, str(late))
        else:
            self.again(task, failed, same=self.gives_the_same(task))

    def _not_adopted(self, task: Task, outcome: Outcome) -> None:
        """A person's own branch did not pass: it stays as it is, and nobody works on instead."""
        branch = self.preparation.adopted[task.id].branch
        note = f"{what_failed(outcome, 1)} on {branch}"
        reason = outcome.reason or Reason.CHECKS
        event = TaskBlocked(reason=reason, note=note, draft=branch, findings=outcome.findings)
        self.ledger.note(event, task=task.id, attempt=outcome.attempt, durable=True)

    def stop(self, task: Task, outcome: Outcome, note: str) -> None:
        """A budget is used up: the work is kept, and goes on where the budget is raised."""
        self.books.block(task, outcome, Reason.BUDGET, note)
        self.codes.add(ExitCode.STOPPED)

    # --- agents, models, and what names the class of its failure ----------------------

    def _by_its_class(self, task: Task, outcome: Outcome) -> None:
        known = self.ledger.state.task(task.id)
        turned = chance(self.ledger.run, task.id, outcome.attempt)
        asked = outcome.retry_after
        step = failures.after(known.tries, self._most(task), asked=asked, chance=turned)
        looped = loops.has_looped(known.tries)
        if looped and len(loops.loops(known.tries)) >= loops.MOST:
            self._stuck(task, outcome, known)
        elif isinstance(step, failures.Over):
            self.books.block(task, outcome, step.reason, _why_over(outcome, step))
        elif (used := self._used_up(task)) is not None:
            failed = what_failed(outcome, failures.worked(known.tries))
            self.stop(task, outcome, f"{failed}; used {used}")
        else:
            if looped:
                self._begin_anew(task, outcome, known)
            self._wait(task, outcome, max(step.seconds * self.settings.backoff, asked))

    def _stuck(self, task: Task, outcome: Outcome, known: TaskState) -> None:
        failed = what_failed(outcome, failures.worked(known.tries))
        note = f"{failed}; {loops.loops(known.tries)[-1]}"
        self.books.block(task, outcome, Reason.STUCK, note)

    def _begin_anew(self, task: Task, outcome: Outcome, known: TaskState) -> None:
        """The next attempt is told what repeated, and sees nothing of what it did before."""
        self.preparation.forget(task)
        findings = (loops.warning(known.tries), *outcome.findings)
        self.ledger.note(TaskFailed(findings=findings), task=task.id, attempt=outcome.attempt)

    def _wait(self, task: Task, outcome: Outcome, seconds: float) -> None:
        if seconds <= 0:
            return
        self.backoff.put(task.id, effects.monotonic() + seconds)
        self.say(f"{task.id} is tried again in {seconds:.1f} s: {_first_refusal(outcome)}")

    # --- limits -----------------------------------------------------------------------

    def _is_agent(self, task: Task) -> bool:
        implementer = self.implementer(task)
        return implementer is not None and implementer.is_agent

    def _most(self, task: Task) -> int:
        return task.budget.attempts or self.settings.attempts

    def _used_up(self, task: Task) -> budget.Measure | None:
        known = self.ledger.state.task(task.id)
        return budget.used_up(budget.of_task(task, self.settings), budget.spent_on(known))

    def _before(self, outcome: Outcome, path: str) -> bytes | None:
        return self.blob(outcome.base, path) if outcome.base else None


def _ended_by(outcome: Outcome, said: str) -> Outcome:
    """An attempt that was ended from outside since its time was up, as one that failed."""
    hint = "do less at once; a command that takes long belongs into a gate"
    finding = Finding(check=budget.CHECK, message=said, hint=hint)
    return replace(outcome, ending=Ending.FAILED, findings=(finding, *outcome.findings))


def what_failed(outcome: Outcome, tries: int) -> str:
    """`TC-003 failed 5 times`, for the status note."""
    checks = list(dict.fromkeys(f.check for f in outcome.findings if f.refuses))
    shown = ", ".join(checks[:3]) + (" …" if len(checks) > 3 else "")  # noqa: PLR2004 - three fit in a line
    times = {1: "", 2: " twice"}.get(tries, f" {tries} times")
    return f"{shown or 'its proof'} failed{times}"


def _why_over(outcome: Outcome, over: Over) -> str:
    """What stood in the way; the checks alone say it where the work was at fault."""
    if outcome.failure in (None, Failure.SEMANTIC):
        return what_failed(outcome, over.tries)
    if outcome.retry_after > failures.LONGEST_ASKED:
        hours = outcome.retry_after / 3600
        return f"{_first_refusal(outcome)}; it asks to wait {hours:.1f} hours"
    times = f" ({over.tries} times)" if over.tries > 1 else ""
    return f"{_first_refusal(outcome)}{times}"


def _first_refusal(outcome: Outcome) -> str:
    refusals = (one.message for one in outcome.findings if one.refuses)
    return next(refusals, "it did not pass").splitlines()[0][:160]
