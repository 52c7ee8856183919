"""Hints that help a person to the word they meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Iterable

_LONGEST_WORD = 100


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`did you mean "status"?` for the known word nearest to `word`, or an empty text."""
    near = nearest(word, known)
    return f'did you mean "{display(near)}"?' if near else ""


def nearest(word: str, known: Iterable[str]) -> str:
    """The known word nearest to `word`, letter case ignored; empty when none is near."""
    if not word or len(word) > _LONGEST_WORD:
        return ""  # nobody mistypes a hundred letters, and matching them is not free
    from difflib import get_close_matches

    spelling = {entry.casefold(): entry for entry in known}
    found = get_close_matches(word.casefold(), list(spelling), n=1)
    return spelling[found[0]] if found else ""
