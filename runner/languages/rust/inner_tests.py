"""Find test modules inside Rust product files."""

from __future__ import annotations

import re

from runner.languages.c_like_lexer import find_closing, mask_literals
from runner.languages.rust import LITERALS

_MODULE = re.compile(r"#\[cfg\(test\)\]\s*(?:#\[[^\]]*\]\s*)*(?:pub\s+)?mod\s+(?P<name>\w+)\s*\{")


def find_inner_tests(source: str) -> list[tuple[int, int]]:
    """Return start and end of the test modules in a source file, in order."""
    mask = mask_literals(source, LITERALS)
    found = (match for match in _MODULE.finditer(mask))
    return [(one.start(), find_closing(mask, one.end() - 1) + 1) for one in found]
