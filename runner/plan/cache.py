"""The parsed plan kept in the user's cache folder, so that a second look costs no parsing.

Two files beside each other: `outline.json` has the sections that are not plainly written,
`plan.json` all that tasks say, and both digests of each. A line says what the file belongs to, then
each section has its row (`cache_file`). What does not fit is ignored and written anew. Nothing here
is durable or trusted: it holds only what the plan's own bytes say.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from dataclasses import replace
from functools import cache, partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

import runner
from runner import model
from runner.lazy_module import lazy_module
from runner.model import Block, Contract, GateSpec, Severity, Spec, Task, TestContract
from runner.model.codec import Codec, Shape, usual_values
from runner.plan import outline
from runner.plan.cache_file import CacheFile
from runner.plan.diagnostic import Problem
from runner.plan.outline import (
    Cut,
    Kept,
    Known,
    KnownSection,
    Outline,
    digest_without,
    head_of,
    tail_of,
    walk,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from runner.plan import document, markdown, plain_sections
    from runner.plan.document import Plan
    from runner.plan.markdown import Piece
    from runner.plan.outline import Found, OutlineTask
    from runner.plan.sections import Reader, Section, Written

    Placed = TypeVar("Placed", Block, Contract, GateSpec, Problem, TestContract)
else:
    document = lazy_module("runner.plan.document")
    markdown = lazy_module("runner.plan.markdown")
    plain_sections = lazy_module("runner.plan.plain_sections")


_FORMAT = 12
_OUTLINE = "outline.json"
_PLAN = "plan.json"


def load_outline(
    data: bytes, path: str, cache_folder: Path | None, prefixes: tuple[str, ...] = ()
) -> Outline:
    """The plan in outline; sections the cache knows are not parsed.

    `path` names the file and keeps the caches of several plans apart. Without a folder nothing is
    kept. A folder that cannot be written is not an error.
    """
    learner = _Learner(data, path, prefixes)
    digests = _Digests(learner, CacheFile(cache_folder, _PLAN, _stamp(path, prefixes)))
    outline = _outline(learner, cache_folder, digests.of)
    digests.sections = outline.sections
    return outline


def _outline(
    learner: _Learner, cache_folder: Path | None, digests: Callable[[int], Spec]
) -> Outline:
    data, prefixes = learner.data, learner.prefixes
    with CacheFile(cache_folder, _OUTLINE, _stamp(learner.path, prefixes)) as file:
        known = decode_known_sections(file.values())
        found = walk(data, known, prefixes, learner.learn, digests)
        sections = [each.known for each in found if each.known is not None]
        if learner.learnt or len(sections) != len(known):
            file.replace((one.digest, one) for one in sections)  # rows of named tuples
    tasks = tuple(task for each in found for task in each.tasks)
    return Outline(
        title=next((each.title for each in found if each.title), ""),
        tasks=tasks,
        errors=sum(each.errors for each in sections) + (not tasks),
        warnings=sum(each.warnings for each in sections),
        sections=found,
    )


class _Digests:
    """Both digests of the tasks of plain sections: read all at once when one is asked for."""

    def __init__(self, learner: _Learner, file: CacheFile) -> None:
        self.sections: Sequence[Found] = ()
        self._learner, self._file = learner, file
        self._by_start: dict[int, Spec] = {}

    def of(self, start: int) -> Spec:
        """Those of the task whose status begins at a byte."""
        if not self._by_start:
            self._read()
        return self._by_start[start]

    def _read(self) -> None:
        with self._file as rows:
            for found in self.sections:
                digest = found.digest(self._learner.data)
                # Of all others the outline itself has both digests: their rows only stay.
                if found.known is not None or not found.tasks:
                    rows.take(digest, bool)
                    continue
                spec = rows.take(digest, decode_spec)
                if spec is None:
                    section = self._learner.read(found, keep=True)
                    rows.put(digest, encode_section(section))
                    spec = section.tasks[0].spec
                self._by_start[found.tasks[0].span.start] = spec
            rows.keep()


def load_plan(
    data: bytes, path: str, cache_folder: Path | None, prefixes: tuple[str, ...] = ()
) -> Plan:
    """The whole plan, as `read_plan` gives it; only sections that changed are parsed."""
    learner = _Learner(data, path, prefixes, remember=True)
    # Each section's outline is let go as soon as the section is made of it.
    found = deque(_outline(learner, cache_folder, _no_digests).sections)
    with CacheFile(cache_folder, _PLAN, _stamp(path, prefixes)) as rows:
        plan = document.plan_of(data, path, _sections(found, learner, rows))
        rows.keep()
    return plan


def _no_digests(start: int) -> Spec:
    """Of a whole plan's sections the rows say them, or their own text."""
    raise AssertionError(f"the digests of the task at byte {start} are with its section")


