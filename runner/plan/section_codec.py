"""Sections and tasks as plain JSON values and back, for the cache.

Lines count from the section's first, so that a section is known again where it moved to.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from runner import model
from runner.model import Block, Contract, GateSpec, Spec, Task, TestContract
from runner.model.codec import Codec, Shape, usual_values
from runner.plan import outline
from runner.plan.diagnostic import Problem
from runner.plan.outline import KnownSection

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from runner.plan.outline import Found, OutlineTask
    from runner.plan.sections import Section, Written

    Placed = TypeVar("Placed", Block, Contract, GateSpec, Problem, TestContract)

_ODD = (TypeError, ValueError, KeyError, IndexError, AttributeError)
_OF_OUTLINE = frozenset({"id", "title", "line", "spec", "status", "note"})
"""What the outline knows of a task."""
_PLACED = ("test_contracts", "contracts", "gates", "blocks")
"""Fields of a task whose parts know their line."""
_ROWS = Codec(Shape.ROW, lambda: {**vars(model), **vars(outline)})


def plain_sections(sections: Sequence[KnownSection]) -> list[object]:
    """Known sections as JSON values: named tuples are lists there."""
    return list(sections)


def decode_known_sections(content: object) -> list[KnownSection]:
    """Known sections from JSON values; none when they are not of this shape."""
    try:
        read = _ROWS.reader(KnownSection)
        return [read(row, ()) for row in content] if isinstance(content, list) else []
    except _ODD:
        return []


def plain_digests(specs: Mapping[str, Spec]) -> dict[str, tuple[str, str]]:
    """Both digests of tasks, by those of their sections, as JSON values."""
    return {digest: (spec.what, spec.proof) for digest, spec in specs.items()}


def decode_digests(content: object) -> dict[str, Spec]:
    """The same from JSON values; none when they are not of this shape."""
    try:
        return {digest: Spec(what, proof) for digest, (what, proof) in content.items()}  # type: ignore[attr-defined]  # of any other shape it is an odd one
    except _ODD:
        return {}


# --- whole sections -------------------------------------------------------------------


def decode_kept_sections(content: object) -> dict[str, Any]:
    """Whole sections by digest, still as JSON values."""
    return content if isinstance(content, dict) else {}


def plain_section(section: Section) -> list[Any]:
    """A section as JSON values; lines count from its first, statuses are left out."""
    first = section.first_line
    return [
        [_plain_task(task, first) for task in section.tasks],
        [_ROWS.to_json(replace(one, path="", line=one.line - first)) for one in section.problems],
        [_ROWS.to_json(one._replace(line=one.line - first)) for one in section.written],
    ]


def _plain_task(task: Task, first: int) -> dict[str, object]:
    """The fields of a task that differ from the default."""
    usual = usual_values(Task)
    given = {name: getattr(task, name) for name in usual if name not in _OF_OUTLINE}
    own = {name: value for name, value in given.items() if value != usual[name]}
    for name in _PLACED:
        if name in own:
            own[name] = _move(own[name], -first)
    return {name: _ROWS.to_json(value) for name, value in own.items()}


def section_from(row: object, found: Found, path: str) -> Section | None:
    """The section a row tells of, at the place where it was found; None for an odd row."""
    try:
        return _section_from(row, found, path)
    except _ODD:
        return None


def _section_from(row: Any, found: Found, path: str) -> Section:
    from runner.plan.sections import Section, Written

    tasks, problems, written = row
    first = found.first_line
    return Section(
        start=found.start,
        end=found.end,
        first_line=first,
        line_count=found.lines,
        level=found.level,
        title=found.title,
        tasks=tuple(
            _task_from(plain, light, first) for plain, light in zip(tasks, found.tasks, strict=True)
        ),
        spans=tuple(task.span for task in found.tasks),
        problems=tuple(_problem_from(_ROWS.read(Problem, one), path, first) for one in problems),
        written=tuple(_written(_ROWS.read(Written, one), first) for one in written),
    )


def _problem_from(problem: Problem, path: str, first: int) -> Problem:
    return replace(problem, path=path, line=problem.line + first)


def _written(line: Written, first: int) -> Written:
    return line._replace(line=line.line + first)


def _task_from(row: dict[str, Any], light: OutlineTask, first: int) -> Task:
    values = _ROWS.read_fields(Task, row)
    for name in _PLACED:
        if name in values:
            values[name] = _move(values[name], first)
    return Task(
        id=light.id,
        title=light.title,
        line=light.line,
        spec=light.spec,
        status=light.status,
        note=light.note,
        **values,
    )


def _move(parts: Iterable[Placed], by: int) -> tuple[Placed, ...]:
    return tuple(replace(one, line=one.line + by) for one in parts)
