"""The order of tasks: who waits for whom. The only module that knows networkx."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, cast

from runner.errors import RunnerError
from runner.lazy_module import lazy_module

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    import networkx as nx

    from runner.model import Task
else:
    nx = lazy_module("networkx")


class TaskGraph:
    """Tasks and their dependencies; ids that no task has are left out.

    `dependencies` and `dependents` are plain look-ups; the other answers import networkx.
    """

    def __init__(self, needs: Mapping[str, tuple[str, ...]]) -> None:
        self._needs = needs
        self._place = {task_id: place for place, task_id in enumerate(needs)}

    @classmethod
    def of(cls, tasks: Iterable[Task]) -> TaskGraph:
        """The graph of tasks, in their order; of two with one id, the first counts."""
        needs: dict[str, tuple[str, ...]] = {}
        for task in tasks:
            needs.setdefault(task.id, task.depends_on)
        return cls(
            {task: tuple(filter(needs.__contains__, wanted)) for task, wanted in needs.items()}
        )

    def __contains__(self, task_id: object) -> bool:
        return task_id in self._needs

    def __len__(self) -> int:
        return len(self._needs)

    @property
    def ids(self) -> tuple[str, ...]:
        """All ids, in the order of the plan."""
        return tuple(self._needs)

    def dependencies(self, task_id: str) -> tuple[str, ...]:
        """The tasks that this one needs directly."""
        return self._needs[task_id]

    def dependents(self, task_id: str) -> tuple[str, ...]:
        """The tasks that need this one directly."""
        return tuple(self._needed_by.get(task_id, ()))

    @cached_property
    def _needed_by(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for task_id, wanted in self._needs.items():
            for need in wanted:
                found.setdefault(need, []).append(task_id)
        return found

    # --- answers that look further ----------------------------------------------------

    def order(self) -> tuple[str, ...]:
        """All tasks, each behind what it needs, otherwise in the order of the plan.

        Raises RunnerError when tasks depend on each other in a circle.
        """
        self._refuse_cycles()
        return tuple(nx.lexicographical_topological_sort(self._graph, key=self._place.__getitem__))

    def batches(self) -> tuple[tuple[str, ...], ...]:
        """Tasks in rounds: each round needs only what the rounds before it made."""
        self._refuse_cycles()
        rounds = nx.topological_generations(self._graph)
        return tuple(tuple(sorted(each, key=self._place.__getitem__)) for each in rounds)

    def ancestors(self, task_id: str) -> tuple[str, ...]:
        """All that this task needs, directly or not, in the order of the plan."""
        return self._sort(nx.ancestors(cast("nx.Graph[object]", self._graph), task_id))

    def descendants(self, task_id: str) -> tuple[str, ...]:
        """All that need this task, directly or not, in the order of the plan."""
        return self._sort(nx.descendants(cast("nx.Graph[object]", self._graph), task_id))

    def cycles(self) -> tuple[tuple[str, ...], ...]:
        """One circle of each knot of tasks: every task needs the next, the last one the first."""
        found: list[tuple[str, ...]] = []
        for knot in nx.strongly_connected_components(self._graph):
            first = min(knot, key=self._place.__getitem__)
            if len(knot) > 1 or first in self._needs[first]:
                found.append(self._circle(first, knot))
        return tuple(sorted(found, key=lambda circle: self._place[circle[0]]))

    def _circle(self, first: str, knot: set[str]) -> tuple[str, ...]:
        """A shortest way from `first` back to itself, along what tasks need."""
        came_from: dict[str, str] = {}
        front = [first]
        while first not in came_from:
            wave: list[str] = []
            for task_id in front:
                for need in self._needs[task_id]:
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
        """For every task the heaviest chain that begins with it, its own weight included.

        Weights are in any unit; a task that has none weighs `default`.
        """
        remaining: dict[str, float] = {}
        for task_id in reversed(self.order()):
            behind = max((remaining[after] for after in self.dependents(task_id)), default=0.0)
            remaining[task_id] = weights.get(task_id, default) + behind
        return remaining

    def critical_path(self, weights: Mapping[str, float], default: float = 1.0) -> tuple[str, ...]:
        """The heaviest chain of all; the earlier task of the plan where chains weigh the same."""
        remaining = self.longest_remaining(weights, default)
        path: list[str] = []
        choices: tuple[str, ...] = tuple(self._needs)
        while choices:
            path.append(max(choices, key=remaining.__getitem__))
            choices = self.dependents(path[-1])
        return tuple(path)

    # --- below ------------------------------------------------------------------------

    @cached_property
    def _graph(self) -> nx.DiGraph[str]:
        graph: nx.DiGraph[str] = nx.DiGraph()
        names = dict.fromkeys(self._needs, _NOTHING)
        # As networkx's own views do: three tables for each of a hundred thousand tasks would be
        # 70 MB beside what is known here anyhow, and nobody ever adds to this graph.
        graph._node, graph._pred = names, _Neighbours(self._needs, self._needs)  # type: ignore[attr-defined]  # noqa: SLF001
        graph._adj = _Neighbours(self._needs, self._needed_by)  # type: ignore[attr-defined]  # noqa: SLF001
        return graph

    def _sort(self, ids: Iterable[object]) -> tuple[str, ...]:
        return tuple(sorted(cast("Iterable[str]", ids), key=self._place.__getitem__))

    def _refuse_cycles(self) -> None:
        if nx.is_directed_acyclic_graph(self._graph):
            return
        circle = self.cycles()[0]
        path = " → ".join((*circle, circle[0]))
        raise RunnerError(
            f"tasks wait for each other in a circle: {path}",
            hint="take one id out of a Depends on: `runner validate` shows the lines",
        )


_NOTHING: dict[str, object] = {}
"""What networkx keeps of a node or an edge beside its name."""


class _Neighbours(Mapping[str, dict[str, dict[str, object]]]):
    """The tasks beside each task, in the shape of networkx's tables, made when they are asked."""

    def __init__(self, names: Collection[str], beside: Mapping[str, Sequence[str]]) -> None:
        self._names, self._beside = names, beside

    def __getitem__(self, name: str) -> dict[str, dict[str, object]]:
        if name not in self._names:
            raise KeyError(name)
        return dict.fromkeys(self._beside.get(name, ()), _NOTHING)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)
