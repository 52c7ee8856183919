"""The shape of a plan: what can be folded, and its outline."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from runner.editor.mentions import outside_fences
from runner.editor.source_text import Place, Span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.editor.open_plan import OpenPlan
    from runner.editor.source_text import SourceText
    from runner.model import Task

_LEVELS = 6
_HEADING = re.compile(r"\ufeff?(?P<level>#{1,6})[ \t]+(?P<text>.*?)[ \t]*#*[ \t]*$")


class Heading(NamedTuple):
    """A heading and what stands below it, up to the next one of its level or a higher one."""

    name: str
    detail: str
    is_task: bool
    level: int
    span: Span
    line: Span
    """The heading itself."""
    inside: tuple[Heading, ...] = ()


class Fold(NamedTuple):
    """Lines that can be folded into the first one."""

    first: int
    last: int


def outline(plan: OpenPlan, text: SourceText, *, is_plan: bool) -> tuple[Heading, ...]:
    """The headings of a text as a tree; tasks have their status beside their name."""
    flat = _headings(text, {task.line - 1: task for task in plan.tasks} if is_plan else {})
    return _nested(flat)


def _headings(text: SourceText, tasks: dict[int, Task]) -> list[Heading]:
    found = [
        (number, len(match["level"]), match["text"])
        for number, line in outside_fences(text)
        if (match := _HEADING.match(line))
    ]
    made = []
    behind = [text.line_count] * (_LEVELS + 1)
    """For each level the line of the next heading that ends one of it, from the end on."""
    for number, level, name in reversed(found):
        last = behind[level] - 1
        behind[level:] = [number] * len(behind[level:])
        task = tasks.get(number)
        shown = f"{task.id}: {task.title}" if task else name
        detail = str(task.status) if task else ""
        end = Place(last, len(text.line(last)))
        line = Span(Place(number, 0), Place(number, len(text.line(number))))
        whole = Span(line.start, end)
        made.append(Heading(shown or "…", detail, task is not None, level, whole, line))
    return made[::-1]


def _nested(flat: list[Heading]) -> tuple[Heading, ...]:
    """Each heading with those of a deeper level that follow it."""
    top: list[Heading] = []
    at = 0
    while at < len(flat):
        behind = at + 1
        while behind < len(flat) and flat[behind].level > flat[at].level:
            behind += 1
        top.append(flat[at]._replace(inside=_nested(flat[at + 1 : behind])))
        at = behind
    return tuple(top)


def folds(text: SourceText) -> Iterator[Fold]:
    """Sections and fenced blocks; blank lines behind a section stay."""
    for heading in _headings(text, {}):
        last = heading.span.end.line
        while last > heading.span.start.line and not text.line(last).strip():
            last -= 1
        if last > heading.span.start.line:
            yield Fold(heading.span.start.line, last)
    outside = [-1, *(number for number, _ in outside_fences(text)), text.line_count]
    for before, after in pairwise(outside):
        if after - before > 2:  # noqa: PLR2004 - both marks of a fence, so one can be folded
            yield Fold(before + 1, after - 1)
