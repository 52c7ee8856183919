"""Sections and tasks as plain JSON values and back, for the cache."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

from runner.model import (
    Block,
    BlockKind,
    Budget,
    Contract,
    GateSpec,
    Level,
    Network,
    Requirement,
    Resource,
    ReviewMode,
    Severity,
    Task,
    TestContract,
)
from runner.plan.diagnostic import Problem
from runner.plan.outline import Cut, Kept, Known, KnownSection

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from runner.plan.outline import Found, OutlineTask
    from runner.plan.sections import Section

Row: TypeAlias = "list[Any]"
"""A JSON list; what is in it is proven by the checksum of the file and by our own format number."""

_ODD = (TypeError, ValueError, KeyError, IndexError, AttributeError)
_CUT = 2
_NO_BUDGET = Budget()
_DEFAULTS = Task("", "", 0, None)  # type: ignore[arg-type]  # asked only for its other fields
_TEXTS = (
    "outputs",
    "inputs",
    "depends_on",
    "acceptance",
    "changes_tests",
    "keywords",
    "stack",
    "patterns",
    "changes",
    "literal",
)
_PLAIN = ("type", "coverage", "implementer", "command", "red_first", "timeout", "prose")
_REASONS = ("no_proof", "no_contracts")


def plain_sections(sections: Sequence[KnownSection]) -> list[object]:
    """Known sections as JSON values: named tuples are lists there."""
    return list(sections)


def decode_known_sections(content: object) -> list[KnownSection]:
    """Known sections from JSON values; none when they are not of this shape."""
    try:
        return [_decode_known_section(row) for row in content] if isinstance(content, list) else []
    except _ODD:
        return []


def _decode_known_section(row: Row) -> KnownSection:
    return KnownSection(*row)._replace(tasks=tuple(map(_decode_known, row[-1])))


def _decode_known(row: Row) -> Known:
    task_id, title, line, kind, needs, outputs, what, proof, place = row
    kept = Cut(*place) if len(place) == _CUT else Kept(*place)
    return Known(task_id, title, line, kind, tuple(needs), tuple(outputs), what, proof, kept)


# --- whole sections -------------------------------------------------------------------


def decode_kept_sections(content: object) -> dict[str, Any]:
    """Whole sections by digest, still as JSON values."""
    return content if isinstance(content, dict) else {}


def plain_section(section: Section) -> Row:
    """A section as JSON values; lines count from its first, statuses are left out."""
    first = section.first_line
    return [
        [_plain_task(task, first) for task in section.tasks],
        [
            [
                problem.message,
                problem.line - first,
                problem.column,
                problem.hint,
                problem.severity.value,
                problem.source_line,
                problem.width,
            ]
            for problem in section.problems
        ],
        [[each.task, each.kind, each.text, each.line - first] for each in section.written],
    ]


def _plain_task(task: Task, first: int) -> dict[str, object]:
    """The fields of a task that differ from the default."""
    row: dict[str, object] = {
        key: getattr(task, key)
        for key in (*_TEXTS, *_PLAIN, *_REASONS)
        if getattr(task, key) != getattr(_DEFAULTS, key)
    }
    parts = {
        "test_contracts": [
            [t.id, t.level.value, t.command, t.line - first, *([True] if t.fails else [])]
            for t in task.test_contracts
        ],
        "contracts": [[c.kind, c.value, c.line - first] for c in task.contracts],
        "gates": [
            [g.name, g.command, g.network.value, g.seconds, g.line - first] for g in task.gates
        ],
        "uses": [[use.name, use.amount] for use in task.uses],
        "requires": [[need.kind, need.name] for need in task.requires],
        "blocks": [[b.kind.value, b.path, b.text, b.line - first] for b in task.blocks],
    }
    row.update({key: rows for key, rows in parts.items() if rows})
    if task.network is not Network.NO:
        row["network"] = task.network.value
    if task.review:
        row["review"] = task.review.value
    if task.budget != _NO_BUDGET:
        budget = task.budget
        row["budget"] = [budget.attempts, budget.minutes, budget.tokens, budget.dollars]
    return row


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
        line_count=found.known.lines,
        level=found.known.level,
        title=found.known.title,
        tasks=tuple(
            _task_from(plain, light, first) for plain, light in zip(tasks, found.tasks, strict=True)
        ),
        spans=tuple(task.span for task in found.tasks),
        problems=tuple(
            Problem(message, path, first + line, column, hint, Severity(severity), source, width)
            for message, line, column, hint, severity, source, width in problems
        ),
        written=tuple(
            Written(task, kind, text, first + line) for task, kind, text, line in written
        ),
    )


def _task_from(row: dict[str, Any], light: OutlineTask, first: int) -> Task:
    values = dict(row)
    for key in _TEXTS:
        if key in values:
            values[key] = tuple(values[key])
    for key, read in _READERS.items():
        if key in values:
            values[key] = tuple(read(*entry) for entry in values[key])
    for key in ("test_contracts", "contracts", "gates", "blocks"):
        if key in values:
            values[key] = tuple(replace(entry, line=entry.line + first) for entry in values[key])
    for key, kind in (("network", Network), ("review", ReviewMode)):
        if key in values:
            values[key] = kind(values[key])
    values["budget"] = Budget(*values["budget"]) if "budget" in values else _NO_BUDGET
    return Task(
        id=light.id,
        title=light.title,
        line=light.line,
        spec=light.spec,
        status=light.status,
        note=light.note,
        **values,
    )


def _test(name: str, level: str, command: str, line: int, *fails: bool) -> TestContract:
    return TestContract(name, Level(level), command, line, any(fails))


def _gate(name: str, command: str, network: str, seconds: float, line: int) -> GateSpec:
    return GateSpec(name, command, Network(network), seconds, line)


def _block(kind: str, path: str, text: str, line: int) -> Block:
    return Block(BlockKind(kind), path, text, line)


_READERS: dict[str, Callable[..., object]] = {
    "test_contracts": _test,
    "contracts": Contract,
    "gates": _gate,
    "uses": Resource,
    "requires": Requirement,
    "blocks": _block,
}
