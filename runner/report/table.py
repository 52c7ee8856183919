"""Plain text tables: aligned, aware of wide characters, readable without colour."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from runner.text.display import display

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


def columns(text: str) -> int:
    """How many terminal columns a displayed text takes (UAX 11: wide and full-width take two)."""
    if text.isascii():
        return len(text)
    return sum(map(_columns_of, text))


def pad(text: str, size: int, *, right: bool = False) -> str:
    """`text` in `size` columns."""
    blanks = " " * (size - columns(text))
    return blanks + text if right else text + blanks


def cut(text: str, size: int) -> str:
    """`text` in at most `size` columns; what was cut off shows as `…`."""
    if columns(text) <= size:
        return text
    kept, used = "", 0
    for character in text:
        used += _columns_of(character)
        if used > size - 1:
            break
        kept += character
    return kept.rstrip() + "…"


def _columns_of(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in {"W", "F"} else 1


def _is_number(cell: str) -> bool:
    return cell.removesuffix("%").removesuffix(" s").replace(".", "", 1).isdecimal() or cell in {
        "",
        "—",
    }
