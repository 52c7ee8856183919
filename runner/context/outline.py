"""What each source file offers and names, read by pattern: names, lines, words of its imports.

Lighter than the syntax trees of `impact`, which a repository of 5,000 files has no time for before
every attempt; whether an import really leads somewhere is asked there, of the few in question.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from runner.languages.registry import is_source, language_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.languages.base import OutlinePatterns

_MOST_NAMES = 40
_WORD = re.compile(r"[A-Za-z_$][\w$-]*")
_LARGEST = 1_000_000
"""Bytes of a file that is read for its outline; larger ones were generated."""


class Outline(NamedTuple):
    """One source file."""

    names: str
    """What it exports, in its own order, between blanks."""
    lines: int
    mentions: str
    """Every word of its imports, each between blanks."""


EMPTY = Outline("", 0, "")


def outline_of(path: str, content: bytes) -> Outline:
    """What one file offers; nothing for a language that is not known, or a huge file."""
    language = language_of(path) if is_source(path) else None
    patterns = language.outline if language else None
    if patterns is None or len(content) > _LARGEST:
        return EMPTY
    text = content.decode("utf-8", "replace")
    names = " ".join([*dict.fromkeys(_find_offered(patterns, text))][:_MOST_NAMES])
    imports = re.finditer(patterns.imports, text, re.MULTILINE)
    said = " ".join(part for found in imports for part in found.groups(""))
    words = " ".join(sorted({*_WORD.findall(said)}))
    lines = text.count("\n") + (not text.endswith("\n") and bool(text))
    return Outline(names, lines, f" {words} ")


def _find_offered(patterns: OutlinePatterns, text: str) -> Iterator[str]:
    for match in re.finditer(patterns.offers, text, re.MULTILINE):
        for part in match.groups(""):
            for one in part.split(",") if part else ():
                words = _WORD.findall(one.rpartition(" as ")[2].partition(":")[0])
                yield from words[:1]
