"""Decide after a failed attempt: retry now, retry later, or block the task."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from runner import effects
from runner.errors import ExitCode
from runner.journal.events import TaskBlocked, TaskFailed
from runner.journal.task_state import Try
from runner.model import Ending, Failure, Finding, Reason
from runner.run.limits import budget, failure_policy
from runner.run.limits.budget import Backoff, Scope, chance
from runner.run.review import has_rejection

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from runner.config.settings import Settings
    from runner.implementers.base import Implementer
    from runner.journal.task_state import TaskState
    from runner.model import Outcome, Task
    from runner.run.journal_writer import JournalWriter
    from runner.run.limits.budget import Deadline
    from runner.run.limits.failure_policy import Over
    from runner.run.outcome_recorder import OutcomeRecorder
    from runner.run.preparation import Preparation


CANCELLED = "cancelled by a person"
_TOLD = (Reason.TOOL, Reason.PROOF, Reason.SECRET, Reason.HELD_OUT)
"""Reasons whose first finding is more precise than a general failure."""
_WAS_CANCELLED = " was cancelled"
"""Text of gates and implementers about a command that was cancelled."""


def _nobody(_text: str) -> None:
    """Ignore the text."""


class Retries(Struct):
    """Decides it by the tables of `failure_policy`, `loops` and `budget`; asks no implementer."""

    journal: JournalWriter
    preparation: Preparation
    settings: Settings
    books: OutcomeRecorder
    codes: set[ExitCode]
    blob: Callable[[str, str], bytes | None]
    """Returns the bytes of a path in a commit."""
    say: Callable[[str], None] = _nobody
    backoff: Backoff = field(default_factory=Backoff)
    waiting: dict[str, Outcome] = field(default_factory=dict)
    """Last outcome of each task in back-off."""

    def implementer(self, task: Task) -> Implementer | None:
        """Return the implementer of the next attempt, or None."""
        chosen = self.preparation.implementer(task)
        return None if isinstance(chosen, Finding) else chosen

    def would_repeat(self, task: Task) -> bool:
        """Return whether another attempt would produce identical files."""
        implementer = self.implementer(task)
        adopted = task.id in self.preparation.adopted
        return adopted or implementer is None or implementer.repeatable

    def is_last(self, task: Task, outcome: Outcome) -> bool:
        """Return whether no attempt would follow if a check rejects this one."""
        known = self.journal.state.task(task.id)
        tries = (*known.tries, _make_try(outcome))
        repaired = (
            failure_policy.count_worked(tries) >= failure_policy.COURSES[Failure.SEMANTIC].tries
        )
        if self.would_repeat(task) or len(tries) >= self._most(task):
            return True
        spent = budget.sum_spent(known)
        spent = budget.Spent(spent.seconds + outcome.seconds, spent.usage + outcome.usage)
        if budget.find_exhausted(budget.of_task(task, self.settings), spent):
            return True
        if self._is_agent(task):
            return repaired or _is_stuck(tries)
        return failure_policy.gave_the_same(tries)

    def remember(self, outcome: Outcome) -> None:
        """Save the proposal of an attempt for the next one."""
        self.preparation.remember(outcome, lambda path: self._before(outcome, path))

    def again(
        self, task: Task, outcome: Outcome, *, same: bool, refused_before: bool = False
    ) -> None:
        """Leave the task PENDING for the next attempt, or block it where none can help.

        `refused_before` says that a person has refused these very bytes in an earlier attempt.
        """
        if not same:  # else the draft is made of it at once
            self.books.keep_tried(task, outcome)
        self.books.record_finished(task, outcome)
        self.remember(outcome)
        # After the record: the attempt that just failed is included.
        tries = self.journal.state.task(task.id).tries
        if task.id in self.preparation.adopted:
            self._not_adopted(task, outcome)
        elif outcome.ending is Ending.BLOCKED:
            reason = outcome.reason or Reason.CHECKS
            is_read = bool(outcome.tree) and reason not in _TOLD
            note = describe_failures(outcome, 1) if is_read else _first_refusal(outcome)
            self.books.block(task, outcome, reason, note)
        elif not same and (outcome.failure is not None or self._is_agent(task)):
            self._by_its_class(task, outcome)
        elif same or len(tries) >= self._most(task):
            self._over(task, outcome, Reason.CHECKS, all_failed(outcome, tries))
        elif refused_before or failure_policy.gave_the_same(tries):
            note = f"{all_failed(outcome, tries)}; {_circle(tries)}"
            self._over(task, outcome, Reason.CHECKS, note)
        elif (used := self._find_exhausted(task)) is not None:
            self.stop(task, outcome, f"{all_failed(outcome, tries)}; used {used}")

    def end(self, task: Task, outcome: Outcome, late: Deadline) -> None:
        """Handle an attempt that timed out: it failed, unless the run's own time was up."""
        if late.scope is Scope.RUN:
            self.books.record_finished(task, outcome)
            self.preparation.retry_held(task)
            return
        failed = as_failed(outcome, late)
        if late.scope is Scope.TASK:
            self.books.record_finished(task, failed)
            self.stop(task, failed, str(late))
        else:
            self.again(task, failed, same=self.would_repeat(task))

    def _not_adopted(self, task: Task, outcome: Outcome) -> None:
        """Block a task whose adopted branch did not pass; the branch stays unchanged."""
        branch = self.preparation.adopted[task.id].branch
        note = f"{describe_failures(outcome, 1)} on {branch}"
        reason = outcome.reason or Reason.CHECKS
        event = TaskBlocked(reason=reason, note=note, draft=branch, findings=outcome.findings)
        self.journal.note(event, task=task.id, attempt=outcome.attempt, durable=True)

    def stop(self, task: Task, outcome: Outcome, note: str) -> None:
        """Block a task whose budget is used up; its work is kept until the budget is raised."""
        self.books.block(task, outcome, Reason.BUDGET, note)
        self.codes.add(ExitCode.STOPPED)

    # --- agents, models, and what names the class of its failure ----------------------

    def _by_its_class(self, task: Task, outcome: Outcome) -> None:
        known = self.journal.state.task(task.id)
        turned = chance(self.journal.run, task.id, outcome.attempt)
        asked = outcome.retry_after
        step = failure_policy.after(known.tries, self._most(task), asked=asked, chance=turned)
        looped = failure_policy.has_looped(known.tries)
        if _is_stuck(known.tries):
            note = f"{all_failed(outcome, known.tries)}; {_circle(known.tries)}"
            self.books.block(task, outcome, Reason.STUCK, note)
        elif isinstance(step, failure_policy.Over):
            self._over(task, outcome, step.reason, _why_over(outcome, step, known.tries))
        elif (used := self._find_exhausted(task)) is not None:
            self.stop(task, outcome, f"{all_failed(outcome, known.tries)}; used {used}")
        else:
            if looped:
                self._start_over(task, outcome, known)
            self._wait(task, outcome, max(step.seconds * self.settings.build.backoff, asked))

    def _over(self, task: Task, outcome: Outcome, reason: Reason, note: str) -> None:
        """Block a task after its last attempt, as out of budget if a limit ended that."""
        if _was_ended(outcome):
            self.stop(task, outcome, note)
        else:
            reason = Reason.REVIEW if has_rejection(outcome.findings) else reason
            self.books.block(task, outcome, reason, note)

    def _start_over(self, task: Task, outcome: Outcome, known: TaskState) -> None:
        """Start over: give the next attempt only the repeated failure, not the previous work."""
        self.preparation.forget(task)
        findings = (failure_policy.warning(known.tries), *outcome.findings)
        self.journal.note(TaskFailed(findings=findings), task=task.id, attempt=outcome.attempt)

    def _wait(self, task: Task, outcome: Outcome, seconds: float) -> None:
        if seconds <= 0:
            return
        self.backoff.put(task.id, effects.monotonic() + seconds)
        self.waiting[task.id] = outcome
        self.say(f"{task.id} is retried in {seconds:.1f} s: {_first_refusal(outcome)}")

    def cancel(self, task: Task) -> bool:
        """Give a task that waits for a retry to a person; False if it does not wait."""
        outcome = self.waiting.pop(task.id, None)
        if not self.backoff.drop(task.id) or outcome is None:
            return False
        self.books.block(task, outcome, Reason.REVIEW, CANCELLED)
        return True

    def pause(self, task: Task, outcome: Outcome) -> float | None:
        """Return the seconds before a retry on a held change, or None for no retry.

        As `again` decides it, of an attempt that is in the books; but nobody is blocked here.
        """
        known, looped = self.journal.state.task(task.id), False
        seconds = 0.0 if known.attempts_in_row < self._most(task) else None
        if outcome.failure is not None or self._is_agent(task):
            turned = chance(self.journal.run, task.id, outcome.attempt)
            asked = outcome.retry_after
            step = failure_policy.after(known.tries, self._most(task), asked=asked, chance=turned)
            looped = failure_policy.has_looped(known.tries)
            again = None if _is_stuck(known.tries) else step
            pause = again.seconds if isinstance(again, failure_policy.Again) else None
            seconds = None if pause is None else max(pause * self.settings.build.backoff, asked)
        elif failure_policy.gave_the_same(known.tries):
            seconds = None
        if seconds is None or self.would_repeat(task) or self._find_exhausted(task) is not None:
            return None
        self.remember(outcome)
        if looped:
            self._start_over(task, outcome, known)
        if seconds > 0:
            self.say(f"{task.id} is retried in {seconds:.1f} s: {_first_refusal(outcome)}")
        return seconds

    # --- limits -----------------------------------------------------------------------

    def _is_agent(self, task: Task) -> bool:
        implementer = self.implementer(task)
        return implementer is not None and implementer.is_agent

    def _most(self, task: Task) -> int:
        return task.budget.attempts or self.settings.build.attempts

    def _find_exhausted(self, task: Task) -> budget.Measure | None:
        known = self.journal.state.task(task.id)
        return budget.find_exhausted(budget.of_task(task, self.settings), budget.sum_spent(known))

    def _before(self, outcome: Outcome, path: str) -> bytes | None:
        return self.blob(outcome.base, path) if outcome.base else None


