"""Which tasks may start now: the same answer for a run and for its dry run."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

from runner.model import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from runner.model import Task


_MIDDLE = 2
"""The rank of a task without a Priority."""


class Frontier:
    """The tasks of one run that are not finished; knows no clock, disk or thread.

    A task is ready when it is PENDING and all it depends on is DONE. Ready tasks come out longest
    remaining path first, then in the plan's order; a Priority in the plan comes before both.
    Every question costs O(log n) a task.
    """

    def __init__(
        self,
        tasks: Iterable[Task],
        statuses: Mapping[str, Status],
        *,
        selected: Collection[str],
        weight: Mapping[str, float],
    ) -> None:
        self._tasks = {task.id: task for task in tasks}
        self._place = {id_: place for place, id_ in enumerate(self._tasks)}
        self._weight = weight
        self._selected = frozenset(selected)
        self._dependents: dict[str, list[str]] = {}
        self._unmet: dict[str, int] = {}
        self._heap: list[tuple[int, float, int, str]] = []
        for task in self._tasks.values():
            unmet = [id_ for id_ in task.depends_on if statuses.get(id_) is not Status.DONE]
            self._unmet[task.id] = len(unmet)
            for id_ in unmet:
                self._dependents.setdefault(id_, []).append(task.id)
        for id_ in self._tasks:
            if statuses.get(id_) is Status.PENDING:
                self.put(id_)

    def put(self, id_: str) -> None:
        """Offer a PENDING task; it comes out once nothing it depends on is open."""
        if id_ in self._selected and not self._unmet[id_]:
            rank = self._tasks[id_].priority
            urgency = _MIDDLE if rank is None else rank
            weight = -self._weight.get(id_, 1.0)
            heapq.heappush(self._heap, (urgency, weight, self._place[id_], id_))

    def mark_done(self, id_: str, still_pending: Callable[[str], bool]) -> None:
        """Say that a task is DONE: what waited for it alone becomes ready."""
        for dependent in self._dependents.pop(id_, ()):
            self._unmet[dependent] -= 1
            if not self._unmet[dependent] and still_pending(dependent):
                self.put(dependent)

    def take(self, may_start: Callable[[Task], bool]) -> Task | None:
        """The next ready task that `may_start`; those that may not keep their place."""
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
