"""What a run uses, heard from the journal while it goes on: warnings, and what is left."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from runner.journal.events import (
    AttemptFinished,
    TaskApproved,
)
from runner.journal.sessions import (
    PlanProposed,
    ToolCalled,
)
from runner.model import Reason, Status, Usage
from runner.run.limits import (
    budget,
)
from runner.run.limits.budget import WARNED_AT, Spent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Self

    from runner.config.settings import Settings
    from runner.implementers.base import Allowance
    from runner.journal.events import Record
    from runner.journal.state import RunState
    from runner.journal.task_state import TaskState
    from runner.model import Task
    from runner.run.journal_writer import JournalWriter


def _nobody(_text: str) -> None:
    """Hear nothing."""


def reopen_raised(tasks: Iterable[Task], ledger: JournalWriter, settings: Settings) -> None:
    """Let tasks go on that a budget had stopped, where it was raised since."""
    for task in tasks:
        known = ledger.state.task(task.id)
        if known.status is not Status.BLOCKED or known.reason is not Reason.BUDGET:
            continue
        if was_one_attempts(known):
            continue
        limits = budget.of_task(task, settings)
        if known.held is None and budget.find_exhausted(limits, budget.sum_spent(known)) is None:
            event = TaskApproved(by="runner", note="its budget was raised")
            ledger.note(event, task=task.id, durable=True)


def was_one_attempts(known: TaskState) -> bool:
    """Whether limits of single attempts stopped it: of the task's own there may be plenty left."""
    if known.reason is not Reason.BUDGET:
        return False
    ended = [one for one in known.findings if one.check == budget.CHECK and one.refuses]
    return any("attempt" in f"{one.message} {one.hint}" for one in ended) and (
        "; used " not in known.note
    )


@dataclass(slots=True)
class RunBudget:
    """One for each run; its minutes are watched elsewhere, by the clock."""

    settings: Settings
    tasks: Mapping[str, Task]
    say: Callable[[str], None] = _nobody
    usage: Usage = field(default_factory=Usage)
    """Of this run so far."""
    _warned: set[tuple[str, str]] = field(default_factory=set)
    _open: dict[str, Usage] = field(default_factory=dict)
    """What sessions have used that go on, as far as they told."""

    @classmethod
    def at(
        cls,
        ledger: JournalWriter,
        settings: Settings,
        tasks: Iterable[Task],
        say: Callable[[str], None],
    ) -> Self:
        """A purse that hears what is noted from now on."""
        purse = cls(settings, {task.id: task for task in tasks}, say)
        ledger.listen(purse.hear)
        return purse

    def hear(self, record: Record, state: RunState) -> None:
        """Take down what an attempt uses, and warn where a limit comes near."""
        match record.event:
            case ToolCalled(usage=usage):  # not every session tells what it has used so far
                used = usage or self._open.get(record.task, Usage()) + Usage(tool_calls=1)
                self._open[record.task] = used
            case AttemptFinished(usage=usage) | PlanProposed(usage=usage):
                used = usage or Usage()
                self._open.pop(record.task, None)
                self.usage += used
            case _:
                return
        self._look(record, used, state)

    def _look(self, record: Record, used: Usage, state: RunState) -> None:
        """Warn of each limit that comes near, with what goes on counted in."""
        task = self.tasks.get(record.task)
        if task is not None:
            who = f"attempt {record.attempt} of {task.id}"
            self._warn(who, budget.of_attempt(self.settings), used)
            spent = state.task(task.id).spent + self._open.get(task.id, Usage())
            self._warn(task.id, budget.of_task(task, self.settings), spent)
        in_all = sum(self._open.values(), self.usage)
        self._warn("the run", budget.of_run(self.settings), in_all)

    def _warn(self, who: str, limits: budget.Limits, usage: Usage) -> None:
        for one in budget.measures(replace(limits, minutes=None), Spent(usage=usage)):
            if one.is_near and (who, one.name) not in self._warned:
                self._warned.add((who, one.name))
                self.say(f"{who} has used {WARNED_AT:.0%} of a limit and more: {one}")

    @property
    def used_up(self) -> budget.Measure | None:
        """The limit of the run of which nothing is left."""
        return budget.find_exhausted(budget.of_run(self.settings), Spent(usage=self.usage))

    def find_exhausted(self, task: Task, known: TaskState) -> budget.Measure | None:
        """The limit of a task of which nothing is left."""
        return budget.find_exhausted(budget.of_task(task, self.settings), budget.sum_spent(known))

    def allowance(self, task: Task, known: TaskState) -> Allowance:
        """What the next attempt at a task may use; what runs beside it may use as much."""
        return budget.allowance(
            (budget.of_attempt(self.settings), Spent()),
            (budget.of_task(task, self.settings), budget.sum_spent(known)),
            (budget.of_run(self.settings), Spent(usage=self.usage)),
            names=("attempt_", "", "run_"),
        )
