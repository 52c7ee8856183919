"""The budget of attempts, tasks and runs, and their deadlines and pauses between retries.

Limits and sums are pure values; the use of a run is summed from the journal during the run.
Attempts end by their own minutes or their task's, all by the run's. A task that waits for its
retry holds no slot.
"""

from __future__ import annotations

import heapq
from enum import StrEnum
from itertools import count
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from runner.implementers.base import Allowance
from runner.journal.events import AttemptFinished, TaskApproved
from runner.journal.session_events import PlanProposed, ToolCalled
from runner.model import Reason, Status, Usage
from runner.text.wording import name_attempt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Self

    from runner.config.settings import Settings
    from runner.journal.events import Record
    from runner.journal.state import RunState
    from runner.journal.task_state import TaskState
    from runner.model import Task
    from runner.run.journal_writer import JournalWriter


CHECK = "budget"
"""Check name of a finding that a limit ended an attempt."""
_NOTHING = Usage()
WARNED_AT = 0.8
"""Share of a limit at which a person is warned once."""
MINUTE = 60.0


class BudgetLimits(Struct, frozen=True):
    """The most that may be used; None where nothing is set."""

    minutes: float | None = None
    tokens: int | None = None
    dollars: float | None = None
    tool_calls: int | None = None


_NO_LIMITS = BudgetLimits()


class Spent(Struct, frozen=True):
    """The used budget."""

    seconds: float = 0.0
    usage: Usage = field(default_factory=Usage)


class Measure(NamedTuple):
    """One limit, and how much of it was used, both in the unit of `name`."""

    name: str
    used: float
    limit: float

    @property
    def is_over(self) -> bool:
        """Whether nothing is left."""
        return self.used >= self.limit

    @property
    def is_nearly_used_up(self) -> bool:
        """Whether a person is to be warned."""
        return self.used >= WARNED_AT * self.limit

    def __str__(self) -> str:
        if self.name == "dollars":
            return f"${self.used:.2f} of ${self.limit:.2f}"
        if self.name == "minutes":
            return f"{self.used:.1f} of {self.limit:g} minutes"
        return f"{self.used:,.0f} of {self.limit:,.0f} {self.name}"


def measures(limits: BudgetLimits, spent: Spent) -> Iterator[Measure]:
    """Yield each configured limit with the amount used."""
    rows = (
        ("minutes", spent.seconds / MINUTE, limits.minutes),
        ("tokens", spent.usage.tokens, limits.tokens),
        ("dollars", spent.usage.dollars, limits.dollars),
        ("tool calls", spent.usage.tool_calls, limits.tool_calls),
    )
    yield from (Measure(name, used, limit) for name, used, limit in rows if limit is not None)


def find_exhausted(limits: BudgetLimits, spent: Spent) -> Measure | None:
    """Return the first exhausted limit, or None."""
    return next((one for one in measures(limits, spent) if one.is_over), None)


def allowance(*both: tuple[BudgetLimits, Spent], names: Sequence[str] = ()) -> Allowance:
    """Return what is left of all these limits together: the least of each.

    `names` are what the settings of each of them begin with; empty for the task's own.
    """
    if all(limits == _NO_LIMITS for limits, _ in both):
        return Allowance()
    return Allowance(
        settings=tuple(_settings(both, names)),
        tokens=_whole(_least(limits.tokens, spent.usage.tokens) for limits, spent in both),
        dollars=_smallest(_least(limits.dollars, spent.usage.dollars) for limits, spent in both),
        tool_calls=_whole(
            _least(limits.tool_calls, spent.usage.tool_calls) for limits, spent in both
        ),
        minutes=_smallest(_least(limits.minutes, spent.seconds / MINUTE) for limits, spent in both),
    )


