"""Deadlines of runs and attempts, and the time of the next retry.

Attempts end by their own minutes or their task's, all by the run's. Tasks that are tried again at a
later time hold no slot, and nobody waits for them.
"""

from __future__ import annotations

import heapq
from enum import StrEnum
from itertools import count
from random import Random
from typing import TYPE_CHECKING

from msgspec import Struct, field

from runner.run.limits import budget

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.config.settings import Settings
    from runner.journal.task_state import TaskState
    from runner.model import Task


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
        return self.at - (1 - budget.WARNED_AT) * self.minutes * budget.MINUTE

    def __str__(self) -> str:
        plural = "" if self.minutes == 1 else "s"
        return _USED[self.scope].format(f"{self.minutes:g} minute{plural}")


def of_attempt(task: Task, known: TaskState, settings: Settings, now: float) -> Deadline | None:
    """Return the deadline of an attempt that starts now, or None."""
    own, whole = budget.of_attempt(settings).minutes, budget.of_task(task, settings).minutes
    found = []
    if own is not None:
        found.append(Deadline(now + own * budget.MINUTE, Scope.ATTEMPT, own))
    if whole is not None:
        left = max(0.0, whole * budget.MINUTE - known.seconds_in_row)
        found.append(Deadline(now + left, Scope.TASK, whole))
    return min(found, key=lambda one: one.at, default=None)


def of_run(settings: Settings, now: float) -> Deadline | None:
    """Return the deadline of a run that starts now, or None."""
    minutes = settings.budget.run_minutes
    return Deadline(now + minutes * budget.MINUTE, Scope.RUN, minutes) if minutes else None


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
