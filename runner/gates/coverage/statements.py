"""Executable lines of a Python file, told by coverage.py's own parser without its exclusions."""

from __future__ import annotations

import io
import re
import tokenize
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from runner.text.syntax import one_at_a_time

if TYPE_CHECKING:
    from collections.abc import Iterable

_FOR_CHECKERS = r"^\s*if (?:typing\.)?TYPE_CHECKING:"
_NO_BODY = r"^\s*(?:(?:(?:async )?def .*?)?\)(?:\s*->.*?)?:\s*)?\.\.\.\s*(?:#|$)"
_SET = re.compile(r"^\s*TYPE_CHECKING\s*(?::[^=\n]+)?=(?!\s*False\s*$)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Statements:
    """The lines on which statements of a file begin, and where each other line belongs."""

    first: frozenset[int]
    _begins: dict[int, int]

    def of(self, lines: Iterable[int]) -> frozenset[int]:
        """The statements that any of these lines belongs to."""
        return frozenset(self._begins.get(line, line) for line in lines) & self.first


@lru_cache(maxsize=256)
def statements(content: bytes) -> Statements | None:
    """The statements of a Python file; None for what this Python cannot read.

    Left out is only what never runs anywhere: docstrings, blocks for type checkers and bodies
    that are `...`. A comment such as `pragma: no cover` hides nothing.
    """
    with one_at_a_time():  # a second thread would find them half imported
        from coverage.exceptions import CoverageException
        from coverage.parser import PythonParser

    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
        text = content.decode(encoding)
        hidden = (_NO_BODY,) if _SET.search(text) else (_NO_BODY, _FOR_CHECKERS)
        with one_at_a_time():
            parser = PythonParser(text=text, filename="x.py", exclude="|".join(hidden))
            parser.parse_source()
    except (CoverageException, SyntaxError, ValueError, LookupError, RecursionError, MemoryError):
        return None
    many = range(1, text.count("\n") + 2)
    begins = {line: first for line in many if (first := parser.first_line(line)) != line}
    return Statements(frozenset(parser.statements), begins)
