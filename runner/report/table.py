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
    columns_shown = list(map(_shown, zip(head, *rows, strict=True)))
    if all(plain for _, plain in columns_shown):
        lines = _plain_lines([cells for cells, _ in columns_shown])
    else:
        padded = [_padded(cells) for cells, _ in columns_shown]
        lines = map(GAP.join, zip(*padded, strict=True))
    shown = (cut(line.rstrip(), width) if width else line.rstrip() for line in lines)
    return "".join(f"{line}\n" for line in shown)


def _shown(cells: Sequence[str]) -> tuple[Sequence[str], bool]:
    """The cells of a column as they are shown, and whether each character takes one column."""
    # A plan of 10,000 tasks has 40,000 cells, hardly one of which is more than ASCII: all of a
    # column are looked at together.
    together = "".join(cells)
    if together.isascii():
        return cells if together.isprintable() else list(map(display, cells)), True
    return list(map(display, cells)), False


def _is_right(column: Sequence[str]) -> bool:
    """Whether a column, its head first, has numbers alone."""
    return len(column) > 1 and all(map(_is_number, column[1:]))


def _plain_lines(cells: Sequence[Sequence[str]]) -> Iterator[str]:
    """The lines of a table of which each character takes one column."""
    sizes = [f"{'' if _is_right(column) else '-'}{max(map(len, column))}" for column in cells]
    return map(GAP.join(f"%{size}s" for size in sizes).__mod__, zip(*cells, strict=True))


def _padded(column: Sequence[str]) -> Iterator[str]:
    """The cells of a column, its head first, each as wide as the widest."""
    right = _is_right(column)
    size = max(map(columns, column))
    return (pad(cell, size, right=right) for cell in column)


def _is_number(cell: str) -> bool:
    return cell.removesuffix("%").removesuffix(" s").replace(".", "", 1).isdecimal() or cell in {
        "",
        "—",
    }
