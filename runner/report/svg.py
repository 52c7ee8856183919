"""The task graph as a picture: SVG by our own layout, so that no other program is needed."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from runner.report.ranks import filter_needs, layers, neighbours
from runner.report.status_style import PALETTE
from runner.text.display import display
from runner.text.width import cut

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from runner.model import Status
    from runner.report.ranks import Layers, Spot
    from runner.report.status_style import Node

_WIDE, _HIGH = 220, 44
_GAP_X, _GAP_Y = 60, 16
_BEND_HIGH = 8
_MARGIN = 16
_LETTERS = 30
_SWEEPS = 3


def svg(tasks: Iterable[Node], statuses: Mapping[str, Status], *, title: str = "") -> str:
    """A picture from left to right, one column a layer; statuses in words, signs and colours."""
    by_id = {task.id: task for task in tasks}
    laid = layers(filter_needs({id_: task.depends_on for id_, task in by_id.items()}))
    places = _places(laid)
    wide = max(len(laid.rows) * (_WIDE + _GAP_X) - _GAP_X, 0) + 2 * _MARGIN
    high = round(max((y + _height(spot) for spot, (_, y) in places.items()), default=0))
    high += 2 * _MARGIN
    boxes = (
        _box(by_id[spot.task], statuses.get(spot.task, by_id[spot.task].status), *at)
        for spot, at in places.items()
        if spot.task
    )
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}"',
            f' width="{wide}" height="{high}" role="img" font-family="sans-serif" font-size="12">',
            f"<title>{_text(title or 'Task graph')}</title>",
            *_ARROW,
            f'<g transform="translate({_MARGIN} {_MARGIN})">',
            *(_edge(edge, places) for edge in laid.edges),
            *boxes,
            "</g>",
            "</svg>",
            "",
        )
    )


_ARROW = (
    '<defs><marker id="end" viewBox="0 0 8 8" refX="8" refY="4" orient="auto"',
    ' markerWidth="7" markerHeight="7">',
    '<path d="M0 0L8 4L0 8z" fill="#6e7781"/></marker></defs>',
)


def _height(spot: Spot) -> int:
    return _HIGH if spot.task else _BEND_HIGH


def _places(laid: Layers) -> dict[Spot, tuple[float, float]]:
    """The upper left corner of every spot, near to its neighbours as far as the order lets it."""
    joined = neighbours(laid.edges)
    middle: dict[Spot, float] = {}
    for row in laid.rows:
        top = 0.0
        for spot in row:
            middle[spot] = top + _height(spot) / 2
            top += _height(spot) + _GAP_Y
    for _ in range(_SWEEPS):
        for row in laid.rows:
            _settle(row, middle, joined)
    highest = min((at - _height(spot) / 2 for spot, at in middle.items()), default=0.0)
    return {
        spot: (column * (_WIDE + _GAP_X), middle[spot] - _height(spot) / 2 - highest)
        for column, row in enumerate(laid.rows)
        for spot in row
    }


def _settle(
    row: Sequence[Spot], middle: dict[Spot, float], joined: Mapping[Spot, list[Spot]]
) -> None:
    """Move a column to where its neighbours are: pressed down, pressed up, the mean."""
    wish = [
        sum(middle[one] for one in joined[spot]) / len(joined[spot])
        if spot in joined
        else middle[spot]
        for spot in row
    ]
    apart = [(_height(one) + _height(other)) / 2 + _GAP_Y for one, other in pairwise(row)]
    down = list(wish)
    for at, gap in enumerate(apart, start=1):
        down[at] = max(down[at], down[at - 1] + gap)
    up = list(wish)
    for at in reversed(range(len(apart))):
        up[at] = min(up[at], up[at + 1] - apart[at])
    for spot, one, other in zip(row, down, up, strict=True):
        middle[spot] = (one + other) / 2


def _edge(edge: Sequence[Spot], places: Mapping[Spot, tuple[float, float]]) -> str:
    """A curve from the right side of a box to the left side of another, through its bends."""
    x, y = places[edge[0]]
    x, y = x + _WIDE, y + _HIGH / 2
    path = f"M{x:.0f} {y:.1f}"
    for spot in edge[1:]:
        to_x, to_y = places[spot]
        to_y += _height(spot) / 2
        half = (x + to_x) / 2
        path += f"C{half:.0f} {y:.1f} {half:.0f} {to_y:.1f} {to_x:.0f} {to_y:.1f}"
        x, y = to_x, to_y
        if not spot.task:
            x += _WIDE
            path += f"H{x:.0f}"
    return f'<path d="{path}" fill="none" stroke="#6e7781" marker-end="url(#end)"/>'


def _box(task: Node, status: Status, x: float, y: float) -> str:
    look = PALETTE[status]
    head = cut(f"{display(task.id)}  {look.sign} {status}", _LETTERS)
    return (
        f'<g transform="translate({x:.0f} {y:.1f})">'
        f"<title>{_text(task.id)}: {_text(task.title)} ({status})</title>"
        f'<rect width="{_WIDE}" height="{_HIGH}" rx="6" fill="{look.fill}" stroke="{look.edge}"/>'
        f'<text x="10" y="18" fill="{look.text}" font-weight="bold">{escape(_xml(head))}</text>'
        f'<text x="10" y="35" fill="{look.text}">{escape(_xml(cut(display(task.title), _LETTERS)))}'
        "</text></g>"
    )


def _text(text: str) -> str:
    return escape(_xml(display(text)))


def _xml(text: str) -> str:
    """Without the two that no XML may hold (XML 1.0, section 2.2)."""
    return text.replace("\ufffe", "\ufffd").replace("\uffff", "\ufffd")
