"""What a run would do, by the very frontier and claims that the run uses: the dry run."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.model import Status
from runner.run.frontier import Frontier

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from runner.journal.state import RunState
    from runner.model import Task
    from runner.plan.graph import TaskGraph
    from runner.run.resource_locks import ResourceLocks

UNKNOWN_SECONDS = 1.0
"""How long a task is taken to last of which nothing is known."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """Order of starts, what starts together, and the longest chain; seconds by past durations."""

    order: tuple[str, ...]
    batches: tuple[tuple[str, ...], ...]
    critical_path: tuple[str, ...]
    seconds: float
    known: bool
    """Whether any of those durations is known."""
    waiting: tuple[str, ...]
    """Selected tasks that would not start: they wait for BLOCKED, STALE or unselected ones."""


def forecast(
    tasks: Mapping[str, Task],
    statuses: Mapping[str, Status],
    selected: Collection[str],
    graph: TaskGraph,
    *,
    seconds: Mapping[str, float],
    claims: ResourceLocks,
    jobs: int,
) -> Forecast:
    """Play the run with every task passing at its first attempt; nothing is left in `claims`."""
    starts = _play(tasks, statuses, selected, graph, seconds=seconds, claims=claims, jobs=jobs)
    order = tuple(id_ for _, id_ in starts)
    open_ones = set(order)
    batches: dict[float, list[str]] = {}
    for at, id_ in _play(tasks, statuses, selected, graph, seconds={}, claims=claims, jobs=jobs):
        batches.setdefault(at, []).append(id_)
    path = _longest(graph, {id_: _lasts(seconds, id_) for id_ in order})
    end = max((at + _lasts(seconds, id_) for at, id_ in starts), default=0.0)
    waiting = tuple(
        id_
        for id_ in tasks
        if id_ in selected and statuses[id_] is Status.PENDING and id_ not in open_ones
    )
    return Forecast(order, tuple(map(tuple, batches.values())), path, end, bool(seconds), waiting)


def estimate_seconds(tasks: Iterable[Task], state: RunState) -> dict[str, float]:
    """How long each task is expected to last: the median of its own past attempts that passed.

    One that never passed is expected to last as the median of its type's tasks, or of all.
    Empty where nothing is known of any.
    """
    tasks = tuple(tasks)
    own = {task.id: past for task in tasks if (past := state.task(task.id).typical_seconds)}
    if not own:
        return {}
    of_type: dict[str, list[float]] = {}
    for task in tasks:
        if task.id in own:
            of_type.setdefault(task.type, []).append(own[task.id])
    of_all = _median(own.values())
    typical = {name: _median(known) for name, known in of_type.items()}
    return {task.id: own.get(task.id) or typical.get(task.type, of_all) for task in tasks}


@dataclass(frozen=True, slots=True)
class Reached:
    """How long a run took, beside the least that its tasks allow; all in seconds."""

    tasks: int
    seconds: float
    longest_path: float
    work: float
    """What all of them took together."""
    jobs: int
    estimate: float
    """What was expected before, by past durations; 0 where nothing was known."""

    @property
    def bound(self) -> float:
        """No order of these tasks with so many at once is quicker."""
        return max(self.longest_path, self.work / max(1, self.jobs))


def make_reached(
    graph: TaskGraph,
    took: Mapping[str, float],
    *,
    seconds: float,
    jobs: int,
    estimate: float,
) -> Reached:
    """What a run came to: `took` are the tasks that it finished, with their own durations."""
    path = sum(took[id_] for id_ in _longest(graph, took))
    return Reached(len(took), seconds, path, sum(took.values()), jobs, estimate)


def _longest(graph: TaskGraph, lasts: Mapping[str, float]) -> tuple[str, ...]:
    """The heaviest chain among these tasks; what else lies on the way counts for nothing."""
    return tuple(id_ for id_ in graph.critical_path(lasts, default=0.0) if id_ in lasts)


def _median(values: Iterable[float]) -> float:
    """The middle one, as a task's own durations have it; `statistics` takes 10 ms to import."""
    found = sorted(values)
    return found[len(found) // 2]


def _lasts(seconds: Mapping[str, float], id_: str) -> float:
    return seconds.get(id_) or UNKNOWN_SECONDS


def _play(
    tasks: Mapping[str, Task],
    statuses: Mapping[str, Status],
    selected: Collection[str],
    graph: TaskGraph,
    *,
    seconds: Mapping[str, float],
    claims: ResourceLocks,
    jobs: int,
) -> list[tuple[float, str]]:
    """Starts as (time, task), on a clock that only this simulation knows; claims are given back."""
    frontier = Frontier(
        tasks.values(), statuses, selected=selected, weight=graph.longest_remaining(seconds)
    )
    ending: list[tuple[float, int, str]] = []
    starts: list[tuple[float, str]] = []
    begun: set[str] = set()
    now = 0.0
    while True:
        while len(ending) < jobs and (task := frontier.take(claims.free_for)) is not None:
            claims.hold(task)
            begun.add(task.id)
            starts.append((now, task.id))
            heapq.heappush(ending, (now + _lasts(seconds, task.id), len(starts), task.id))
        if not ending:
            return starts
        now = ending[0][0]
        while ending and ending[0][0] == now:  # a run hears all that is in hand before it starts
            _, _, id_ = heapq.heappop(ending)
            claims.release(tasks[id_])
            frontier.mark_done(
                id_, lambda waiting: statuses[waiting] is Status.PENDING and waiting not in begun
            )
