"""Draw the task graph: text with lanes, SVG, DOT for Graphviz, Mermaid.

Layers follow Sugiyama, Tagawa and Toda, "Methods for visual understanding of hierarchical system
structures" (1981): layers by longest path, long edges cut into pieces of one layer, and the order
within a layer by the mean of the neighbours, in a few sweeps. In text each task that is still
needed below has a lane; a task takes over the lane of a dependency that no other task needs.
"""

from __future__ import annotations

import heapq
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, Protocol
from xml.sax.saxutils import escape

from msgspec import Struct

from runner.model import Status
from runner.text.display import cut, display

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

_SWEEPS = 4
_MOST_BENDS = 20_000
"""Maximum pieces of long edges in one drawing; with more, long edges are straight."""


class Point(Struct, frozen=True):
    """A place in a layer: a task, or where an edge passes (its number, and the layer)."""

    task: str
    edge: int = -1
    layer: int = -1


class Layers(Struct, frozen=True):
    """The layout: spots by layer in order, and each edge as the spots it touches."""

    rows: tuple[tuple[Point, ...], ...]
    edges: tuple[tuple[Point, ...], ...]


def filter_needs(needs: Mapping[str, Iterable[str]]) -> dict[str, tuple[str, ...]]:
    """Return the dependencies without unknown tasks, duplicates and self-references."""
    return {
        id_: tuple(dict.fromkeys(one for one in wanted if one in needs and one != id_))
        for id_, wanted in needs.items()
    }


