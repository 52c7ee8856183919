"""Plain text tables: aligned, aware of wide characters, readable without colour."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.text.display import columns, cut, display, pad

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

GAP = "  "


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, width: int = 0) -> str:
    """Return head and rows in aligned columns, without spaces at line ends.

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
    """Return a column's cells for display, and whether all characters are one column wide."""
    # A plan of 10,000 tasks has 40,000 cells, nearly all of them ASCII: check a whole column at
    # once.
    together = "".join(cells)
    if together.isascii():
        return cells if together.isprintable() else list(map(display, cells)), True
    return list(map(display, cells)), False


def _is_right(column: Sequence[str]) -> bool:
    """Return whether a column after its head contains only numbers."""
    return len(column) > 1 and all(map(_is_number, column[1:]))


def _plain_lines(cells: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table whose characters are all one column wide."""
    sizes = [f"{'' if _is_right(column) else '-'}{max(map(len, column))}" for column in cells]
    return map(GAP.join(f"%{size}s" for size in sizes).__mod__, zip(*cells, strict=True))


def _padded(column: Sequence[str]) -> Iterator[str]:
    """Yield the cells of a column padded to the widest one."""
    right = _is_right(column)
    size = max(map(columns, column))
    return (pad(cell, size, right=right) for cell in column)


def _is_number(cell: str) -> bool:
    return cell.removesuffix("%").removesuffix(" s").replace(".", "", 1).isdecimal() or cell in {
        "",
        "—",
    }
