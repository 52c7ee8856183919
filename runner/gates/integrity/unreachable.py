"""What keeps an assertion from speaking, in source of languages with braces."""

from __future__ import annotations

import re

from runner.gates.integrity import assertions
from runner.gates.integrity.c_like_lexer import find_closing

_NEVER = re.compile(r"\b(?:if|while)\s*\(?\s*(?:false|0)\s*\)?\s*(?=\{)")
_TRY = re.compile(r"\btry\s*(?=\{)")
_CATCH = re.compile(r"\s*catch\s*(?:\([^)]*\))?\s*(?=\{)")
_RETURN = re.compile(r"(?:\A|[;{}\n])\s*return\b[ \t]*;?[ \t]*(?=\n|\})")
_RAISED = re.compile(r"\bthrow\b|\bfail\s*\(|\bexpect\b|\bassert\b|\bdone\s*\(")


def guards_of(mask: str, start: int, at: int) -> frozenset[str]:
    """What stands before the place `at` in a body that begins at `start`."""
    found = set()
    if any(at < end for _, end in _blocks(mask, _NEVER, start, at)):
        found.add(assertions.NEVER)
    for _, end in _blocks(mask, _TRY, start, at):
        handler = _CATCH.match(mask, end + 1)
        if at < end and handler:
            caught = mask[handler.end() : find_closing(mask, handler.end())]
            if not _RAISED.search(caught):
                found.add(assertions.SWALLOWED)
    if _RETURN.search(mask, start, at):
        found.add(assertions.AFTER_RETURN)
    return frozenset(found)


def _blocks(mask: str, opening: re.Pattern[str], start: int, at: int) -> list[tuple[int, int]]:
    found = (match.end() for match in opening.finditer(mask, start, at))
    return [(begin, find_closing(mask, begin)) for begin in found]
