"""Where the runner writes in a task's section: the status value, and the place of a quote."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runner.plan.fields import PlanField, Style
from runner.plan.markdown import Kind, Node
from runner.plan.status import StatusSpan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runner.plan.body import Body
    from runner.plan.source import Source


def status_span(heading: Node, below: Sequence[Node], body: Body, source: Source) -> StatusSpan:
    """The bytes of the task's status, or where to insert one that is missing.

    A missing one goes before the first field, in the style of that field; without fields it makes
    a list right under the heading.
    """
    existing = next((field for field in body.fields if field.key == "status"), None)
    if existing:
        return _value_span(existing, source)
    if body.holders:
        first = body.fields[0]
        match first.style:
            case Style.TABLE:
                return _new_row(body.holders[0], source)
            case Style.LIST:
                return _new_item(body.holders[0], source)
            case Style.LINE:
                return _new_line(first, source)
    return _new_list(heading, below, source)


def _value_span(field: PlanField, source: Source) -> StatusSpan:
    start, end = source.byte(*field.start), source.byte(*field.end)
    line, column = field.start
    needs_blank = start == end and source.lines[line][column - 1 : column] not in (" ", "\t")
    return StatusSpan(start, end, " " if needs_blank else "")


def _at_line(source: Source, line: int, before: str, after: str) -> StatusSpan:
    """An insertion of a whole line before `line`."""
    at = source.byte(line, 0)
    return StatusSpan(at, at, before, after + "\n")


def _new_item(node: Node, source: Source) -> StatusSpan:
    line = node.items[0].start
    raw = source.lines[line]
    lead = raw[: len(raw) - len(raw.lstrip())]
    marker = re.match(r"(?:[-*+]|\d+[.)])[ \t]+", raw.lstrip())
    return _at_line(source, line, f"{lead}{marker[0] if marker else '- '}Status: ", "")


def _new_line(field: PlanField, source: Source) -> StatusSpan:
    line = field.name.line
    raw = source.lines[line]
    lead = raw[: len(raw) - len(raw.lstrip())]
    bare = raw.lstrip()
    mark = bare[: bare.index(field.name.text[0])]
    behind = bare[len(mark) + len(field.name.text) :]
    name = f"{mark}Status{mark}:" if mark and behind.startswith(mark) else f"{mark}Status:{mark}"
    # Two blanks or a backslash keep the lines of a paragraph apart where it is rendered (CommonMark
    # 0.31, 6.7).
    ending = raw[len(raw.rstrip(" \t\\")) :] or ("" if not mark else "  ")
    return _at_line(source, line, f"{lead}{name} ", ending)


def _new_row(node: Node, source: Source) -> StatusSpan:
    raw = source.lines[node.start]
    lead = raw[: len(raw) - len(raw.lstrip())]
    open_pipe, close_pipe = raw.strip().startswith("|"), raw.strip().endswith("|")
    before = f"{lead}{'| ' if open_pipe else ''}Status | "
    after = " |" if close_pipe else ""
    # Behind the head and its dashes: what stands above them would be the head (GFM, 4.10 Tables).
    line = node.start + 2
    if line >= len(source.lines):
        return _at_end(source, before, after)
    return _at_line(source, line, before, after)


def _at_end(source: Source, before: str, after: str) -> StatusSpan:
    """A new last line behind one that has no line end."""
    last = len(source.lines) - 1
    at = source.byte(last, len(source.lines[last]))
    return StatusSpan(at, at, "\n" + before, after)


def _new_list(heading: Node, below: Sequence[Node], source: Source) -> StatusSpan:
    name = _marker(heading, below, source)
    if heading.end >= len(source.lines):
        return _at_end(source, "\n" + name, "")
    at = source.byte(heading.end, 0)
    blank_follows = heading.end >= source.line_count or not source.lines[heading.end].strip(" \t")
    return StatusSpan(at, at, "\n" + name, "\n" if blank_follows else "\n\n")


def _marker(heading: Node, below: Sequence[Node], source: Source) -> str:
    """What a new list begins with, so that what follows stays outside of it."""
    follows = next((line for line in source.lines[heading.end :] if line.strip(" \t")), "")
    # Behind a list, indented text would be a part of its item (CommonMark 0.31, 5.2); a paragraph
    # takes none in.
    if follows.startswith((" ", "\t")):
        return "**Status:** "
    # With the same mark the two lists would be one; another mark begins a list of its own
    # (CommonMark 0.31, 5.3).
    dashes = bool(below) and below[0].kind is Kind.LIST and below[0].markup == "-"
    return "* Status: " if dashes else "- Status: "
