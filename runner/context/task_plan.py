"""Write a task's own plan as Markdown that people edit, and read it back.

# Plan for TASK-003: Booking api

Type: api

## Steps
1. Read the model
2. Write the route

## Files
- `src/booking/api.py`

## Context
- `src/booking/models.py`

## Gates
- TC-003

## Phases
### 1. The route
- Files: `src/booking/api.py`
1. Write the route
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec.structs import replace

from runner.lazy_pattern import regex
from runner.model import Phase, TaskPlan
from runner.text.display import code_span

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

_HEADING = regex(r" {0,3}(#{1,6})\s+(.*?)\s*#*\s*")
_ITEM = regex(r"\s*(?:[-*+]|\d{1,9}[.)])\s+(.*\S)\s*")
_TYPE = regex(r"\s*(?:[-*+]\s+)?\**(?:Task )?Type:?\**:?\s+(\S.*?)\s*", re.IGNORECASE)
_LABEL = regex(r"\s*(?:[-*+]\s+)?\**([A-Za-z][A-Za-z ]{0,30}?)\**:\**(?:\s+(\S.*?))?\s*")
_FILES = regex(r"\**Files:?\**:?\s+(\S.*)", re.IGNORECASE)
_NUMBER = regex(r"(?:phase\s+)?\d+\s*[.:)\-\u2014\u2013]?\s*", re.IGNORECASE)
_SPAN = regex(r"(`+) ?(.+?) ?\1(?!`)")
_SECTIONS = {
    "steps": ("steps", "plan", "numbered"),
    "files": ("files", "output files", "changes"),
    "context": ("context", "reads", "inputs"),
    "gates": ("gates", "checks", "tests"),
    "phases": ("phases",),
}

_LABELS = {"files": "files", "output files": "files", "context files": "context"}
"""Labels of lines with paths, and the sections they belong to."""


def plan_text(plan: TaskPlan, task: str, title: str = "") -> str:
    """Return the plan as Markdown, which `read_plan` parses."""
    name = f"{task}: {one_line(title)}" if title else task
    parts = [f"# Plan for {name}\n"]
    parts += [f"Type: {one_line(plan.type)}\n"] if plan.type else []
    parts += ["## Steps\n" + _number_lines(plan.steps)]
    for heading, paths in (("Files", plan.files), ("Context", plan.context)):
        parts += [f"## {heading}\n" + _bullet_lines(map(code_span, paths))] if paths else []
    parts += ["## Gates\n" + _bullet_lines(map(one_line, plan.gates))] if plan.gates else []
    if plan.phases:
        phases = (_phase_text(number, one) for number, one in enumerate(plan.phases, start=1))
        parts.append("## Phases\n" + "\n".join(phases))
    return "\n".join(parts)


def read_plan(text: str) -> TaskPlan:
    """Parse a task plan from text; missing sections are empty.

    `Files:` and `Context files:` are also read outside sections, with paths behind the colon or
    in a list below.
    """
    sections: dict[str, list[str]] = {name: [] for name in _SECTIONS}
    phases: list[tuple[str, list[str]]] = []
    into, kind, level = "", "", 0
    for line in text.splitlines():
        heading = _HEADING.fullmatch(line)
        if heading is not None and into == "phases" and len(heading[1]) > level:
            phases.append((_NUMBER.sub("", heading[2], count=1).strip(), []))
        elif heading is not None:
            into, level = _section(heading[2]), len(heading[1])
        elif not kind and into != "phases" and (match := _TYPE.fullmatch(line)):
            kind = match[1].strip("`")
        elif into == "phases" and phases:
            phases[-1][1].append(line)
        elif (label := _LABEL.fullmatch(line)) and (name := _LABELS.get(label[1].lower())):
            if label[2] is None:
                into = name
            else:
                sections[name] += (f"- {code_span(path)}" for path in _paths(label[2]))
        elif into:
            sections[into].append(line)
    return TaskPlan(
        steps=tuple(_items(sections["steps"])),
        files=tuple(path_in(item) for item in _items(sections["files"])),
        context=tuple(path_in(item) for item in _items(sections["context"])),
        type=kind,
        gates=tuple(_word_in(item) for item in _items(sections["gates"])),
        phases=tuple(_phase(title, lines) for title, lines in phases),
    )


def relate_paths(plan: TaskPlan, folders: Iterable[Path]) -> TaskPlan:
    """Return the plan with its absolute paths below one of the `folders` relative to that."""
    starts = tuple(f"{folder}/" for folder in folders)

    def relate(paths: Iterable[str]) -> tuple[str, ...]:
        return tuple(
            next((path.removeprefix(one) for one in starts if path.startswith(one)), path)
            for path in paths
        )

    return replace(
        plan,
        files=relate(plan.files),
        context=relate(plan.context),
        phases=tuple(replace(one, files=relate(one.files)) for one in plan.phases),
    )


def redact_plan(plan: TaskPlan, clean: Callable[[str], str]) -> TaskPlan:
    """Return the plan with `clean` applied to each text, on one line each."""

    def each(texts: Iterable[str]) -> tuple[str, ...]:
        return tuple(found for text in texts if (found := one_line(clean(text))))

    return TaskPlan(
        steps=each(plan.steps),
        files=tuple(dict.fromkeys(_relative(path) for path in each(plan.files))),
        context=tuple(dict.fromkeys(_relative(path) for path in each(plan.context))),
        type=one_line(clean(plan.type)),
        gates=each(plan.gates),
        phases=tuple(
            Phase(
                one_line(clean(one.title)),
                each(one.steps),
                tuple(_relative(path) for path in each(one.files)),
            )
            for one in plan.phases
        ),
    )


def files_of(plan: TaskPlan) -> tuple[str, ...]:
    """Return every file to write in a plan and its phases, without duplicates."""
    of_phases = (path for phase in plan.phases for path in phase.files)
    return tuple(dict.fromkeys((*plan.files, *of_phases)))


def one_line(text: str) -> str:
    """Return a text with white space collapsed to single spaces."""
    return " ".join(text.split())


# --- details --------------------------------------------------------------------------


def _relative(path: str) -> str:
    return path.removeprefix("./")


def _number_lines(texts: Iterable[str]) -> str:
    return "".join(f"{number}. {one_line(one)}\n" for number, one in enumerate(texts, start=1))


def _bullet_lines(texts: Iterable[str]) -> str:
    return "".join(f"- {one}\n" for one in texts)


def _phase_text(number: int, phase: Phase) -> str:
    files = f"- Files: {', '.join(map(code_span, phase.files))}\n" if phase.files else ""
    return f"### {number}. {one_line(phase.title)}\n{files}{_number_lines(phase.steps)}"


def _section(heading: str) -> str:
    words = heading.strip("*: ").lower()
    named = (
        name
        for name, known in _SECTIONS.items()
        if any(words == word or words.startswith(f"{word} ") for word in known)
    )
    return next(named, "")


def _items(lines: Iterable[str]) -> Iterator[str]:
    """Yield the items of a list with their continuation lines."""
    open_ = ""
    for line in lines:
        item = _ITEM.fullmatch(line)
        if item is not None:
            if open_:
                yield open_
            open_ = item[1]
        elif open_ and line.strip() and line[:1].isspace():
            open_ = f"{open_} {line.strip()}"
        elif open_:
            yield open_
            open_ = ""
    if open_:
        yield open_


def path_in(item: str) -> str:
    """Return the path in an item: its first code span, else its first word."""
    span = _SPAN.search(item)
    if span is not None:
        return _relative(span[2])
    return _relative(item.split(maxsplit=1)[0].rstrip(",;:"))


def _word_in(item: str) -> str:
    span = _SPAN.fullmatch(item)
    return span[2] if span is not None else item


def _phase(title: str, lines: list[str]) -> Phase:
    items = list(_items(lines))
    named = [match[1] for item in items if (match := _FILES.fullmatch(item))]
    files = tuple(path for one in named for path in _paths(one))
    return Phase(title, tuple(item for item in items if not _FILES.fullmatch(item)), files)


def _paths(text: str) -> Iterator[str]:
    spans = [_relative(found[2]) for found in _SPAN.finditer(text)]
    yield from spans or (_relative(word) for word in re.split(r"[,\s]+", text) if word)
