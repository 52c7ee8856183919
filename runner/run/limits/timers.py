"""The coordinator's timers: deadlines, retries, and the end of the run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field

from runner import effects
from runner.run.limits import (
    budget,
)
from runner.run.limits.budget import Deadlines, Scope, limit_attempt
from runner.run.workers import Finished

if TYPE_CHECKING:
    from runner.model import Task
    from runner.run.limits.budget import Backoff, Deadline
    from runner.run.outcomes import OutcomeHandler
    from runner.run.workers import Message, WorkerPool

_SECOND = 1.0
_THE_RUN = ""
"""Key of the run's own deadline."""


class Timers(Struct):
    """Asks the clock of `effects` alone, so that a simulation can run it; nobody is held up."""

    workers: WorkerPool
    settlement: OutcomeHandler
    used_up: str = ""
    """Budget of the run that is exhausted, as text: then nothing new starts."""
    _deadlines: Deadlines = field(default_factory=Deadlines)

    @property
    def backoff(self) -> Backoff:
        """Tasks that are tried again later."""
        return self.settlement.retries.backoff

    def begin(self, run: Deadline | None) -> None:
        """Set the deadline of the run at its start."""
        self._deadlines.begin(_THE_RUN, run)

    def start_attempt(self, task: Task) -> None:
        """Set the deadline of an attempt at its start, from the minutes left to it."""
        settled = self.settlement
        known, now = settled.journal.state.task(task.id), effects.monotonic()
        self._deadlines.begin(task.id, limit_attempt(task, known, settled.settings, now))

    def over(self, task: Task) -> None:
        """Remove the deadline of an attempt that ended without a worker."""
        self._deadlines.over(task.id)

    def take_due(self) -> tuple[str, ...]:
        """Take the tasks whose retry is due."""
        due = self.backoff.take(effects.monotonic()) if self.backoff else ()
        for id_ in due:
            self.settlement.retries.waiting.pop(id_, None)
        return due

    def cancel(self, task: Task) -> bool:
        """Cancel a task; return whether it waited for a retry and is BLOCKED now."""
        if task.id in self.workers.working:  # its pause was over just before
            self.workers.end(task.id)
            return False
        return self.settlement.retries.cancel(task)

    def wait(self, upkeep: float | None = None) -> Message | None:
        """Return the next message, or None when a deadline, retry or `upkeep` is due.

        `upkeep` is when something is to be written that no news may come for; what could not be
        by then is looked at again each second.
        """
        if upkeep is not None:
            upkeep = max(upkeep, effects.monotonic() + _SECOND)
        batch = self.settlement.batch.due_at
        wanted = (self._deadlines.first, self.backoff.first, upkeep, batch)
        times = [at for at in wanted if at is not None]
        seconds = max(0.0, min(times) - effects.monotonic()) if times else None
        message = self.workers.wait(seconds)
        if isinstance(message, Finished):
            self._deadlines.over(message.task)
        if times:
            self._check_deadlines(effects.monotonic())
        return message

    def _check_deadlines(self, now: float) -> None:
        """Warn of what comes near its end, and end what has come to it."""
        for name, near in self._deadlines.take_near(now):
            who, share = name or "the run", budget.WARNED_AT
            self.settlement.say(f"{who} has used {share:.0%} of {near.minutes:g} minutes")
        for name, late in self._deadlines.take(now):
            self._end(name, late)

    def _end(self, name: str, late: Deadline) -> None:
        """End an attempt at its deadline, or all running ones at the run's own deadline."""
        if late.scope is Scope.RUN:
            self.used_up = str(late)
        for id_ in self.workers.working if late.scope is Scope.RUN else (name,):
            self.settlement.overdue[id_] = late
            self._deadlines.over(id_)
            self.workers.end(id_)

    def check_budget(self) -> None:
        """Start nothing more where a budget of the run is used up."""
        purse = self.settlement.preparation.purse
        used = purse.used_up if purse is not None else None
        if used is not None:
            self.used_up = self.used_up or f"the run's budget is used up: {used}"
