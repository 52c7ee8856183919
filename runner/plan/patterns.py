"""PATTERN_INDEX.md: the pattern library, and the patterns that fit a task."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct

from runner.lazy_pattern import regex
from runner.plan.markdown_text import TableRow, plain, read_sheet, words

if TYPE_CHECKING:
    from collections.abc import Iterable

_ID = regex(r"PATTERN[-_ ]?(\d+)\Z", re.IGNORECASE)
_DIGITS = 3
_WORD = regex(r"\w+")
_DOMAIN, _STACK, _KEYWORD, _TITLE = 3, 4, 2, 1


class Pattern(Struct, frozen=True):
    """A row of the index; `file` holds the pattern's text."""

    id: str
    title: str
    domain: str = ""
    stack: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    file: str = ""


class PatternMatch(Struct, frozen=True):
    """A pattern that fits, how well, and what it was that fitted."""

    pattern: Pattern
    score: int
    because: tuple[str, ...]


class PatternIndex(Struct, frozen=True):
    """The patterns in the order of the index."""

    patterns: tuple[Pattern, ...]

    @classmethod
    def read(cls, data: bytes) -> PatternIndex:
        """Parse the index in a file; rows without a PATTERN ID are ignored."""
        rows = read_sheet(data, ("pattern", "title")).rows
        return cls(tuple(pattern for row in rows if (pattern := _pattern(row))))

    def match(
        self,
        kind: str,
        stack: Iterable[str],
        keywords: Iterable[str],
        forced: Iterable[str] = (),
        limit: int = 3,
    ) -> tuple[PatternMatch, ...]:
        """Return the best matching patterns: forced ones first, then by score and order.

        A domain equal to the task's type counts 3, a common stack 4, a keyword 2 and a word of the
        title 1; a pattern for another stack alone never fits.
        """
        wanted = [pattern_id(name) for name in forced]
        by_id = {pattern.id: pattern for pattern in self.patterns}
        first = [PatternMatch(by_id[name], 0, ("forced",)) for name in wanted if name in by_id]
        task = _Wanted(kind, stack, keywords)
        scored = [task.judge(pattern) for pattern in self.patterns if pattern.id not in wanted]
        fitting = sorted((match for match in scored if match.score), key=lambda match: -match.score)
        return (*first, *fitting[: max(0, limit - len(first))])


def pattern_id(text: str) -> str:
    """Return a pattern ID in canonical spelling (`pattern 1` is PATTERN-001)."""
    match = _ID.match(text.strip())
    return f"PATTERN-{match[1].zfill(_DIGITS)}" if match else text.strip()


def _pattern(row: TableRow) -> Pattern | None:
    texts = {column: cell.text for column, cell in row.cells.items()}
    name = pattern_id(plain(texts.get("pattern", "")))
    if not _ID.match(name):
        return None
    files = words(texts.get("file", ""))
    return Pattern(
        id=name,
        title=plain(texts.get("title", "")),
        domain=plain(texts.get("domain", "")).casefold(),
        stack=_words(texts.get("stack", "")),
        keywords=_words(texts.get("keywords", "")),
        file=files[0].text if files else "",
    )


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.text if word.code else plain(word.text) for word in words(text))


class _Wanted:
    """The search terms of a task, case-folded once for all patterns."""

    def __init__(self, kind: str, stack: Iterable[str], keywords: Iterable[str]) -> None:
        self._kind = kind.casefold()
        self._stack = {name.casefold() for name in stack}
        self._keywords = {word.casefold() for word in keywords}

    def judge(self, pattern: Pattern) -> PatternMatch:
        theirs = {name.casefold() for name in pattern.stack}
        if theirs and self._stack and not theirs & self._stack:
            return PatternMatch(pattern, 0, ())
        reasons: list[tuple[int, str]] = []
        if self._kind and pattern.domain == self._kind:
            reasons.append((_DOMAIN, f"domain {pattern.domain}"))
        reasons += [(_STACK, f"stack {name}") for name in sorted(theirs & self._stack)]
        ours = {word.casefold() for word in pattern.keywords} & self._keywords
        reasons += [(_KEYWORD, f"keyword {word}") for word in sorted(ours)]
        title = set(_WORD.findall(pattern.title.casefold())) & self._keywords - ours
        reasons += [(_TITLE, f"title {word}") for word in sorted(title)]
        return PatternMatch(
            pattern, sum(score for score, _ in reasons), tuple(why for _, why in reasons)
        )
