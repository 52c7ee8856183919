"""Rows of a pipe table: the cells of a line and where they stand (GFM, Tables extension)."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import NamedTuple

_DASHES = re.compile(r"^[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")
_ESCAPED = re.compile(r"\\\|")


class Cell(NamedTuple):
    """A cell as written, without blanks around it; columns count from 0."""

    raw: str
    start: int
    end: int

    @property
    def text(self) -> str:
        r"""The cell's content: `\|` is a pipe, in code spans too."""
        return _ESCAPED.sub("|", self.raw)


def cells(line: str) -> tuple[Cell, ...]:
    """The cells of one row; pipes at its ends are no separators."""
    bounds = [-1]
    bounds += [at for at, sign in enumerate(line) if sign == "|" and line[at - 1 : at] != "\\"]
    bounds.append(len(line))
    found = [_cell(line, left + 1, right) for left, right in pairwise(bounds)]
    if len(found) > 1 and not line[: bounds[1]].strip():
        found = found[1:]
    if len(found) > 1 and not line[bounds[-2] + 1 :].strip():
        found = found[:-1]
    return tuple(found)


def _cell(line: str, left: int, right: int) -> Cell:
    raw = line[left:right]
    if not raw.strip():
        at = min(left + 1, right)
        return Cell("", at, at)
    start = left + len(raw) - len(raw.lstrip())
    return Cell(raw.strip(), start, start + len(raw.strip()))


def is_dashes(line: str) -> bool:
    """Whether a line separates a table's head from its body."""
    return "-" in line and bool(_DASHES.match(line))
