"""Plain text tables: aligned, aware of wide characters, readable without colour."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.text.display import display
from runner.text.width import columns, cut, pad

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

GAP = "  "


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, width: int = 0) -> str:
    """Head and rows in columns, each line ended, no blanks at line ends.

    All cells are displayed. `width` is the terminal's: then the last column is cut to fit; 0
    cuts nothing. Numbers are aligned to the right.
    """
    shown = [[display(cell) for cell in row] for row in (head, *rows)]
    widths = [max(map(columns, column)) for column in zip(*shown, strict=True)]
    numeric = [
        len(shown) > 1 and all(_is_number(row[place]) for row in shown[1:])
        for place in range(len(widths))
    ]
    lines = (
        GAP.join(
            pad(cell, size, right=right)
            for cell, size, right in zip(row, widths, numeric, strict=True)
        ).rstrip()
        for row in shown
    )
    return "".join((cut(line, width) if width else line) + "\n" for line in lines)


def _is_number(cell: str) -> bool:
    return cell.removesuffix("%").removesuffix(" s").replace(".", "", 1).isdecimal() or cell in {
        "",
        "—",
    }
