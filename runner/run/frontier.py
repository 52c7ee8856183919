"""Compute the tasks that may start now, for a run and for its dry run."""

from __future__ import annotations

import heapq
from array import array
from typing import TYPE_CHECKING

from msgspec import Struct

from runner.model import Status
from runner.plan.graph import TaskGraph

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from runner.journal.state import RunState
    from runner.model import Task
    from runner.run.resource_locks import ResourceLocks


_MIDDLE = 2
"""Rank of a task without a Priority."""


class Frontier:
    """The tasks of one run that are not finished; knows no clock, disk or thread.

    A task is ready when it is PENDING and all it depends on is DONE. Ready tasks come out longest
    remaining path first, then in the plan's order; a Priority in the plan comes before both.
    Every question costs O(log n) a task.
    """

    def __init__(
        self,
        tasks: Mapping[str, Task],
        statuses: Mapping[str, Status],
        *,
        selected: Collection[str],
        weight: Mapping[str, float],
        graph: TaskGraph | None = None,
    ) -> None:
        """`graph`: that of these tasks, where it is there already."""
        graph = graph or TaskGraph.of(tasks.values())
        self._tasks = tasks
        self._ids, self._place = graph.ids, graph.places
        self._weight = weight
        self._selected = frozenset(selected)
        self._dependents = graph.needed_by
        done = {id_ for id_, status in statuses.items() if status is Status.DONE}
        self._done = bytearray(id_ in done for id_ in tasks)
        """By position, whether a task is DONE and so no longer counts as unmet."""
        self._unmet = array(
            "I", (sum(id_ not in done for id_ in task.depends_on) for task in tasks.values())
        )
        """By position, the number of tasks that each waits for."""
        self._heap: list[tuple[int, float, int, str]] = []
        for id_ in tasks:
            if statuses.get(id_) is Status.PENDING:
                self.put(id_)

    def put(self, id_: str) -> None:
        """Add a PENDING task, which becomes available when its dependencies are done."""
        if id_ in self._selected and not self._unmet[self._place[id_]]:
            rank = self._tasks[id_].priority
            urgency = _MIDDLE if rank is None else rank
            # heapq pops the smallest, so the longest path gets the smallest number; ties use the
            # position, or two runs of one plan would start differently.
            weight = -self._weight.get(id_, 1.0)
            heapq.heappush(self._heap, (urgency, weight, self._place[id_], id_))

    def mark_done(self, id_: str, still_pending: Callable[[str], bool]) -> None:
        """Mark a task as DONE; tasks that only waited for it become ready."""
        place = self._place.get(id_)
        if place is None or self._done[place]:
            return  # a task that becomes DONE a second time, proven again, is not counted twice
        self._done[place] = True
        for dependent in self._dependents.at(place):
            self._unmet[dependent] -= 1
            waiting = self._ids[dependent]
            if not self._unmet[dependent] and still_pending(waiting):
                self.put(waiting)

    def take(self, may_start: Callable[[Task], bool]) -> Task | None:
        """Take the next ready task that `may_start`; others keep their place."""
        passed_over = []
        found = None
        while self._heap:
            entry = heapq.heappop(self._heap)
            task = self._tasks[entry[3]]
            if may_start(task):
                found = task
                break
            passed_over.append(entry)
        for entry in passed_over:
            heapq.heappush(self._heap, entry)
        return found


UNKNOWN_SECONDS = 1.0
"""Assumed seconds of a task with unknown duration."""


class Forecast(Struct, frozen=True):
    """Order of starts, what starts together, and the longest chain; seconds by past durations."""

    order: tuple[str, ...]
    batches: tuple[tuple[str, ...], ...]
    critical_path: tuple[str, ...]
    seconds: float
    known: bool
    """Whether any of those durations is known."""
    waiting: tuple[str, ...]
    """Selected tasks that cannot start: they wait for BLOCKED, STALE or unselected ones."""


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
    """Simulate the run, with every task passing at its first attempt; `claims` are released."""
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
    """Estimate the seconds of each task by the median of its own attempts that passed.

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


class RunDuration(Struct, frozen=True):
    """The duration of a run, and the least that its tasks allow; all in seconds."""

    tasks: int
    seconds: float
    longest_path: float
    work: float
    """Total duration of all tasks."""
    jobs: int
    estimate: float
    """Estimate from past durations; 0 if unknown."""

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
) -> RunDuration:
    """Return the duration of a run; `took` are the finished tasks with their own durations."""
    path = sum(took[id_] for id_ in _longest(graph, took))
    return RunDuration(len(took), seconds, path, sum(took.values()), jobs, estimate)


def _longest(graph: TaskGraph, lasts: Mapping[str, float]) -> tuple[str, ...]:
    """Return the heaviest chain among these tasks; other tasks have weight 0."""
    return tuple(id_ for id_ in graph.critical_path(lasts, default=0.0) if id_ in lasts)


def _median(values: Iterable[float]) -> float:
    """Return the upper median of the values; importing `statistics` takes 10 ms."""
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
    """Return the simulated starts as (time, task); claims are released."""
    weight = graph.longest_remaining(seconds)
    frontier = Frontier(tasks, statuses, selected=selected, weight=weight, graph=graph)
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