def _settings(
    both: Sequence[tuple[BudgetLimits, Spent]], names: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """Yield the setting that leaves the least of each limit."""
    for of in ("tokens", "dollars", "tool_calls", "minutes"):
        left = []
        for name, (limits, spent) in zip(names, both, strict=False):
            used = spent.seconds / MINUTE if of == "minutes" else getattr(spent.usage, of)
            if (rest := _least(getattr(limits, of), used)) is not None:
                left.append((rest, f"{name}{of}"))
        name = min(left, default=(0.0, ""))[1]
        if name and (name != of or of == "tool_calls"):  # no task has a Budget of tool calls
            yield of, f"budget.{name}"


def _least(limit: float | None, used: float) -> float | None:
    return None if limit is None else max(0.0, limit - used)


def _smallest(left: Iterator[float | None]) -> float | None:
    return min((one for one in left if one is not None), default=None)


def _whole(left: Iterator[float | None]) -> int | None:
    smallest = _smallest(left)
    return None if smallest is None else int(smallest)


# --- whose ----------------------------------------------------------------------------


def of_task(task: Task, settings: Settings) -> BudgetLimits:
    """Return the budget of a task over all attempts, its own or the settings'."""
    own, usual = task.budget, settings.budget
    return BudgetLimits(
        minutes=usual.minutes if own.minutes is None else own.minutes,
        tokens=usual.tokens if own.tokens is None else own.tokens,
        dollars=usual.dollars if own.dollars is None else own.dollars,
        tool_calls=usual.tool_calls,
    )


def of_attempt(settings: Settings) -> BudgetLimits:
    """Return the budget of one attempt."""
    own = settings.budget
    return BudgetLimits(
        own.attempt_minutes, own.attempt_tokens, own.attempt_dollars, own.attempt_tool_calls
    )


def of_run(settings: Settings) -> BudgetLimits:
    """Return the budget of a run over all tasks."""
    own = settings.budget
    return BudgetLimits(own.run_minutes, own.run_tokens, own.run_dollars, own.run_tool_calls)


def sum_spent(known: TaskState) -> Spent:
    """Return what a task has used since it was DONE or a person last released it."""
    return Spent(known.seconds_in_row, known.spent)


def _nobody(_text: str) -> None:
    """Ignore the text."""


def reopen_raised(tasks: Iterable[Task], journal: JournalWriter, settings: Settings) -> None:
    """Reopen tasks that a budget had blocked and whose budget was raised."""
    for task in tasks:
        known = journal.state.task(task.id)
        if known.status is not Status.BLOCKED or known.reason is not Reason.BUDGET:
            continue
        if was_one_attempts(known):
            continue
        limits = of_task(task, settings)
        if known.held is None and find_exhausted(limits, sum_spent(known)) is None:
            event = TaskApproved(by="runner", note="its budget was raised")
            journal.note(event, task=task.id, durable=True)


def was_one_attempts(known: TaskState) -> bool:
    """Return whether limits of a single attempt stopped the task, not the task's own budget."""
    if known.reason is not Reason.BUDGET:
        return False
    ended = [one for one in known.findings if one.check == CHECK and one.refuses]
    return any("attempt" in f"{one.message} {one.hint}" for one in ended) and (
        "; used " not in known.note
    )


class RunBudget(Struct):
    """One for each run; its minutes are watched elsewhere, by the clock."""

    settings: Settings
    tasks: Mapping[str, Task]
    say: Callable[[str], None] = _nobody
    usage: Usage = field(default_factory=Usage)
    """Usage of this run so far."""
    _warned: set[tuple[str, str]] = field(default_factory=set)
    _open: dict[str, Usage] = field(default_factory=dict)
    """Reported usage of open sessions."""

    @classmethod
    def at(
        cls,
        journal: JournalWriter,
        settings: Settings,
        tasks: Mapping[str, Task],
        say: Callable[[str], None],
    ) -> Self:
        """Create a budget that listens to the journal from now on."""
        purse = cls(settings, tasks, say)
        journal.listen(purse.hear)
        return purse

    def hear(self, record: Record, state: RunState) -> None:
        """Record the usage of an attempt, and warn near a limit."""
        match record.event:
            case ToolCalled(usage=usage):  # not every session tells what it has used so far
                used = usage or self._open.get(record.task, Usage()) + Usage(tool_calls=1)
                self._open[record.task] = used
            case AttemptFinished(usage=usage) | PlanProposed(usage=usage):
                used = usage or Usage()
                # The attempt's own total replaces its intermediate reports.
                self._open.pop(record.task, None)
                self.usage += used
            case _:
                return
        self._look(record, used, state)

    def _look(self, record: Record, used: Usage, state: RunState) -> None:
        """Warn of each limit that comes near, with what goes on counted in."""
        if used == _NOTHING:
            return  # so nothing came nearer
        task = self.tasks.get(record.task)
        if task is not None:
            who = f"{name_attempt(record.attempt)} of {task.id}"
            self._warn(who, of_attempt(self.settings), used)
            spent = state.task(task.id).spent + self._open.get(task.id, Usage())
            self._warn(task.id, of_task(task, self.settings), spent)
        in_all = sum(self._open.values(), self.usage)
        self._warn("the run", of_run(self.settings), in_all)

    def _warn(self, who: str, limits: BudgetLimits, usage: Usage) -> None:
        for one in measures(replace(limits, minutes=None), Spent(usage=usage)):
            if one.is_nearly_used_up and (who, one.name) not in self._warned:
                self._warned.add((who, one.name))
                self.say(f"{who} has used at least {WARNED_AT:.0%} of a limit: {one}")

    @property
    def used_up(self) -> Measure | None:
        """The limit of the run of which nothing is left."""
        return find_exhausted(of_run(self.settings), Spent(usage=self.usage))

    def find_exhausted(self, task: Task, known: TaskState) -> Measure | None:
        """Return the exhausted limit of a task, or None."""
        return find_exhausted(of_task(task, self.settings), sum_spent(known))

    def allowance(self, task: Task, known: TaskState) -> Allowance:
        """Return the allowance of the next attempt at a task; parallel attempts may use as much."""
        return allowance(
            (of_attempt(self.settings), Spent()),
            (of_task(task, self.settings), sum_spent(known)),
            (of_run(self.settings), Spent(usage=self.usage)),
            names=("attempt_", "", "run_"),
        )


def chance(*of: object) -> float:
    """Return a reproducible number in [0, 1) for jitter, from run and attempt."""
    return Random("/".join(map(str, of))).random()  # noqa: S311 - no secret depends on it


class Backoff(Struct):
    """Knows no clock: times are seconds of whatever clock the caller has."""

    _due: list[tuple[float, int, str]] = field(default_factory=list)
    _order: Iterator[int] = field(default_factory=count)

    def put(self, task: str, at: float) -> None:
        """Delay a task until a time."""
        heapq.heappush(self._due, (at, next(self._order), task))

    def drop(self, task: str) -> bool:
        """Stop delaying a task; False if it was not delayed."""
        kept = [one for one in self._due if one[2] != task]
        dropped = len(kept) < len(self._due)
        self._due = kept
        heapq.heapify(self._due)
        return dropped

    def __contains__(self, task: str) -> bool:
        return any(waiting == task for _, _, waiting in self._due)

    def __bool__(self) -> bool:
        return bool(self._due)

    @property
    def first(self) -> float | None:
        """When the next task may start; None where none waits."""
        return self._due[0][0] if self._due else None

    def take(self, now: float) -> tuple[str, ...]:
        """Take the tasks that are due, earliest first."""
        taken = []
        while self._due and self._due[0][0] <= now:
            taken.append(heapq.heappop(self._due)[2])
        return tuple(taken)


class Scope(StrEnum):
    """Whose minutes they are."""

    ATTEMPT = "attempt"
    TASK = "task"
    RUN = "run"


_USED = {
    Scope.ATTEMPT: "the attempt was stopped at its limit of {}",
    Scope.TASK: "the task has used its limit of {}",
    Scope.RUN: "the run has used its limit of {}",
}


class Deadline(Struct, frozen=True):
    """A time by whatever clock the caller has, in seconds."""

    at: float
    scope: Scope
    minutes: float
    """Configured limit."""

    @property
    def near(self) -> float:
        """When a person is warned of it."""
        return self.at - (1 - WARNED_AT) * self.minutes * MINUTE

    def __str__(self) -> str:
        plural = "" if self.minutes == 1 else "s"
        return _USED[self.scope].format(f"{self.minutes:g} minute{plural}")


def limit_attempt(task: Task, known: TaskState, settings: Settings, now: float) -> Deadline | None:
    """Return the deadline of an attempt that starts now, or None."""
    own, whole = of_attempt(settings).minutes, of_task(task, settings).minutes
    found = []
    if own is not None:
        found.append(Deadline(now + own * MINUTE, Scope.ATTEMPT, own))
    if whole is not None:
        left = max(0.0, whole * MINUTE - known.seconds_in_row)
        found.append(Deadline(now + left, Scope.TASK, whole))
    return min(found, key=lambda one: one.at, default=None)


def limit_run(settings: Settings, now: float) -> Deadline | None:
    """Return the deadline of a run that starts now, or None."""
    minutes = settings.budget.run_minutes
    return Deadline(now + minutes * MINUTE, Scope.RUN, minutes) if minutes else None


class Deadlines(Struct):
    """Those of everything that goes on now; knows no clock."""

    _of: dict[str, Deadline] = field(default_factory=dict)
    _warned: set[tuple[str, Scope]] = field(default_factory=set)

    def begin(self, name: str, deadline: Deadline | None) -> None:
        """Set the deadline of something that has started."""
        if deadline is not None:
            self._of[name] = deadline

    def over(self, name: str) -> None:
        """Remove the deadline of something that has ended."""
        self._of.pop(name, None)

    @property
    def first(self) -> float | None:
        """The next time at which something must be over or comes near; None for none."""
        return min((one.at if sent else one.near for _, one, sent in self._all()), default=None)

    def _all(self) -> Iterator[tuple[str, Deadline, bool]]:
        """Yield each deadline with whether its warning was sent."""
        for name, one in self._of.items():
            yield name, one, (name, one.scope) in self._warned

    def take_near(self, now: float) -> tuple[tuple[str, Deadline], ...]:
        """Return the deadlines that are near, each once."""
        near = tuple((name, one) for name, one, sent in self._all() if not sent and one.near <= now)
        self._warned.update((name, one.scope) for name, one in near)
        return near

    def take(self, now: float) -> tuple[tuple[str, Deadline], ...]:
        """Remove and return the deadlines that have passed."""
        late = tuple((name, one) for name, one in self._of.items() if one.at <= now)
        for name, _ in late:
            del self._of[name]
        return late
