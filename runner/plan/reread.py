"""The sections of a plan that changed at one place: only those around the change are read again.

A section's meaning depends on its own bytes and on where the next one begins (what `outline` rests
on, too). So reading begins two sections before the first byte that differs, since a heading that
goes or comes moves the end of the section before it, and stops at the first end behind the change
that was one before: from there on the bytes, and so the sections, are the old ones.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from runner.plan.markdown import Cuts
from runner.plan.sections import Section, SectionReader, read_sections, section_at
from runner.plan.source import BOM, body_start

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from runner.model import Block, Contract, GateSpec, Task, TestContract
    from runner.plan.diagnostic import Problem

    Placed = TypeVar("Placed", Block, Contract, GateSpec, Problem, TestContract)

_BACK = 2
_COMPARED = 4096
"""Bytes that are compared at once, to find where two texts part."""


def reread(
    data: bytes, path: str, prefixes: tuple[str, ...], old: bytes, sections: Sequence[Section]
) -> tuple[Section, ...]:
    """All sections of `data`, when `sections` are those of `old` by the same path and prefixes."""
    head = common_start(old, data)
    if head == len(old) == len(data):
        return tuple(sections)
    # A byte order mark that comes or goes moves everything, and one lone CR changes what is a
    # line for the whole file (`Cuts`).
    if head < len(BOM) or not sections or _has_lone_cr(old) != _has_lone_cr(data):
        return tuple(read_sections(data, path, prefixes))
    # Of `aa` made `aaa` the same bytes begin and end both: none may count twice.
    tail = min(common_end(old, data), min(len(old), len(data)) - head)
    first = max(bisect_left([one.end for one in sections], head) - _BACK, 0)
    return (*sections[:first], *_read_changed(data, (path, prefixes), old, tail, sections[first:]))


def _read_changed(
    data: bytes,
    named: tuple[str, tuple[str, ...]],
    old: bytes,
    tail: int,
    sections: Sequence[Section],
) -> Iterator[Section]:
    """The sections from the first one that may have changed; `tail`: bytes that are as before."""
    grown = len(data) - len(old)
    known = {
        one.start + grown: at for at, one in enumerate(sections) if one.start > len(old) - tail
    }
    reader = SectionReader(*named, Cuts(data))
    offset = sections[0].start if sections else body_start(data)
    line = sections[0].first_line if sections else 1
    ahead = None
    while offset < len(data):
        section, ahead = section_at(data, offset, line, reader, ahead)
        yield section
        offset, line = section.end, line + section.line_count
        if (at := known.get(offset)) is not None:
            by = line - sections[at].first_line
            yield from (_move(one, grown, by) for one in sections[at:])
            return


def _move(section: Section, grown: int, lines: int) -> Section:
    """A section of the same bytes at another place."""
    if not grown and not lines:
        return section
    return Section(
        section.start + grown,
        section.end + grown,
        section.first_line + lines,
        section.line_count,
        section.level,
        section.title,
        tuple([_move_task(task, lines) for task in section.tasks]) if lines else section.tasks,
        tuple([span.move(grown) for span in section.spans]) if grown else section.spans,
        _move_parts(section.problems, lines) if lines else section.problems,
        tuple([one._replace(line=one.line + lines) for one in section.written]),
    )


def _move_task(task: Task, by: int) -> Task:
    return replace(
        task,
        line=task.line + by,
        test_contracts=_move_parts(task.test_contracts, by),
        contracts=_move_parts(task.contracts, by),
        gates=_move_parts(task.gates, by),
        blocks=_move_parts(task.blocks, by),
    )


def _move_parts(parts: tuple[Placed, ...], by: int) -> tuple[Placed, ...]:
    return tuple([replace(one, line=one.line + by) for one in parts]) if parts else parts


def _has_lone_cr(data: bytes) -> bool:
    return data.count(b"\r") != data.count(b"\r\n")


def common_start(one: bytes, other: bytes) -> int:
    """How many bytes both begin with."""
    at, most = 0, min(len(one), len(other))
    while at < most and one[at : at + _COMPARED] == other[at : at + _COMPARED]:
        at += _COMPARED
    at = min(at, most)
    while at < most and one[at] == other[at]:
        at += 1
    return at


def common_end(one: bytes, other: bytes) -> int:
    """How many bytes both end with."""
    at, most = 0, min(len(one), len(other))
    while at + _COMPARED <= most and (
        one[len(one) - at - _COMPARED : len(one) - at]
        == other[len(other) - at - _COMPARED : len(other) - at]
    ):
        at += _COMPARED
    while at < most and one[-at - 1] == other[-at - 1]:
        at += 1
    return at