def _make_try(outcome: Outcome) -> Try:
    """Return an attempt as the journal will record it."""
    checks = tuple(sorted({one.check for one in outcome.findings if one.refuses}))
    return Try(outcome.attempt, outcome.tree, checks, outcome.seconds, outcome.failure)


def _is_stuck(tries: Sequence[Try]) -> bool:
    """Return whether the last attempt repeated earlier states too often."""
    looped = failure_policy.has_looped(tries)
    return looped and len(failure_policy.loops(tries)) >= failure_policy.MOST


def as_failed(outcome: Outcome, late: Deadline) -> Outcome:
    """Return an attempt that hit a time limit as a failed one.

    What it did just then was not cancelled by anybody; the finding says so, too.
    """
    hint = "do less at once; move slow commands into a gate"
    finding = Finding(check=budget.CHECK, message=str(late), hint=hint)
    others = tuple(
        replace(one, message=one.message.removesuffix(_WAS_CANCELLED) + " hit this limit", hint="")
        if one.message.endswith(_WAS_CANCELLED)
        else one
        for one in outcome.findings
    )
    return replace(outcome, ending=Ending.FAILED, findings=(finding, *others))


def describe_failures(outcome: Outcome, tries: int) -> str:
    """Return `TC-003 failed 5 times` for the status note; for a limit, what was used up."""
    first = next((one for one in outcome.findings if one.refuses), None)
    if first is not None and first.check == budget.CHECK:
        return first.message + (f" ({tries} attempts)" if tries > 1 else "")
    times = {1: "", 2: " twice"}.get(tries, f" {tries} times")
    return f"{_checks_of(outcome)} failed{times}"


