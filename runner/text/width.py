"""How wide a text is in a terminal: the one place that counts columns.

A line of a file with a caret under the place that is meant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.lazy_module import lazy_module
from runner.text.display import display

if TYPE_CHECKING:
    import unicodedata
else:
    unicodedata = lazy_module("unicodedata")


def columns(text: str) -> int:
    """How many terminal columns a displayed text takes (UAX 11: wide and full-width take two).

    Not rich's `cell_len`: `status` and `version` start without rich.
    """
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
    # Ambiguous ones (A) count as narrow, as UAX 11 recommends where the context is not known.
    return 2 if unicodedata.east_asian_width(character) in {"W", "F"} else 1


# --- caret ----------------------------------------------------------------------------


_TAB = 4
_LONGEST = 120
"""Characters of a line that are shown; a longer line is cut around the caret."""
_MARK = "…"


def caret(line_text: str, column: int, width: int = 1) -> str:
    """Two lines: `line_text` made visible, and `^` under `width` characters from `column`.

    `column` counts characters from 1; one beyond the line points behind its end. Tabs are shown
    as blanks, wide characters take two columns, and a line longer than 120 characters is cut.
    """
    text = line_text.rstrip("\r\n")
    start = min(max(column, 1) - 1, len(text))
    first = max(0, start - _LONGEST // 2)
    shown = text[first : first + _LONGEST]
    before = (_MARK if first else "") + _visible(shown[: start - first])
    marked = _visible(shown[start - first : start - first + max(width, 1)], columns(before))
    after = _visible(shown[start - first + max(width, 1) :], columns(before + marked))
    rest = _MARK if first + _LONGEST < len(text) else ""
    under = " " * columns(before) + "^" * max(1, columns(marked))
    return f"{before}{marked}{after}{rest}\n{under}"


def _visible(text: str, already: int = 0) -> str:
    """`text` on one line; a tab becomes the blanks up to the next stop."""
    shown = ""
    for number, piece in enumerate(text.split("\t")):
        if number:
            shown += " " * (_TAB - (already + columns(shown)) % _TAB)
        shown += display(piece)
    return shown
