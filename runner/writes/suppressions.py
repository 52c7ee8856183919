"""Marks that ask a gate to look away: they silence nothing here, and each new one is reported."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from itertools import islice
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from runner.model import Action, Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.model import Change

CHECK = "markers"
MOST_FINDINGS = 20
"""Of one file."""
_MOST_MARKS = 10_000
"""Of one kind in one file; a flood beyond is the same flood."""
_LONGEST_LINE = 4096
_FOREIGN_CODEC = "has Python read other text than a reader sees"
_SOURCE_LIMIT = 8 << 20


@dataclass(frozen=True, slots=True)
class Marker:
    """A kind of mark: words without which it cannot be there, its shape, and what it asks for."""

    needles: tuple[str, ...]
    pattern: re.Pattern[str]
    meaning: str


def _marker(needles: str, pattern: str, meaning: str) -> Marker:
    # `_` stands for a few blanks within a line: none of these marks reaches over two.
    shape = pattern.replace("_", r"[ \t]{0,9}")
    return Marker(tuple(needles.split()), re.compile(shape, re.IGNORECASE), meaning)


_SCANNER = "silences a security scanner"
_LINTER = "silences a linter"
_TYPES = "silences a type checker"
_COVERAGE = "hides code from coverage"
_SKIP = "skips a test"
MARKERS = (
    _marker("nosec", r"(?:#|//)_nosec\b", _SCANNER),
    _marker("nosemgrep nosonar", r"\bnosemgrep\b|\bNOSONAR\b", _SCANNER),
    _marker("list", r"pragma:_(?:allow|white)list\b", "silences a secret scan"),
    _marker("gitleaks", r"\bgitleaks:allow\b", "silences a secret scan"),
    _marker("noqa", r"#_(?:ruff:_|flake8[:=]_)?noqa\b", _LINTER),
    _marker("disable", r"(?:pylint|eslint|rubocop|shellcheck|stylelint)[-:]?_disable", _LINTER),
    _marker("nolint", r"//_nolint\b", _LINTER),
    _marker("allow(", r"#!?\[allow\(", _LINTER),
    _marker("ignore", r"(?:type|pyright|mypy):_ignore", _TYPES),
    _marker("@ts-", r"@ts-(?:ignore|nocheck|expect-error)\b", _TYPES),
    _marker("pragma", r"pragma:_no_(?:cover|branch)", _COVERAGE),
    _marker("ignore", r"(?:istanbul|c8|v8)[ \t]{1,9}ignore", _COVERAGE),
    _marker("skip xfail", r"\b(?:skip|skipif|xfail)_\(|mark\.(?:skip|xfail)\b", _SKIP),
    _marker("skip", r"\bimportorskip\b|\bSkipTest\b|@(?:unittest\.)?skip", _SKIP),
    _marker("expectedfailure", r"\bexpectedFailure\b", _SKIP),
    _marker(".skip .only .todo", r"\b(?:it|test|describe)\.(?:skip|only|todo)\b", _SKIP),
    _marker("xit xdescribe", r"\bx(?:it|describe)_\(", _SKIP),
    _marker("skip", r"\bt\.Skip(?:f|Now)?\(", _SKIP),
    _marker("ignore disabled", r"#\[ignore\b|@Disabled\b", _SKIP),
)
_CODEC = re.compile(r"^[ \t\f]*#.*?coding[:=][ \t]*(?!utf-?8\b|ascii\b|latin-?1\b)[-\w.]", re.ASCII)
_TEST_PATH = re.compile(r"(^|/)(tests?|__tests__|spec)/|(^|/)test_|_test\.|\.(test|spec)\.")
_TEST = re.compile(
    r"^[ \t]{0,40}(?:async[ \t]+)?def[ \t]+(test\w*)|^func[ \t]+(Test\w+)"
    r"|^[ \t]{0,40}(?:it|test)\([ \t]{0,9}['\"`]([^'\"`\n]{1,200})",
    re.MULTILINE,
)


def marker_findings(change: Change, before: bytes | None) -> tuple[Finding, ...]:
    """A warning for each mark a change adds and for the tests it takes away."""
    found = [*_find_removed_tests(change, before), *_new_marks(change, before)]
    more = len(found) - MOST_FINDINGS
    if more <= 0:
        return tuple(found)
    last = _warning(change.path, 0, f"{more} more of these marks in this file")
    return (*found[:MOST_FINDINGS], last)


# --- details --------------------------------------------------------------------------


def _new_marks(change: Change, before: bytes | None) -> Iterator[Finding]:
    if change.content is None or len(change.content) > _SOURCE_LIMIT:
        return
    marks = _marks(change.content)
    known = _marks(before or b"") if marks else []
    old = Counter((mark, line) for _, _, line, mark in known)
    for number, column, line, mark in marks:
        if old[mark, line] > 0:
            old[mark, line] -= 1
        else:
            yield _warning(change.path, number, f"this line adds a mark that {mark}", column)


def _marks(content: bytes) -> list[tuple[int, int, str, str]]:
    """Number, first column, text and meaning of marked lines in order, each meaning once a line."""
    text = content.decode("utf-8", "replace")
    lowered = text.lower()
    places = {(start, _FOREIGN_CODEC): start for start in _foreign_codec(text)}
    for marker in MARKERS:
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
    """Starts of a coding cookie with another codec; PEP 263 looks at two lines."""
    start = 0
    for line in text[: 2 * _LONGEST_LINE].split("\n")[:2]:
        if _CODEC.match(line):
            yield start
        start += len(line) + 1


def _find_removed_tests(change: Change, before: bytes | None) -> Iterator[Finding]:
    if before is None or not _TEST_PATH.search(change.path):
        return
    if change.action is Action.DELETE or change.content is None:
        yield _warning(change.path, 0, "this test file is deleted")
        return
    gone = Counter(_tests(before)) - Counter(_tests(change.content))
    for name in sorted(gone):
        yield _warning(change.path, 0, f"the test {name!a} is gone from this file")


def _tests(content: bytes) -> list[str]:
    text = content.decode("utf-8", "replace")
    found = islice(_TEST.finditer(text), _MOST_MARKS)
    return [next(filter(None, match.groups()), "") for match in found]


def _warning(path: str, line: int, message: str, column: int = 0) -> Finding:
    name = PurePosixPath(path).name
    return Finding(
        CHECK,
        message,
        path=path,
        line=line,
        column=column,
        severity=Severity.WARNING,
        hint=f"the runner's own checks do not heed it; say why {name} needs it, or leave it out",
    )
