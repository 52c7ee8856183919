"""Draw the graph and side-by-side diffs for the page.

The graph has layers, each task a link, and the critical path. A diff has rows of two columns that
hide nothing, with the same content as in the terminal.
"""

from __future__ import annotations

from itertools import pairwise, zip_longest
from typing import TYPE_CHECKING
from urllib.parse import quote

from markupsafe import Markup
from msgspec import Struct

from runner.model import Action, Status
from runner.report.diff_view import hunks, mark_changed_words, side_of, stretches
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
    from collections.abc import Iterator, Mapping, Sequence

    from runner.app.inspect.view import View
    from runner.model import Change
    from runner.plan.outline import OutlineTask
    from runner.report.diff_view import Pieces

# --- the graph ------------------------------------------------------------------------


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
"""Style sheet class of a status."""


SIGNS = {
    Status.DONE: "✓",
    Status.IN_PROGRESS: "●",
    Status.PENDING: "○",
    Status.BLOCKED: "✗",
    Status.STALE: "↻",
}
"""The same as a sign, independent of colour."""


def find_critical_path(view: View) -> tuple[str, ...]:
    """Return the longest chain of open tasks by their past durations, in order."""
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
    """Draw the graph as SVG; `address` is the prefix of the tasks' links."""
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
        ' aria-label="The task graph: every task after its dependencies">'
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


# --- a difference ---------------------------------------------------------------------


_MOST_ROWS = 4_000
"""Maximum rows of one file; a longer one is cut, with a note."""


class DiffCell(Struct, frozen=True):
    """One line of one side; `pieces` are its words, and whether each was changed."""

    number: int
    kind: str
    """`old`, `new` or `same`."""
    pieces: tuple[tuple[str, bool], ...]
    ran: str = ""
    """Proofs that ran this line."""


class DiffRow(Struct, frozen=True):
    """A line of both sides; a row with `gap` only says what is left out."""

    old: DiffCell | None = None
    new: DiffCell | None = None
    gap: str = ""


class FileDiff(Struct, frozen=True):
    """One file's change."""

    path: str
    action: str
    notes: tuple[str, ...]
    rows: tuple[DiffRow, ...]
    added: int
    removed: int
    is_cut: bool = False

    @property
    def is_new(self) -> bool:
        """Whether there was nothing before, so that one column says it all."""
        return self.action == Action.CREATE

    @property
    def is_gone(self) -> bool:
        """The same of what is deleted."""
        return self.action == Action.DELETE

    @property
    def is_alone(self) -> bool:
        """Whether it is one column."""
        return self.action in (Action.CREATE, Action.DELETE)


def diff_file(before: bytes | None, change: Change, ran: Mapping[int, str]) -> FileDiff:
    """Return the diff of a file; `ran` has the proofs that executed each new line."""
    old, new = side_of(before), side_of(change.content)
    notes = []
    if change.mode & 0o111:
        notes.append("executable")
    if old.binary or new.binary:
        sizes = [len(one) if one is not None else 0 for one in (before, change.content)]
        notes.append(f"binary: {sizes[0]} bytes before, {sizes[1]} now")
        return FileDiff(change.path, str(change.action), tuple(notes), (), 0, 0)
    if new.lines and new.ends_open:
        notes.append("no newline at end of file")
    found = stretches(old.lines, new.lines)
    added = sum(one.j2 - one.j1 for one in found if one.kind == "replace")
    removed = sum(one.i2 - one.i1 for one in found if one.kind == "replace")
    rows: list[DiffRow] = []
    last = 0
    for hunk in hunks(found):
        skipped = hunk[0].j1 - last
        if skipped > 0:
            rows.append(DiffRow(gap=f"{skipped} unchanged line{'s' * (skipped != 1)}"))
        last = hunk[-1].j2
        for one in hunk:
            olds, news = old.shown[one.i1 : one.i2], new.shown[one.j1 : one.j2]
            rows += _rows(olds, news, one.i1, one.j1, ran, same=one.kind == "equal")
        if len(rows) > _MOST_ROWS:
            break
    is_cut = len(rows) > _MOST_ROWS
    return FileDiff(
        *(change.path, str(change.action), tuple(notes), tuple(rows[:_MOST_ROWS])),
        *(added, removed, is_cut),
    )


def _rows(
    olds: tuple[str, ...],
    news: tuple[str, ...],
    i: int,
    j: int,
    ran: Mapping[int, str],
    *,
    same: bool,
) -> Iterator[DiffRow]:
    if same:
        for at, (left, right) in enumerate(zip(olds, news, strict=True), start=1):
            yield DiffRow(
                DiffCell(i + at, "same", ((left, False),)),
                DiffCell(j + at, "same", ((right, False),), ran.get(j + at, "")),
            )
        return
    for at, (before, after) in enumerate(zip_longest(olds, news), start=1):
        pieces: tuple[Pieces, Pieces] = ((), ())
        if before is not None and after is not None and len(olds) == len(news):
            pieces = mark_changed_words(before, after) or pieces
        yield DiffRow(
            None if before is None else DiffCell(i + at, "old", pieces[0] or ((before, False),)),
            None
            if after is None
            else DiffCell(j + at, "new", pieces[1] or ((after, False),), ran.get(j + at, "")),
        )
