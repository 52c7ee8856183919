"""How wide a text is in a terminal: the one place that counts columns."""

from __future__ import annotations


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
    import unicodedata  # a library of its own, which no plain text needs

    if unicodedata.combining(character) or unicodedata.category(character) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in {"W", "F"} else 1
