"""The dependency graph of tasks; the only module that imports networkx."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any, cast

from runner.errors import RunnerError
from runner.lazy_module import lazy_module

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    import networkx as nx

    from runner.model import Task
else:
    nx = lazy_module("networkx")


class Dependents:
    """The dependents of each task, as numbers: a task is its position in the plan.

    Lists of names for each of a hundred thousand tasks would be 20 MB; this is 1.2.
    """

    def __init__(self, needs: Collection[Iterable[str]], place: Mapping[str, int]) -> None:
        """`needs` of each task in the order of its place; ids that have no place are left out."""
        counts = array("I", bytes(array("I").itemsize * (len(place) + 1)))
        for wanted in needs:
            for need in wanted:
                if need in place:
                    counts[place[need] + 1] += 1
        self._starts = array("I", accumulate(counts))
        self._found = array("I", bytes(array("I").itemsize * self._starts[-1]))
        following = self._starts[:]
        for at, wanted in enumerate(needs):
            for need in wanted:
                if need in place:
                    self._found[following[place[need]]] = at
                    following[place[need]] += 1

    def at(self, place: int) -> Sequence[int]:
        """Return the places of the tasks that depend on the task at a place."""
        return self._found[self._starts[place] : self._starts[place + 1]]


class TaskGraph:
    """Tasks and their dependencies; ids that no task has are left out.

    `dependencies` and `dependents` are plain look-ups; the other answers import networkx.
    """

    def __init__(self, needs: Mapping[str, tuple[str, ...]]) -> None:
        self.places = {task_id: place for place, task_id in enumerate(needs)}
        """Position of each task in the plan: one map shared by all users."""
        self._needs = tuple(needs.values())

    @classmethod
    def of(cls, tasks: Iterable[Task]) -> TaskGraph:
        """Build the graph of tasks in order; the first of a duplicate ID counts."""
        needs: dict[str, tuple[str, ...]] = {}
        for task in tasks:
            needs.setdefault(task.id, task.depends_on)
        for task_id, wanted in needs.items():
            if not all(one in needs for one in wanted):
                needs[task_id] = tuple(filter(needs.__contains__, wanted))
        return cls(needs)

    def __contains__(self, task_id: object) -> bool:
        return task_id in self.places

    def __len__(self) -> int:
        return len(self._needs)

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """All ids, in the order of the plan."""
        return tuple(self.places)

    def dependencies(self, task_id: str) -> tuple[str, ...]:
        """Return the direct dependencies of a task."""
        return self._needs[self.places[task_id]]

    def dependents(self, task_id: str) -> tuple[str, ...]:
        """Return the direct dependents of a task."""
        return tuple(map(self.ids.__getitem__, self.needed_by.at(self.places[task_id])))

    @cached_property
    def needed_by(self) -> Dependents:
        """The same of all, by their places."""
        return Dependents(self._needs, self.places)

    def order(self) -> tuple[str, ...]:
        """Return all tasks in dependency order, otherwise in plan order.

        Raises RunnerError when tasks depend on each other in a circle.
        """
        self._refuse_cycles()
        return tuple(nx.lexicographical_topological_sort(self._graph, key=self.places.__getitem__))

    def batches(self) -> tuple[tuple[str, ...], ...]:
        """Return the tasks in batches that depend only on earlier batches."""
        self._refuse_cycles()
        rounds = nx.topological_generations(self._graph)
        return tuple(tuple(sorted(each, key=self.places.__getitem__)) for each in rounds)

    def ancestors(self, task_id: str) -> tuple[str, ...]:
        """Return all direct and indirect dependencies of a task, in plan order."""
        return self._sort(nx.ancestors(cast("nx.Graph[object]", self._graph), task_id))

    def descendants(self, task_id: str) -> tuple[str, ...]:
        """Return all direct and indirect dependents of a task, in plan order."""
        return self._sort(nx.descendants(cast("nx.Graph[object]", self._graph), task_id))

    def cycles(self) -> tuple[tuple[str, ...], ...]:
        """Return one cycle per strongly connected component, each task before its dependency."""
        found: list[tuple[str, ...]] = []
        for knot in nx.strongly_connected_components(self._graph):
            first = min(knot, key=self.places.__getitem__)
            if len(knot) > 1 or first in self._needs[self.places[first]]:
                found.append(self._circle(first, knot))
        return tuple(sorted(found, key=lambda circle: self.places[circle[0]]))

    def _circle(self, first: str, knot: set[str]) -> tuple[str, ...]:
        """Return a shortest cycle through `first` along dependencies."""
        came_from: dict[str, str] = {}
        front = [first]
        while first not in came_from:
            wave: list[str] = []
            for task_id in front:
                for need in self._needs[self.places[task_id]]:
                    if need in knot and need not in came_from:
                        came_from[need] = task_id
                        wave.append(need)
            front = wave
        path = [came_from[first]]
        while path[-1] != first:
            path.append(came_from[path[-1]])
        return tuple(reversed(path))

    def longest_remaining(
        self, weights: Mapping[str, float], default: float = 1.0
    ) -> dict[str, float]:
        """Return the weight of the longest chain from each task, including its own weight.

        Weights are in any unit; a task that has none weighs `default`.
        """
        remaining: dict[str, float] = {}
        for task_id in reversed(self.order()):
            behind = max((remaining[after] for after in self.dependents(task_id)), default=0.0)
            remaining[task_id] = weights.get(task_id, default) + behind
        return remaining

    def critical_path(self, weights: Mapping[str, float], default: float = 1.0) -> tuple[str, ...]:
        """Return the heaviest dependency chain; among equals the earlier task wins."""
        remaining = self.longest_remaining(weights, default)
        path: list[str] = []
        choices = self.ids
        while choices:
            path.append(max(choices, key=remaining.__getitem__))
            choices = self.dependents(path[-1])
        return tuple(path)

    @cached_property
    def _graph(self) -> nx.DiGraph[str]:
        graph: nx.DiGraph[str] = nx.DiGraph()
        # Like networkx's own views: three tables for each of a hundred thousand tasks would take 70
        # MB for data already stored here, and this graph never grows.
        graph._node = _Table(self.places, lambda _name: _NOTHING)  # type: ignore[attr-defined]  # noqa: SLF001
        graph._pred = _Table(self.places, lambda name: _beside(self.dependencies(name)))  # type: ignore[attr-defined]  # noqa: SLF001
        graph._adj = _Table(self.places, lambda name: _beside(self.dependents(name)))  # type: ignore[attr-defined]  # noqa: SLF001
        return graph

    def _sort(self, ids: Iterable[object]) -> tuple[str, ...]:
        return tuple(sorted(cast("Iterable[str]", ids), key=self.places.__getitem__))

    def _refuse_cycles(self) -> None:
        if nx.is_directed_acyclic_graph(self._graph):
            return
        circle = self.cycles()[0]
        path = " → ".join((*circle, circle[0]))
        raise RunnerError(
            f"dependency cycle: {path}",
            hint="remove one id from a Depends on: `runner validate` shows the lines",
        )


_NOTHING: dict[str, object] = {}
"""Data that networkx stores for a node or edge besides its name."""


def _beside(names: Iterable[str]) -> dict[str, dict[str, object]]:
    return dict.fromkeys(names, _NOTHING)


class _Table(Mapping[str, Any]):
    """The adjacency tables that networkx reads, created on access."""

    def __init__(self, names: Collection[str], value_of: Callable[[str], object]) -> None:
        self._names, self._value_of = names, value_of

    def __getitem__(self, name: str) -> object:
        if name not in self._names:
            raise KeyError(name)
        return self._value_of(name)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)
