"""The graph as a picture of the page: by layers, each task a link, the critical path drawn out."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING
from urllib.parse import quote

from markupsafe import Markup

from runner.model import Status
from runner.report.graph_drawing import (
    BOX_GAP,
    BOX_HIGH,
    BOX_WIDE,
    drawing_order,
    edge_path,
    filter_needs,
    layers,
    place_spots,
)
from runner.text.display import cut, display

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runner.app.inspect.view import View
    from runner.plan.outline import OutlineTask

_OPEN = (Status.PENDING, Status.IN_PROGRESS)
_MARGIN = 6
_LETTERS = 27
TONES = {
    Status.DONE: "done",
    Status.IN_PROGRESS: "run",
    Status.PENDING: "wait",
    Status.BLOCKED: "bad",
    Status.STALE: "ask",
}
"""What a status looks like: a class of the style sheet."""


SIGNS = {
    Status.DONE: "✓",
    Status.IN_PROGRESS: "●",
    Status.PENDING: "○",
    Status.BLOCKED: "✗",
    Status.STALE: "↻",
}
"""The same for who sees no colour."""


def find_critical_path(view: View) -> tuple[str, ...]:
    """The longest chain of what is still to be done, by what tasks took before; its first first."""
    open_ones = {
        task.id: task.depends_on for task in view.tasks if view.states[task.id].status in _OPEN
    }
    needs = filter_needs(open_ones)
    best: dict[str, tuple[float, str]] = {}
    for id_ in drawing_order(needs):
        behind = max(((best[one][0], one) for one in needs[id_] if one in best), default=(0.0, ""))
        best[id_] = (behind[0] + (view.states[id_].typical_seconds or 1.0), behind[1])
    last = max(best, key=lambda id_: best[id_][0], default="")
    path = []
    while last:
        path.append(last)
        last = best[last][1]
    return tuple(reversed(path))


def draw_graph(view: View, address: str, path: Sequence[str]) -> Markup:
    """SVG; `address` is before the id of a task in its link."""
    by_id = {task.id: task for task in view.tasks}
    laid = layers(filter_needs({id_: task.depends_on for id_, task in by_id.items()}))
    places = place_spots(laid)
    wide = max(len(laid.rows) * (BOX_WIDE + BOX_GAP) - BOX_GAP, 0) + 2 * _MARGIN
    high = round(max((y + BOX_HIGH for _, y in places.values()), default=0)) + 2 * _MARGIN
    steps = set(pairwise(path))
    lines = [
        _edge(edge_path(edge, places), is_on_path=(edge[0].task, edge[-1].task) in steps)
        for edge in laid.edges
    ]
    boxes = [
        _box(view, by_id[spot.task], address, at, is_on_path=len(path) > 1 and spot.task in path)
        for spot, at in places.items()
        if spot.task
    ]
    return Markup(  # noqa: S704 - every text in it is escaped where it is put in
        f'<svg viewBox="0 0 {wide} {high}" width="{wide}" height="{high}" role="group"'
        ' aria-label="The graph: every task behind what it needs">'
        f'<g transform="translate({_MARGIN} {_MARGIN})">{"".join(lines + boxes)}</g></svg>'
    )


def _edge(path: str, *, is_on_path: bool) -> str:
    return f'<path d="{path}"{_ON_PATH if is_on_path else ""}/>'


_ON_PATH = ' class="on-path"'


def _box(
    view: View, task: OutlineTask, address: str, at: tuple[float, float], *, is_on_path: bool
) -> str:
    status = view.status(task.id)
    tone, sign = TONES[status], SIGNS[status]
    names = ["is-" + tone, "on-path" if is_on_path else "", "alive" if tone == "run" else ""]
    head = cut(f"{sign} {display(task.id)}  {str(status).lower()}", _LETTERS)
    title = cut(display(task.title), _LETTERS)
    whole = f"{display(task.id)}: {display(task.title)} ({status})"
    return str(
        Markup(
            '<a href="{}" class="{}"><g transform="translate({} {})"><title>{}</title>'
            '<rect width="{}" height="{}" rx="8"/>'
            '<text x="12" y="18" class="head-line">{}</text><text x="12" y="34">{}</text></g></a>'
        ).format(
            *(
                address + quote(task.id, safe=""),
                " ".join(filter(None, names)),
                f"{at[0]:.0f}",
                f"{at[1]:.1f}",
            ),
            *(whole, BOX_WIDE, BOX_HIGH, head, title),
        )
    )
