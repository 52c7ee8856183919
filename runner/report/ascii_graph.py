"""The task graph as text: a task a line, what it needs above it, joined by lines of `|` and `-`.

Every task that is still needed below has a lane of its own. A task takes over the lane of what it
needs where nothing else needs that any more; other lanes it needs are joined in a line between.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.report.ranks import drawing_order, filter_needs
from runner.report.status_style import PALETTE
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from runner.model import Status
    from runner.report.status_style import Node


def ascii_graph(
    tasks: Iterable[Node],
    statuses: Mapping[str, Status],
    paint: Callable[[str, str], str] = lambda _colour, text: text,
) -> str:
    """Lines of plain ASCII but for the titles; a `+` joins, a `|` between two `-` only crosses."""
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
    """Which task holds which column while the lines are written from top to bottom."""

    def __init__(self, needs: Mapping[str, Sequence[str]]) -> None:
        self._open: dict[str, int] = dict.fromkeys(needs, 0)
        """How many tasks below still need this one."""
        for wanted in needs.values():
            for one in wanted:
                self._open[one] += 1
        self._held: list[str] = []
        """The task in each column; empty where it is free."""
        self._fresh = -1
        """The column of the task above: taken at once by another, the two would look joined."""

    def place(self, id_: str, needs: Sequence[str]) -> tuple[str, str, str]:
        """The line that joins it to what it needs, and what stands left and right of its sign."""
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
        """`+-|-+`: from every joined lane to the column of the task."""
        ends = {column, *joined}
        first, last = min(ends), max(ends)
        said = ""
        for place, one in enumerate(self._held):
            inside = first <= place <= last
            cell = "+" if place in ends else "|" if one else "-" if inside else " "
            said += cell + ("-" if first <= place < last else " ")
        return said.rstrip()
