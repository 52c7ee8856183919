"""Where Go asks how its program was started, by a name that it gave to arguments or executable."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runner.lazy_pattern import regex

if TYPE_CHECKING:
    from collections.abc import Iterator

_BOUND = regex(
    r"(?m)^[ \t]*(?:for[ \t]+\w+|if|var)?[ \t]*,?[ \t]*(?P<name>\w+)(?:[ \t]*,[ \t]*\w+)?[ \t]*:?="
    r"[ \t]*(?:range[ \t]+)?[^\n]*\bos\.(?:Args\b(?:\[0\])?|Executable\(\))"
)
_PROGRAM = regex(r"os\.(?:Args\[0\]|Executable\(\))")
_TOLD = (
    r'\b%s\b[^\n]*"(?P<word>(?:[^"\n-]*[^A-Za-z"\n-]|-)?(?:test|spec)(?:[^A-Za-z"\n-][^"\n]*)?)"'
)


def in_go(text: str) -> Iterator[tuple[int, str]]:
    """Where such a name stands on a line with a word of tests, and the word; to its function's end.

    `text` is without comments.
    """
    for bound in _BOUND.finditer(text):
        end = text.find("\n}", bound.end())
        here = text[: end if end >= 0 else len(text)]
        told = re.compile(_TOLD % re.escape(bound["name"]))
        for match in told.finditer(here, bound.end()):
            # `test` alone may be a command of a program's own, where it is no part of its name.
            if _PROGRAM.search(bound[0]) or not match["word"].isalpha():
                yield match.start(), match["word"]
