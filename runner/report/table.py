"""Plain text tables: aligned, aware of wide characters, readable without colour."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.text.display import columns, cut, display, pad

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

GAP = "  "


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, width: int = 0) -> str:
    """Head and rows in columns, each line ended, no blanks at line ends.

    All cells are displayed. `width` is the terminal's: then the last column is cut to fit; 0
    cuts nothing. Numbers are aligned to the right.
    """
    shown = [[display(cell) for cell in row] for row in (head, *rows)]
    padded = [_padded(column) for column in zip(*shown, strict=True)]
    lines = (GAP.join(row).rstrip() for row in zip(*padded, strict=True))
    return "".join((cut(line, width) if width else line) + "\n" for line in lines)


def _padded(column: Sequence[str]) -> Iterator[str]:
    """The cells of a column, its head first, each as wide as the widest."""
    right = len(column) > 1 and all(map(_is_number, column[1:]))
    # A plan of 10,000 tasks has 40,000 cells, hardly one of which is more than ASCII.
    if all(map(str.isascii, column)):
        size = max(map(len, column))
        return (cell.rjust(size) if right else cell.ljust(size) for cell in column)
    size = max(map(columns, column))
    return (pad(cell, size, right=right) for cell in column)


def _is_number(cell: str) -> bool:
    return cell.removesuffix("%").removesuffix(" s").replace(".", "", 1).isdecimal() or cell in {
        "",
        "—",
    }