def _sections(found: deque[Found], learner: _Learner, rows: CacheFile) -> Iterator[Section]:
    while found:
        one = found.popleft()
        digest = one.digest(learner.data)
        section = rows.take(digest, partial(section_from, found=one, path=learner.path))
        if section is None:
            section = learner.read(one)
            rows.put(digest, encode_section(section))
        yield section


class _Learner:
    """Parses single sections, and counts them."""

    def __init__(
        self, data: bytes, path: str, prefixes: tuple[str, ...], *, remember: bool = False
    ) -> None:
        self.data = data
        self.path = path
        self.prefixes = prefixes
        self._remember = remember
        self._parsed: dict[int, Section] = {}  # so that outline and plan parse each section once
        self._reader: Reader | None = None
        self._ahead: Piece | None = None
        self._ahead_at = -1
        self.learnt = 0

    def read(self, found: Found, *, keep: bool = False) -> Section:
        """A section that was found: of a plain one the lines are enough."""
        plain = plain_sections.read_plain(self.data, found) if found.known is None else None
        if plain is None:
            return self.parse(found.start, found.first_line, keep=keep)
        self.learnt += 1
        return plain

    def parse(self, offset: int, line: int, *, keep: bool = False) -> Section:
        """The section that begins at a byte; with `keep` it may be asked for once more."""
        from runner.plan.sections import Reader, section_at

        self.learnt += 1
        known = self._parsed.pop(offset, None)
        if known is not None:
            return known
        if self._reader is None:
            self._reader = Reader(self.path, self.prefixes, markdown.Cuts(self.data))
        # the piece behind a section is read to know where it ends: it often begins the next one
        ahead = self._ahead if self._ahead_at == offset else None
        section, self._ahead = section_at(self.data, offset, line, self._reader, ahead)
        self._ahead_at = -1 if self._ahead is None else self._ahead.source.start
        if keep and self._remember:
            self._parsed[offset] = section
        return section

    def learn(self, offset: int, line: int) -> KnownSection:
        """The same, as it is remembered."""
        return _make_known_section(self.data, self.parse(offset, line, keep=True))


def _make_known_section(data: bytes, section: Section) -> KnownSection:
    holes: list[tuple[int, int]] = []
    tasks: list[Known] = []
    cut = 0
    for task, span in zip(section.tasks, section.spans, strict=True):
        offset = span.start - section.start - cut
        place: Cut | Kept
        tail = tail_of(data, span, (task.status, task.note))
        if tail is None:
            length = span.end - span.start
            place = Kept(offset, length, span.before, span.after, task.status.value, task.note)
        else:
            place = Cut(offset, tail)
            holes.append((span.start, span.end))
            cut += span.end - span.start
        tasks.append(_make_known(task, section.first_line, place))
    errors = sum(problem.severity is Severity.ERROR for problem in section.problems)
    return KnownSection(
        digest=digest_without(data, section.start, section.end, holes),
        head=head_of(data, section.start),
        size=section.end - section.start - cut,
        lines=section.line_count,
        level=section.level,
        is_last=section.end == len(data),
        title=section.title,
        errors=errors,
        warnings=len(section.problems) - errors,
        tasks=tuple(tasks),
    )


def _make_known(task: Task, first_line: int, place: Cut | Kept) -> Known:
    return Known(
        task.id,
        task.title,
        task.line - first_line,
        task.type,
        task.depends_on,
        task.outputs,
        task.spec.what.removeprefix("sha256:"),
        task.spec.proof.removeprefix("sha256:"),
        place,
    )


# --- the files ------------------------------------------------------------------------


def _stamp(path: str, prefixes: tuple[str, ...]) -> list[object]:
    # Also these sources, in a tenth of a millisecond: a clone may read otherwise tomorrow.
    try:
        with os.scandir(os.path.dirname(__file__)) as entries:  # noqa: PTH120 # no Path object for it
            newest = max(entry.stat().st_mtime_ns for entry in entries if entry.is_file())
    except OSError:  # in an archive
        newest = 0
    return [_FORMAT, runner.__version__, newest, path, *prefixes]


