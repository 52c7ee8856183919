"""What a run would do, by the very frontier and claims that the run uses: the dry run."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.model import Status
from runner.run.claims import Claims
from runner.run.frontier import Frontier

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from runner.model import Task
    from runner.plan.graph import TaskGraph

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
    capacity: Mapping[str, float],
    jobs: int,
) -> Forecast:
    """Play the run with every task passing at its first attempt."""
    starts = _play(tasks, statuses, selected, graph, seconds=seconds, capacity=capacity, jobs=jobs)
    order = tuple(id_ for _, id_ in starts)
    open_ones = set(order)
    batches: dict[float, list[str]] = {}
    for at, id_ in _play(
        tasks, statuses, selected, graph, seconds={}, capacity=capacity, jobs=jobs
    ):
        batches.setdefault(at, []).append(id_)
    path = tuple(id_ for id_ in graph.critical_path(seconds) if id_ in open_ones)
    end = max((at + _lasts(seconds, id_) for at, id_ in starts), default=0.0)
    waiting = tuple(
        id_
        for id_ in tasks
        if id_ in selected and statuses[id_] is Status.PENDING and id_ not in open_ones
    )
    return Forecast(order, tuple(map(tuple, batches.values())), path, end, bool(seconds), waiting)


def _lasts(seconds: Mapping[str, float], id_: str) -> float:
    return seconds.get(id_) or UNKNOWN_SECONDS


def _play(
    tasks: Mapping[str, Task],
    statuses: Mapping[str, Status],
    selected: Collection[str],
    graph: TaskGraph,
    *,
    seconds: Mapping[str, float],
    capacity: Mapping[str, float],
    jobs: int,
) -> list[tuple[float, str]]:
    """Starts as (time, task), on a clock that only this simulation knows."""
    frontier = Frontier(
        tasks.values(), statuses, selected=selected, weight=graph.longest_remaining(seconds)
    )
    claims = Claims(dict(capacity))
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
        now, _, id_ = heapq.heappop(ending)
        claims.release(tasks[id_])
        frontier.done(
            id_, lambda waiting: statuses[waiting] is Status.PENDING and waiting not in begun
        )
