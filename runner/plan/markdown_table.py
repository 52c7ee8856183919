"""Parse the one table with given columns in a Markdown file (GFM, Tables extension)."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from runner.lazy_pattern import regex
from runner.plan.inline import plain
from runner.plan.source import body_start, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


_DASHES = regex(r"^[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")
_ESCAPED = regex(r"\\\|")


class TableCell(NamedTuple):
    """A cell as written, without blanks around it; columns count from 0."""

    raw: str
    start: int
    end: int

    @property
    def text(self) -> str:
        r"""The cell's content: `\|` is a pipe, in code spans too."""
        return _ESCAPED.sub("|", self.raw)


def cells(line: str) -> tuple[TableCell, ...]:
    """Return the cells of one row, without its outer pipes."""
    bounds = [-1]
    # A row is split before inline parsing: an unescaped pipe in a code span splits (GFM, 4.10
    # Tables).
    bounds += [at for at, sign in enumerate(line) if sign == "|" and line[at - 1 : at] != "\\"]
    bounds.append(len(line))
    found = [_cell(line, left + 1, right) for left, right in pairwise(bounds)]
    if len(found) > 1 and not line[: bounds[1]].strip():
        found = found[1:]
    if len(found) > 1 and not line[bounds[-2] + 1 :].strip():
        found = found[:-1]
    return tuple(found)


def _cell(line: str, left: int, right: int) -> TableCell:
    raw = line[left:right]
    if not raw.strip():
        at = min(left + 1, right)
        return TableCell("", at, at)
    start = left + len(raw) - len(raw.lstrip())
    return TableCell(raw.strip(), start, start + len(raw.strip()))


def is_dashes(line: str) -> bool:
    """Return whether a line separates a table's head from its body."""
    return "-" in line and bool(_DASHES.match(line))


_FENCE = regex(r" {0,3}(?P<mark>`{3,}|~{3,})")
# Git's conflict markers, seven characters by default (gitattributes(5), conflict-marker-size);
# `|||||||` is the base in diff3 style.
_CONFLICT = regex(r"(?:<{7}|>{7}|\|{7})(?: |$)|={7}$")


class TableRow(NamedTuple):
    """A row of the table; `line` counts from 0, `cells` by lower-case name of their column."""

    line: int
    cells: dict[str, TableCell]


class MarkdownTable(NamedTuple):
    """A table in its file."""

    lines: tuple[str, ...]
    columns: tuple[str, ...]
    """Column names in lower case; empty if there is no such table."""
    head: int
    """Line of the head row, or -1."""
    rows: tuple[TableRow, ...]
    end: int
    """Line after the last row."""
    conflicts: tuple[int, ...]
    """Lines with conflict markers; rows of both sides are read."""


def read_sheet(data: bytes, wanted: Sequence[str]) -> MarkdownTable:
    """Return the first table outside fences with all `wanted` columns (lower case)."""
    lines = tuple(text_of(data[body_start(data) :]).split("\n"))
    conflicts = tuple(at for at, line in enumerate(lines) if _CONFLICT.match(line))
    for at in _heads(lines):
        columns = tuple(plain(cell.text).casefold() for cell in cells(lines[at]))
        if set(wanted) <= set(columns):
            rows = tuple(_rows(lines, at + 2, columns, frozenset(conflicts)))
            end = rows[-1].line + 1 if rows else at + 2
            return MarkdownTable(lines, columns, at, rows, end, conflicts)
    return MarkdownTable(lines, (), -1, (), len(lines), conflicts)


def _heads(lines: Sequence[str]) -> Iterator[int]:
    """Yield the line numbers of table heads."""
    for at, (line, fenced) in enumerate(zip(lines, _find_fenced(lines), strict=True)):
        if not fenced and "|" in line and at + 1 < len(lines) and is_dashes(lines[at + 1]):
            yield at


def _find_fenced(lines: Sequence[str]) -> Iterator[bool]:
    """Yield for every line whether it belongs to a fenced block."""
    fence = ""
    for line in lines:
        match = _FENCE.match(line)
        # A line with an info string opens and never closes (CommonMark 0.31, 4.5).
        closes = match and match["mark"].startswith(fence) and not line[match.end() :].strip()
        yield bool(fence or match)
        if not fence and match:
            fence = match["mark"]
        elif closes:
            fence = ""


def ends_fenced(data: bytes) -> bool:
    """Return whether the file ends inside an open fence."""
    lines = text_of(data[body_start(data) :]).split("\n")
    return list(_find_fenced([*lines, "", "."]))[-1]


def _rows(
    lines: Sequence[str], start: int, columns: Sequence[str], conflicts: frozenset[int]
) -> Iterator[TableRow]:
    for at in range(start, len(lines)):
        if at in conflicts:
            continue
        # GFM would parse it as a row with one cell; a sentence below a table is not one.
        if "|" not in lines[at]:
            return
        # A row may have fewer cells than the head; extra cells are ignored (GFM, 4.10 Tables).
        yield TableRow(at, dict(zip(columns, cells(lines[at]), strict=False)))
