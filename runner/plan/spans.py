"""Find the position of a task's value in TASK-GRAPH.md when a message needs it."""

from __future__ import annotations

from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from runner.model import Severity
from runner.plan.body import read_body
from runner.plan.markdown import Cuts, Kind, piece_at
from runner.plan.markdown_text import plain
from runner.plan.plain_sections import plain_fields
from runner.plan.scanner import may_scan, task_lines
from runner.plan.source import Problem, Run, body_start, text_of
from runner.plan.task_ids import task_id
from runner.plan.values import locate_values

if TYPE_CHECKING:
    from runner.model import Task
    from runner.plan.fields import PlanField


_REMEMBERED = 64
"""Sections whose fields are cached, for several questions about one task."""


class Position(NamedTuple):
    """A place to point at; `line` and `column` count from 1."""

    line: int
    column: int
    width: int
    source_line: str


class Spans:
    """The places of one file. Keeps no place of its own: a section is read again when asked for."""

    def __init__(self, data: bytes, path: str) -> None:
        self.path = path
        self._data = data
        # By heading line; not a cache around a method, which would keep the whole text alive until
        # a cycle collection.
        self._known: dict[int, tuple[PlanField, ...]] = {}

    def heading(self, task: Task) -> Position:
        """Return the position of a task's heading."""
        line = self._line(task.line)
        column = len(line) - len(line.lstrip("# \t"))
        return Position(task.line, column + 1, max(1, len(line[column:].rstrip())), line)

    def find(self, task: Task, key: str, text: str = "") -> Position:
        """Return the position of `text` in a task's field, else the field's, else the heading's."""
        fields = [field for field in self._read(task.line) if field.key == key]
        for field in fields:
            if text and (run := _at(field, text)):
                return self._position(task, run)
        if fields:
            return self._position(task, fields[0].name)
        return self.heading(task)

    def at_line(self, line: int, text: str = "") -> Position:
        """Return the position of a text on a known line."""
        source = self._line(line)
        column = max(source.find(text), len(source) - len(source.lstrip()), 0)
        return Position(line, column + 1, max(1, len(text)), source)

    def problem(
        self, at: Position, message: str, hint: str, severity: Severity = Severity.ERROR
    ) -> Problem:
        """Return a problem at a place in this file."""
        return Problem(
            message, self.path, at.line, at.column, hint, severity, at.source_line, at.width
        )

    def text(self) -> str:
        """Return the file's text with LF line ends."""
        return text_of(self._data)

    def _position(self, task: Task, run: Run) -> Position:
        line = task.line + run.line
        return Position(line, run.column + 1, max(1, len(run.text)), self._line(line))

    def _read(self, line: int) -> tuple[PlanField, ...]:
        if line not in self._known:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[line] = self._read_fields(line)
        return self._known[line]

    def _read_fields(self, line: int) -> tuple[PlanField, ...]:
        """Return the fields of the section whose heading is on `line`, with relative lines."""
        start = self._starts[line - 1]
        if self._may_scan and (lines := task_lines(self._data, start)):
            head = self._data.count(b"\n", start, lines.first)
            return tuple(plain_fields(self._data[lines.first : lines.below], head))
        piece = piece_at(self._data, start, line, self._cuts)
        below = piece.nodes[1:]
        stop = next((at for at, node in enumerate(below) if node.kind is Kind.HEADING), len(below))
        return tuple(read_body(below[:stop], piece.source).fields)

    @cached_property
    def _may_scan(self) -> bool:
        return may_scan(self._data)

    @cached_property
    def _cuts(self) -> Cuts:
        return Cuts(self._data)

    @cached_property
    def _starts(self) -> list[int]:
        """The byte at which each line begins."""
        lengths = map(len, self._data.splitlines(keepends=True))
        starts = list(accumulate(lengths, initial=0))[:-1]
        if starts:
            starts[0] = body_start(self._data)
        return starts

    def _line(self, line: int) -> str:
        ends = [*self._starts[line : line + 1], len(self._data)]
        return text_of(self._data[self._starts[line - 1] : ends[0]]).rstrip("\n")


def _at(field: PlanField, text: str) -> Run | None:
    """Return the place of `text` in the values of a field, or None."""
    for entry in locate_values(field):
        spelled = plain(entry.text)
        if text in (entry.text, entry.text.removeprefix("./"), task_id(spelled)):
            return Run("x" * entry.width, entry.line, entry.column)
    for value in field.values:
        for run in value.runs:
            if (column := run.text.casefold().find(text.casefold())) >= 0:
                return Run(text, run.line, run.column + column)
    return None
