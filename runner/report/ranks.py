"""Tasks in layers, each behind all it needs: where a drawing of the graph puts them.

After Sugiyama, Tagawa and Toda, "Methods for visual understanding of hierarchical system
structures" (1981): layers by longest path, long edges cut into pieces of one layer, and the order
within a layer by the mean of the neighbours, a few sweeps there and back.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_SWEEPS = 4
_MOST_BENDS = 20_000
"""Pieces of long edges in one drawing; with more, long edges are drawn straight."""


@dataclass(frozen=True, slots=True)
class Spot:
    """A place in a layer: a task, or where an edge passes (its number, and the layer)."""

    task: str
    edge: int = -1
    layer: int = -1


@dataclass(frozen=True, slots=True)
class Layers:
    """What goes where: spots by layer in their order, and each edge as the spots it touches."""

    rows: tuple[tuple[Spot, ...], ...]
    edges: tuple[tuple[Spot, ...], ...]


def filter_needs(needs: Mapping[str, Iterable[str]]) -> dict[str, tuple[str, ...]]:
    """The same without needs that no task has, and none of them twice."""
    return {
        id_: tuple(dict.fromkeys(one for one in wanted if one in needs and one != id_))
        for id_, wanted in needs.items()
    }


def drawing_order(needs: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Every task behind what it needs, near to it; tasks in a circle in the order of the plan."""
    place = {id_: number for number, id_ in enumerate(needs)}
    open_needs = {id_: len(wanted) for id_, wanted in needs.items()}
    dependents: dict[str, list[str]] = {}
    for id_, wanted in needs.items():
        for one in wanted:
            dependents.setdefault(one, []).append(id_)
    order: dict[str, None] = {}
    heap = [(0, place[id_], id_) for id_, count in open_needs.items() if not count]
    left = iter(needs)
    while len(order) < len(needs):
        id_ = heapq.heappop(heap)[2] if heap else next(one for one in left if one not in order)
        if id_ in order:
            continue
        order[id_] = None
        for after in dependents.get(id_, ()):
            open_needs[after] -= 1
            if open_needs[after] <= 0 and after not in order:
                heapq.heappush(heap, (-len(order), place[after], after))
    return tuple(order)


def layers(needs: Mapping[str, Sequence[str]]) -> Layers:
    """Lay out a graph in which every need is a task."""
    rank: dict[str, int] = {}
    for id_ in drawing_order(needs):
        rank[id_] = max((rank[one] + 1 for one in needs[id_] if one in rank), default=0)
    pairs = [(one, id_) for id_ in needs for one in needs[id_]]
    bent = sum(max(0, rank[to] - rank[start] - 1) for start, to in pairs) <= _MOST_BENDS
    rows: list[list[Spot]] = [[] for _ in range(max(rank.values(), default=-1) + 1)]
    for id_ in needs:
        rows[rank[id_]].append(Spot(id_))
    edges = []
    for number, (start, to) in enumerate(pairs):
        between = range(rank[start] + 1, rank[to]) if bent else ()
        bends = [Spot("", number, row) for row in between]
        for spot in bends:
            rows[spot.layer].append(spot)
        edges.append((Spot(start), *bends, Spot(to)))
    _untangle(rows, edges)
    return Layers(tuple(map(tuple, rows)), tuple(edges))


def _untangle(rows: list[list[Spot]], edges: Sequence[Sequence[Spot]]) -> None:
    """Sort every layer by the mean place of its neighbours in the layer before, then behind."""
    near = neighbours(edges)
    for _ in range(_SWEEPS):
        for row in range(1, len(rows)):
            _sort(rows[row], rows[row - 1], near)
        for row in reversed(range(len(rows) - 1)):
            _sort(rows[row], rows[row + 1], near)


def neighbours(edges: Sequence[Sequence[Spot]]) -> dict[Spot, list[Spot]]:
    """What each spot is joined to, on both sides."""
    found: dict[Spot, list[Spot]] = {}
    for edge in edges:
        for one, other in pairwise(edge):
            found.setdefault(one, []).append(other)
            found.setdefault(other, []).append(one)
    return found


def _sort(row: list[Spot], fixed: Sequence[Spot], joined: Mapping[Spot, list[Spot]]) -> None:
    place = {spot: number for number, spot in enumerate(fixed)}
    own = {spot: number for number, spot in enumerate(row)}
    scale = len(fixed) / max(1, len(row))

    def key(spot: Spot) -> float:
        near = [place[one] for one in joined.get(spot, ()) if one in place]
        return sum(near) / len(near) if near else own[spot] * scale

    row.sort(key=key)
