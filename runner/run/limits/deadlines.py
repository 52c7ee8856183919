"""When what runs must be over: attempts by their own minutes or their task's, all by the run's."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from runner.run.limits import (
    budget,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.config.settings import Settings
    from runner.journal.task_state import TaskState
    from runner.model import Task


class Scope(StrEnum):
    """Whose minutes they are."""

    ATTEMPT = "attempt"
    TASK = "task"
    RUN = "run"


_USED = {
    Scope.ATTEMPT: "one attempt may take {}, and this one was ended",
    Scope.TASK: "the {} of the task are used up",
    Scope.RUN: "the {} of the run are used up",
}


@dataclass(frozen=True, slots=True)
class Deadline:
    """A time by whatever clock the caller has, in seconds."""

    at: float
    scope: Scope
    minutes: float
    """The limit, as it was set."""

    @property
    def near(self) -> float:
        """When a person is warned of it."""
        return self.at - (1 - budget.WARNED_AT) * self.minutes * budget.MINUTE

    def __str__(self) -> str:
        plural = "" if self.minutes == 1 else "s"
        return _USED[self.scope].format(f"{self.minutes:g} minute{plural}")


def of_attempt(task: Task, known: TaskState, settings: Settings, now: float) -> Deadline | None:
    """When an attempt that starts now must be over; None where nothing is set."""
    own, whole = budget.of_attempt(settings).minutes, budget.of_task(task, settings).minutes
    found = []
    if own is not None:
        found.append(Deadline(now + own * budget.MINUTE, Scope.ATTEMPT, own))
    if whole is not None:
        left = max(0.0, whole * budget.MINUTE - known.seconds_in_row)
        found.append(Deadline(now + left, Scope.TASK, whole))
    return min(found, key=lambda one: one.at, default=None)


def of_run(settings: Settings, now: float) -> Deadline | None:
    """When a run that starts now must be over."""
    minutes = settings.run_minutes
    return Deadline(now + minutes * budget.MINUTE, Scope.RUN, minutes) if minutes else None


@dataclass(slots=True)
class Deadlines:
    """Those of everything that goes on now; knows no clock."""

    _of: dict[str, Deadline] = field(default_factory=dict)
    _warned: set[tuple[str, Scope]] = field(default_factory=set)

    def begin(self, name: str, deadline: Deadline | None) -> None:
        """Something has started that must be over by then."""
        if deadline is not None:
            self._of[name] = deadline

    def over(self, name: str) -> None:
        """It is over."""
        self._of.pop(name, None)

    @property
    def first(self) -> float | None:
        """The next time at which something must be over or comes near; None for none."""
        return min((one.at if told else one.near for _, one, told in self._all()), default=None)

    def _all(self) -> Iterator[tuple[str, Deadline, bool]]:
        """Each with whether it was warned of."""
        for name, one in self._of.items():
            yield name, one, (name, one.scope) in self._warned

    def take_near(self, now: float) -> tuple[tuple[str, Deadline], ...]:
        """What comes near by now, once each, however many attempts a task has."""
        near = tuple((name, one) for name, one, told in self._all() if not told and one.near <= now)
        self._warned.update((name, one.scope) for name, one in near)
        return near

    def take(self, now: float) -> tuple[tuple[str, Deadline], ...]:
        """What should be over by now; it is named once."""
        late = tuple((name, one) for name, one in self._of.items() if one.at <= now)
        for name, _ in late:
            del self._of[name]
        return late
