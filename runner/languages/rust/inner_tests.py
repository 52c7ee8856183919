"""Modules of tests in Rust files, and tests of before beside code that they do not compile with."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runner.languages.c_like_lexer import find_closing, line_of, mask_literals
from runner.languages.rust import LITERALS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_MODULE = re.compile(r"#\[cfg\(test\)\]\s*(?:#\[[^\]]*\]\s*)*(?:pub\s+)?mod\s+(?P<name>\w+)\s*\{")
_FN = re.compile(
    r"(?:#\[[^\]]*\]\s*)*(?:pub(?:\([^)]*\))?\s+)?(?:(?:async|const|unsafe)\s+)*"
    r"fn\s+\w+[^{;]*\{"
)
_USE = re.compile(r"^[ \t]*(?:pub\s+)?use\s[^;]*;", re.MULTILINE)


def find_inner_tests(source: str) -> list[tuple[int, int]]:
    """Where modules of tests in a file of the product begin and end, in their order."""
    mask = mask_literals(source, LITERALS)
    found = (match for match in _MODULE.finditer(mask))
    return [(one.start(), find_closing(mask, one.end() - 1) + 1) for one in found]


def loosen_tests(
    tests: Mapping[str, str], product: Mapping[str, str], errors: Mapping[str, frozenset[int]]
) -> dict[str, str]:
    """Tests without the functions and the `use` in which the compiler met errors.

    What used those does not compile in its turn, and goes next. In a file of the product only its
    modules of tests are touched.
    """
    del product
    found = {}
    for path, lines in errors.items():
        source = tests.get(path, "")
        kept = source
        for start, end in sorted(_wrong(source, lines), reverse=True):
            kept = kept[:start] + kept[end:]
        if kept != source:
            found[path] = kept
    return found


def _wrong(source: str, lines: frozenset[int]) -> Iterator[tuple[int, int]]:
    mask = mask_literals(source, LITERALS)
    ours = find_inner_tests(source) or [(0, len(source))]
    past = 0
    for match in re.finditer(f"{_FN.pattern}|(?P<use>{_USE.pattern})", mask, re.MULTILINE):
        if match.start() < past or not any(a <= match.start() < b for a, b in ours):
            continue
        end = match.end() if match["use"] else find_closing(mask, match.end() - 1) + 1
        past = end
        first, last = line_of(source, match.start()), line_of(source, end)
        if any(first <= line <= last for line in lines):
            yield match.start(), end