_ODD = (TypeError, ValueError, KeyError, IndexError, AttributeError)
_OF_OUTLINE = frozenset(
    {"id", "title", "line", "spec", "status", "note", "type", "depends_on", "outputs"}
)
"""What the outline knows of a task, or a row says apart."""
_PLACED = ("test_contracts", "contracts", "gates", "blocks")
"""Fields of a task whose parts know their line."""
_ROWS = Codec(Shape.ROW, lambda: {**vars(model), **vars(outline)})


def decode_known_sections(rows: Iterable[object]) -> list[KnownSection]:
    """Known sections from JSON values; none when they are not of this shape."""
    try:
        read = _ROWS.reader(KnownSection)
        return [read(row, ()) for row in rows]
    except _ODD:
        return []


# --- whole sections -------------------------------------------------------------------


def encode_section(section: Section) -> list[Any]:
    """A section as JSON values; lines count from its first, statuses are left out."""
    first = section.first_line
    return [
        [digest for task in section.tasks for digest in (task.spec.what, task.spec.proof)],
        [_plain_task(task, first) for task in section.tasks],
        [_ROWS.to_json(replace(one, path="", line=one.line - first)) for one in section.problems],
        [_ROWS.to_json(one._replace(line=one.line - first)) for one in section.written],
    ]


def _plain_task(task: Task, first: int) -> dict[str, object]:
    """The fields of a task that differ from the default."""
    names, usual, values = _kept_fields()
    own = {
        name: value
        for name, value, default in zip(names, values(task), usual, strict=True)
        if value is not default and value != default
    }
    for name in _PLACED:
        if name in own:
            own[name] = _move(own[name], -first)
    return {name: _ROWS.to_json(value) for name, value in own.items()}


@cache
def _kept_fields() -> tuple[tuple[str, ...], tuple[object, ...], Callable[[Task], Any]]:
    """Names and defaults of the fields that a row may have, and what gives a task's own."""
    usual = {name: value for name, value in usual_values(Task).items() if name not in _OF_OUTLINE}
    return tuple(usual), tuple(usual.values()), attrgetter(*usual)


def decode_spec(row: Any) -> Spec | None:
    """Both digests of the only task of a section; None for an odd row."""
    try:
        what, proof = row[0]
    except _ODD:
        return None
    return Spec(what, proof)


def section_from(row: object, found: Found, path: str) -> Section | None:
    """The section a row tells of, at the place where it was found; None for an odd row."""
    try:
        return _section_from(row, found, path)
    except _ODD:
        return None


def _section_from(row: Any, found: Found, path: str) -> Section:
    from runner.plan.sections import Section, Written

    digests, tasks, problems, written = row
    first = found.first_line
    specs = map(Spec, digests[::2], digests[1::2])
    return Section(
        start=found.start,
        end=found.end,
        first_line=first,
        line_count=found.lines,
        level=found.level,
        title=found.title,
        tasks=tuple(
            _task_from(plain, light, spec, first)
            for plain, light, spec in zip(tasks, found.tasks, specs, strict=True)
        ),
        spans=tuple(task.span for task in found.tasks),
        problems=tuple(_problem_from(_ROWS.read(Problem, one), path, first) for one in problems),
        written=tuple(_written(_ROWS.read(Written, one), first) for one in written),
    )


def _problem_from(problem: Problem, path: str, first: int) -> Problem:
    return replace(problem, path=path, line=problem.line + first)


def _written(line: Written, first: int) -> Written:
    return line._replace(line=line.line + first)


def _task_from(row: dict[str, Any], light: OutlineTask, spec: Spec, first: int) -> Task:
    values = _ROWS.read_fields(Task, row)
    for name in _PLACED:
        if name in values:
            values[name] = _move(values[name], first)
    values.setdefault("budget", usual_values(Task)["budget"])
    return Task(
        id=sys.intern(light.id),
        title=light.title,
        line=light.line,
        spec=spec,
        status=light.status,
        note=light.note,
        type=light.type,
        # One text for an id, wherever the plan names it: a long plan names each several times.
        depends_on=tuple(map(sys.intern, light.depends_on)),
        outputs=light.outputs,
        **values,
    )


def _move(parts: Iterable[Placed], by: int) -> tuple[Placed, ...]:
    return tuple(replace(one, line=one.line + by) for one in parts)