def all_failed(outcome: Outcome, tries: Sequence[Try]) -> str:
    """Return a summary of all failed attempts, of which `outcome` is the last.

    Those that a connection ended failed no check. A check only counts as having failed as often as
    it did.
    """
    worked = [one for one in tries if failure_policy.class_of(one) is Failure.SEMANTIC]
    checks = {one.check for one in outcome.findings if one.refuses}
    if _was_ended(outcome):
        return describe_failures(outcome, sum(budget.CHECK in one.checks for one in worked))
    if all(checks <= set(one.checks) for one in worked):
        return describe_failures(outcome, len(worked))
    return f"{len(worked)} attempts failed, the last because of {_checks_of(outcome)}"


def _circle(tries: Sequence[Try]) -> str:
    """Return what the last attempt repeated."""
    found = failure_policy.loops(tries)
    return found[-1] if found else "the last attempt repeated rejected output"


def _was_ended(outcome: Outcome) -> bool:
    """Return whether a budget limit ended the attempt."""
    first = next((one for one in outcome.findings if one.refuses), None)
    return first is not None and first.check == budget.CHECK


def _checks_of(outcome: Outcome) -> str:
    checks = list(dict.fromkeys(f.check for f in outcome.findings if f.refuses))
    shown = ", ".join(checks[:3]) + (" …" if len(checks) > 3 else "")  # noqa: PLR2004 - three fit in a line
    return shown or "its proof"


def _why_over(outcome: Outcome, over: Over, tries: Sequence[Try]) -> str:
    """Return why no attempt follows; only the checks if the work was at fault."""
    if outcome.failure in (None, Failure.SEMANTIC):
        return all_failed(outcome, tries)
    if outcome.retry_after > failure_policy.LONGEST_ASKED:
        hours = outcome.retry_after / 3600
        return f"{_first_refusal(outcome)}; the service asks to wait {hours:.1f} hours"
    times = f" ({over.tries} times)" if over.tries > 1 else ""
    if over.tries < len(tries):
        times = f" ({over.tries} of {len(tries)} attempts)"
    return f"{_first_refusal(outcome)}{times}"


def _first_refusal(outcome: Outcome) -> str:
    return failure_policy.first_refusal(outcome.findings)
