"""Find new suppression comments for linters and analysers, and report them.

A mark for a security scanner, a secret scan or a test is a warning at its line. Marks for linters
and type checkers are one note a file with their number.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from itertools import islice
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from runner.languages.base import LINTER, SCANNER, SKIP, TYPES, Marker
from runner.languages.registry import all_languages
from runner.lazy_pattern import regex
from runner.model import Finding, Severity
from runner.text.wording import plural

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.model import Change

CHECK = "markers"
MOST_FINDINGS = 20
"""Maximum findings of one file."""
_MOST_MARKS = 10_000
"""Maximum of one kind in one file; further ones add no information."""
_LONGEST_LINE = 4096
_FOREIGN_CODEC = "makes Python read text that differs from what an editor shows"
_SOURCE_LIMIT = 8 << 20


# Of languages without a parser here, or of tools for several languages.
_COMMON = (
    Marker("nosemgrep nosonar", r"\bnosemgrep\b|\bNOSONAR\b", SCANNER),
    Marker("list", r"pragma:_(?:allow|white)list\b", "silences a secret scan"),
    Marker("gitleaks", r"\bgitleaks:allow\b", "silences a secret scan"),
    Marker("disable", r"(?:rubocop|shellcheck|stylelint)[-:]?_disable", LINTER),
    Marker("disabled", r"@Disabled\b", SKIP),
)


class _Shape(NamedTuple):
    """A marker as it is looked for."""

    needles: tuple[str, ...]
    pattern: re.Pattern[str]
    meaning: str


@cache
def _shapes() -> tuple[_Shape, ...]:
    """Return the suppression markers of all languages."""
    known = (*_COMMON, *(marker for language in all_languages() for marker in language.markers))
    return tuple(
        _Shape(
            tuple(one.needles.split()),
            regex(one.pattern.replace("_", r"[ \t]{0,9}"), re.IGNORECASE),
            one.meaning,
        )
        for one in known
    )


# The expression of PEP 263. In a codec such as `utf-7` apparent comments may be code.
_CODEC = regex(r"^[ \t\f]*#.*?coding[:=][ \t]*(?!utf-?8\b|ascii\b|latin-?1\b)[-\w.]", re.ASCII)
_COUNTED = frozenset((LINTER, TYPES))


def marker_findings(change: Change, before: bytes | None) -> tuple[Finding, ...]:
    """Return a warning for each mark that a change adds, and a note that counts the others."""
    new = tuple(_new_marks(change, before))
    found = [
        _report(change.path, number, f"this new line {mark}", column)
        for number, column, mark in new
        if mark not in _COUNTED
    ]
    more = len(found) - MOST_FINDINGS
    if more > 0:
        text = f"{more} more such lines in this file"
        found[MOST_FINDINGS:] = [_report(change.path, 0, text)]
    counted = [number for number, _, mark in new if mark in _COUNTED]
    if counted:
        text = f"{plural(len(counted), 'new suppression')} of linters or type checkers"
        found.append(_report(change.path, counted[0], text, severity=Severity.NOTE))
    return tuple(found)


def _new_marks(change: Change, before: bytes | None) -> Iterator[tuple[int, int, str]]:
    """Yield line, column and meaning of each new mark."""
    if change.content is None or len(change.content) > _SOURCE_LIMIT:
        return
    marks = _marks(change.content)
    known = _marks(before or b"") if marks else []
    old = Counter((mark, line) for _, _, line, mark in known)
    for number, column, line, mark in marks:
        if old[mark, line] > 0:
            old[mark, line] -= 1
        else:
            yield number, column, mark


def _marks(content: bytes) -> list[tuple[int, int, str, str]]:
    """Return line number, first column, text and meaning of each mark, once a line and meaning."""
    text = content.decode("utf-8", "replace")
    lowered = text.lower()
    places = {(start, _FOREIGN_CODEC): start for start in _foreign_codec(text)}
    for marker in _shapes():
        if any(needle in lowered for needle in marker.needles):
            for found in islice(marker.pattern.finditer(text), _MOST_MARKS):
                start = text.rfind("\n", 0, found.start()) + 1
                first = places.get((start, marker.meaning), found.start())
                places[start, marker.meaning] = min(first, found.start())
    marks, number, at = [], 1, 0
    for (start, meaning), place in sorted(places.items()):
        number, at = number + text.count("\n", at, start), start
        marks.append((number, place - start + 1, _line(text, start), meaning))
    return marks


def _line(text: str, start: int) -> str:
    end = text.find("\n", start)
    return text[start : end if end >= 0 else len(text)][:_LONGEST_LINE].strip()


def _foreign_codec(text: str) -> Iterator[int]:
    """Yield the starts of a coding cookie with another codec in the first two lines (PEP 263)."""
    start = 0
    for line in text[: 2 * _LONGEST_LINE].split("\n")[:2]:
        if _CODEC.match(line):
            yield start
        start += len(line) + 1


def _report(
    path: str, line: int, message: str, column: int = 0, severity: Severity = Severity.WARNING
) -> Finding:
    name = PurePosixPath(path).name
    return Finding(
        CHECK,
        message,
        path=path,
        line=line,
        column=column,
        severity=severity,
        hint=f"the runner's own checks ignore suppressions; explain why {name} needs this one",
    )