def drawing_order(needs: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return the tasks in dependency order, each near its dependencies; cycles in plan order."""
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
    rows: list[list[Point]] = [[] for _ in range(max(rank.values(), default=-1) + 1)]
    for id_ in needs:
        rows[rank[id_]].append(Point(id_))
    edges = []
    for number, (start, to) in enumerate(pairs):
        between = range(rank[start] + 1, rank[to]) if bent else ()
        bends = [Point("", number, row) for row in between]
        for spot in bends:
            rows[spot.layer].append(spot)
        edges.append((Point(start), *bends, Point(to)))
    _untangle(rows, edges)
    return Layers(tuple(map(tuple, rows)), tuple(edges))


def _untangle(rows: list[list[Point]], edges: Sequence[Sequence[Point]]) -> None:
    """Sort every layer by the mean place of its neighbours in the layer before, then behind."""
    near = neighbours(edges)
    for _ in range(_SWEEPS):
        for row in range(1, len(rows)):
            _sort(rows[row], rows[row - 1], near)
        for row in reversed(range(len(rows) - 1)):
            _sort(rows[row], rows[row + 1], near)


def neighbours(edges: Sequence[Sequence[Point]]) -> dict[Point, list[Point]]:
    """Return the neighbours of each point, in both directions."""
    found: dict[Point, list[Point]] = {}
    for edge in edges:
        for one, other in pairwise(edge):
            found.setdefault(one, []).append(other)
            found.setdefault(other, []).append(one)
    return found


def _sort(row: list[Point], fixed: Sequence[Point], joined: Mapping[Point, list[Point]]) -> None:
    place = {spot: number for number, spot in enumerate(fixed)}
    own = {spot: number for number, spot in enumerate(row)}
    scale = len(fixed) / max(1, len(row))

    def key(spot: Point) -> float:
        near = [place[one] for one in joined.get(spot, ()) if one in place]
        return sum(near) / len(near) if near else own[spot] * scale

    row.sort(key=key)


# --- ascii graph ----------------------------------------------------------------------


def ascii_graph(
    tasks: Iterable[GraphNode],
    statuses: Mapping[str, Status],
    paint: Callable[[str, str], str] = lambda _colour, text: text,
) -> str:
    """Draw the graph as ASCII lines; `+` joins, and `|` between two `-` only crosses."""
    by_id = {task.id: task for task in tasks}
    needs = filter_needs({id_: task.depends_on for id_, task in by_id.items()})
    lanes = _Lanes(needs)
    lines: list[str] = []
    for id_ in drawing_order(needs):
        status = statuses.get(id_, by_id[id_].status)
        look = PALETTE[status]
        joint, left, right = lanes.place(id_, needs[id_])
        if joint:
            lines.append(joint)
        sign = paint(look.colour, look.sign) if look.colour else look.sign
        word = paint(look.colour, str(status)) if look.colour else str(status)
        title = display(by_id[id_].title)
        lines.append(
            " ".join(filter(None, (left + sign + right, display(id_), title, f"({word})")))
        )
    return "\n".join(lines) + "\n" if lines else ""


class _Lanes:
    """The columns of tasks while the lines are written from top to bottom."""

    def __init__(self, needs: Mapping[str, Sequence[str]]) -> None:
        self._open: dict[str, int] = dict.fromkeys(needs, 0)
        """Number of tasks below that still need this one."""
        for wanted in needs.values():
            for one in wanted:
                self._open[one] += 1
        self._held: list[str] = []
        """Task in each column; empty if free."""
        self._fresh = -1
        """Column of the task above: reused at once, both tasks would look connected."""

    def place(self, id_: str, needs: Sequence[str]) -> tuple[str, str, str]:
        """Return the joining line of a task, and the text left and right of its sign."""
        joined = {self._held.index(one): one for one in needs if one in self._held}
        for one in needs:
            self._open[one] -= 1
        ended = sorted(column for column, one in joined.items() if not self._open[one])
        column = ended[0] if ended else self._free()
        joint = self._joint(column, joined) if set(joined) - {column} else ""
        for gone in ended:
            self._held[gone] = ""
        self._held[column] = id_
        cells = ["|" if one and place != column else " " for place, one in enumerate(self._held)]
        left = "".join(f"{cell} " for cell in cells[:column])
        right = "".join(f" {cell}" for cell in cells[column + 1 :]).rstrip()
        if not self._open[id_]:
            self._held[column] = ""
        self._fresh = column
        while self._held and not self._held[-1] and len(self._held) - 1 != column:
            self._held.pop()
        return joint, left, right

    def _free(self) -> int:
        for column, one in enumerate(self._held):
            if not one and column != self._fresh:
                return column
        self._held.append("")
        return len(self._held) - 1

    def _joint(self, column: int, joined: Mapping[int, str]) -> str:
        """Return `+-|-+`: a line from every joined lane to the column of the task."""
        ends = {column, *joined}
        first, last = min(ends), max(ends)
        line = ""
        for place, one in enumerate(self._held):
            inside = first <= place <= last
            cell = "+" if place in ends else "|" if one else "-" if inside else " "
            line += cell + ("-" if first <= place < last else " ")
        return line.rstrip()


# --- svg ------------------------------------------------------------------------------


BOX_WIDE, BOX_HIGH = 220, 44
BOX_GAP, _GAP_Y = 60, 16
_BEND_HIGH = 8
_MARGIN = 16
_LETTERS = 30
_SVG_SWEEPS = 3


def svg(tasks: Iterable[GraphNode], statuses: Mapping[str, Status], *, title: str = "") -> str:
    """Draw the graph as an SVG from left to right, one column per layer."""
    by_id = {task.id: task for task in tasks}
    laid = layers(filter_needs({id_: task.depends_on for id_, task in by_id.items()}))
    places = place_spots(laid)
    wide = max(len(laid.rows) * (BOX_WIDE + BOX_GAP) - BOX_GAP, 0) + 2 * _MARGIN
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


def _height(spot: Point) -> int:
    return BOX_HIGH if spot.task else _BEND_HIGH


def place_spots(laid: Layers) -> dict[Point, tuple[float, float]]:
    """Return the upper left corner of every spot, near its neighbours in the given order."""
    joined = neighbours(laid.edges)
    middle: dict[Point, float] = {}
    for row in laid.rows:
        top = 0.0
        for spot in row:
            middle[spot] = top + _height(spot) / 2
            top += _height(spot) + _GAP_Y
    for _ in range(_SVG_SWEEPS):
        for row in laid.rows:
            _settle(row, middle, joined)
    highest = min((at - _height(spot) / 2 for spot, at in middle.items()), default=0.0)
    return {
        spot: (column * (BOX_WIDE + BOX_GAP), middle[spot] - _height(spot) / 2 - highest)
        for column, row in enumerate(laid.rows)
        for spot in row
    }


def _settle(
    row: Sequence[Point], middle: dict[Point, float], joined: Mapping[Point, list[Point]]
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


def _edge(edge: Sequence[Point], places: Mapping[Point, tuple[float, float]]) -> str:
    path = edge_path(edge, places)
    return f'<path d="{path}" fill="none" stroke="#6e7781" marker-end="url(#end)"/>'


def edge_path(edge: Sequence[Point], places: Mapping[Point, tuple[float, float]]) -> str:
    """Return an SVG path from the right side of one box to the left side of another."""
    x, y = places[edge[0]]
    x, y = x + BOX_WIDE, y + BOX_HIGH / 2
    path = f"M{x:.0f} {y:.1f}"
    for spot in edge[1:]:
        to_x, to_y = places[spot]
        to_y += _height(spot) / 2
        half = (x + to_x) / 2
        path += f"C{half:.0f} {y:.1f} {half:.0f} {to_y:.1f} {to_x:.0f} {to_y:.1f}"
        x, y = to_x, to_y
        if not spot.task:
            x += BOX_WIDE
            path += f"H{x:.0f}"
    return path


def _box(task: GraphNode, status: Status, x: float, y: float) -> str:
    look = PALETTE[status]
    head = cut(f"{display(task.id)}  {look.sign} {status}", _LETTERS)
    return (
        f'<g transform="translate({x:.0f} {y:.1f})">'
        f"<title>{_text(task.id)}: {_text(task.title)} ({status})</title>"
        f'<rect width="{BOX_WIDE}" height="{BOX_HIGH}" rx="6"'
        f' fill="{look.fill}" stroke="{look.edge}"/>'
        f'<text x="10" y="18" fill="{look.text}" font-weight="bold">{escape(_xml(head))}</text>'
        f'<text x="10" y="35" fill="{look.text}">{escape(_xml(cut(display(task.title), _LETTERS)))}'
        "</text></g>"
    )


def _text(text: str) -> str:
    return escape(_xml(display(text)))


def _xml(text: str) -> str:
    """Replace the two characters that XML does not allow (XML 1.0, section 2.2)."""
    return text.replace("\ufffe", "\ufffd").replace("\uffff", "\ufffd")


def dot(tasks: Iterable[GraphNode], statuses: Mapping[str, Status]) -> str:
    """Return a DOT graph with one node per task, labelled and coloured by status.

    Nodes have numbers for names, so that no id can be a keyword. Dependencies on tasks that are not
    there are left out. Grammar: graphviz.org/doc/info/lang.html.
    """
    tasks = tuple(tasks)
    names = {task.id: f"t{number}" for number, task in enumerate(tasks, 1)}
    lines = [
        "digraph tasks {",
        "  rankdir=LR;",
        '  node [shape=box, style="rounded,filled", fontname="sans-serif"];',
    ]
    for task in tasks:
        status = statuses.get(task.id, task.status)
        look = PALETTE[status]
        label = rf"{_escape(task.id)}\n{_escape(task.title)}\n{status}"
        lines.append(
            f'  {names[task.id]} [label="{label}", fillcolor="{look.fill}", '
            f'color="{look.edge}", fontcolor="{look.text}"];'
        )
    lines += [
        f"  {names[needed]} -> {names[task.id]};"
        for task in tasks
        for needed in dict.fromkeys(task.depends_on)
        if needed in names
    ]
    return "\n".join((*lines, "}")) + "\n"


def _escape(text: str) -> str:
    """Escape `text` for a quoted label (escString: a backslash starts an escape there)."""
    return display(text).replace("\\", "\\\\").replace('"', '\\"')


# --- status style ---------------------------------------------------------------------


class GraphNode(Protocol):
    """The part of a task that a drawing shows: a task of the plan, or of its outline."""

    @property
    def id(self) -> str:
        """Its id."""

    @property
    def title(self) -> str:
        """Its title."""

    @property
    def status(self) -> Status:
        """Its status by the plan, where nothing newer is known."""

    @property
    def depends_on(self) -> tuple[str, ...]:
        """The ids it depends on."""


class Look(NamedTuple):
    """Colours for a page, a colour and a sign for a terminal."""

    fill: str
    edge: str
    text: str
    colour: str
    sign: str


PALETTE = {
    Status.PENDING: Look("#f6f8fa", "#8c959f", "#1f2328", "", "o"),
    Status.IN_PROGRESS: Look("#ddf4ff", "#0969da", "#0a3069", "cyan", ">"),
    Status.DONE: Look("#dafbe1", "#1a7f37", "#0f3d1e", "green", "*"),
    Status.BLOCKED: Look("#ffebe9", "#cf222e", "#6e1018", "red", "!"),
    Status.STALE: Look("#fff8c5", "#9a6700", "#4d3400", "yellow", "~"),
}

# --- mermaid --------------------------------------------------------------------------


_CLASSES = {
    Status.PENDING: "pending",
    Status.IN_PROGRESS: "progress",
    Status.DONE: "done",
    Status.BLOCKED: "blocked",
    Status.STALE: "stale",
}


def mermaid(tasks: Iterable[GraphNode], statuses: Mapping[str, Status]) -> str:
    """Return a Mermaid `flowchart TD` with one node per task.

    Nodes have numbers for names, so that no id can end a node or begin a keyword. Dependencies on
    tasks that are not there are left out.
    """
    tasks = tuple(tasks)
    names = {task.id: f"t{number}" for number, task in enumerate(tasks, 1)}
    lines = ["flowchart TD"]
    for task in tasks:
        status = statuses.get(task.id, task.status)
        label = f"{escape_label(task.id)}: {escape_label(task.title)}<br/>{status}"
        lines.append(f'    {names[task.id]}["{label}"]:::{_CLASSES[status]}')
    lines += [
        f"    {names[needed]} --> {names[task.id]}"
        for task in tasks
        for needed in task.depends_on
        if needed in names
    ]
    lines += [
        f"    classDef {name} fill:{look.fill},stroke:{look.edge},color:{look.text}"
        for name, look in ((_CLASSES[status], PALETTE[status]) for status in Status)
    ]
    return "\n".join(lines) + "\n"


def escape_label(text: str) -> str:
    """Escape `text` for a Mermaid label: all but letters, digits and plain marks as entity codes.

    Mermaid reads `#34;` as a character (its documentation: Entity codes to escape characters).
    """
    return "".join(
        character if character.isalnum() or character in " .,-_/()" else f"#{ord(character)};"
        for character in display(text)
    )
