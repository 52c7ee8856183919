"""The parsed plan kept in the user's cache folder, so that a second look costs no parsing.

Three files beside each other: `outline.json` has the sections that are not plainly written,
`digests.json` both digests of the tasks in those that are, `plan.json` all that tasks say. Each
is a line that says what it belongs to and a checksum, then one JSON value. What does not fit is
ignored and written anew. Nothing here is durable or trusted: it holds only what the plan's own
bytes say.
"""

from __future__ import annotations

import json
import os
import zlib
from dataclasses import replace
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

import runner
from runner import effects, model
from runner.lazy_module import lazy_module
from runner.model import Block, Contract, GateSpec, Severity, Spec, Task, TestContract
from runner.model.codec import Codec, Shape, usual_values
from runner.plan import outline
from runner.plan.diagnostic import Problem
from runner.plan.digest import decode_digests, encode_digests
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
    from collections.abc import Callable, Iterable, Sequence
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


_FORMAT = 11
_OUTLINE = "outline.json"
_DIGESTS = "digests.json"
_PLAN = "plan.json"


def load_outline(
    data: bytes, path: str, cache_folder: Path | None, prefixes: tuple[str, ...] = ()
) -> Outline:
    """The plan in outline; sections the cache knows are not parsed.

    `path` names the file and keeps the caches of several plans apart. Without a folder nothing is
    kept. A folder that cannot be written is not an error.
    """
    return _outline(_Learner(data, path, prefixes), cache_folder)


def _outline(learner: _Learner, cache_folder: Path | None) -> Outline:
    data, prefixes = learner.data, learner.prefixes
    stamp = _stamp(learner.path, prefixes)
    known = decode_known_sections(_read(cache_folder, _OUTLINE, stamp))
    digests = _Digests(learner, cache_folder, stamp)
    found = digests.sections = walk(data, known, prefixes, learner.learn, digests.of)
    sections = [each.known for each in found if each.known is not None]
    if learner.learnt or len(sections) != len(known):
        _write(cache_folder, _OUTLINE, stamp, list(sections))  # rows of named tuples
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

    def __init__(self, learner: _Learner, folder: Path | None, stamp: list[object]) -> None:
        self.sections: Sequence[Found] = ()
        self._learner, self._folder, self._stamp = learner, folder, stamp
        self._by_start: dict[int, Spec] = {}

    def of(self, start: int) -> Spec:
        """Those of the task whose status begins at a byte."""
        if not self._by_start:
            self._read()
        return self._by_start[start]

    def _read(self) -> None:
        known = decode_digests(_read(self._folder, _DIGESTS, self._stamp))
        used: dict[str, Spec] = {}
        missing = 0
        for found in self.sections:
            # Only plain sections: of the others the outline itself has both digests.
            if found.known is not None or not found.tasks:
                continue
            digest = found.digest(self._learner.data)
            spec = known.get(digest)
            if spec is None:
                section = self._learner.read(found, keep=True)
                spec, missing = section.tasks[0].spec, missing + 1
            used[digest] = self._by_start[found.tasks[0].span.start] = spec
        if missing or len(used) != len(known):
            _write(self._folder, _DIGESTS, self._stamp, encode_digests(used))


def load_plan(
    data: bytes, path: str, cache_folder: Path | None, prefixes: tuple[str, ...] = ()
) -> Plan:
    """The whole plan, as `read_plan` gives it; only sections that changed are parsed."""
    stamp = _stamp(path, prefixes)
    learner = _Learner(data, path, prefixes, remember=True)
    outline = _outline(learner, cache_folder)
    kept = decode_kept_sections(_read(cache_folder, _PLAN, stamp))
    sections: list[Section] = []
    used: dict[str, object] = {}
    specs: dict[str, Spec] = {}
    for found in outline.sections:
        digest = found.digest(data)
        section = section_from(kept[digest], found, path) if digest in kept else None
        if section is None:
            section = learner.read(found)
            used[digest] = encode_section(section)
        else:
            used[digest] = kept[digest]
        sections.append(section)
        if found.known is None and section.tasks:
            specs[digest] = section.tasks[0].spec
    if learner.learnt or len(used) != len(kept):
        _write(cache_folder, _PLAN, stamp, used)
        _write(cache_folder, _DIGESTS, stamp, encode_digests(specs))
    return document.plan_of(data, path, sections)


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


def _read(folder: Path | None, name: str, stamp: list[object]) -> object:
    """The content of a cache file; None when it is missing, damaged or of something else."""
    if folder is None:
        return None
    try:
        head, _, body = (folder / name).read_bytes().partition(b"\n")
        described = json.loads(head)
        # Against a torn file, and no more: who can write the user's cache needs no forged plan.
        fits = described == [stamp, zlib.crc32(body)]
        return json.loads(body) if fits else None
    except (OSError, ValueError):
        return None  # a cache that cannot be read is no cache


def _write(folder: Path | None, name: str, stamp: list[object], content: object) -> None:
    if folder is None:
        return
    # A plan may hold bytes that are no UTF-8: as lone surrogates they are written only as
    # escapes.
    body = json.dumps(content, ensure_ascii=True, separators=(",", ":")).encode()
    head = json.dumps([stamp, zlib.crc32(body)]).encode()
    try:
        effects.make_folder(folder)
        effects.write_file(folder / name, head + b"\n" + body, mode=0o600, durable=False)
    except OSError:
        return  # the next run parses again; nothing else is lost


_ODD = (TypeError, ValueError, KeyError, IndexError, AttributeError)
_OF_OUTLINE = frozenset({"id", "title", "line", "spec", "status", "note"})
"""What the outline knows of a task."""
_PLACED = ("test_contracts", "contracts", "gates", "blocks")
"""Fields of a task whose parts know their line."""
_ROWS = Codec(Shape.ROW, lambda: {**vars(model), **vars(outline)})


def decode_known_sections(content: object) -> list[KnownSection]:
    """Known sections from JSON values; none when they are not of this shape."""
    try:
        read = _ROWS.reader(KnownSection)
        return [read(row, ()) for row in content] if isinstance(content, list) else []
    except _ODD:
        return []


# --- whole sections -------------------------------------------------------------------


def decode_kept_sections(content: object) -> dict[str, Any]:
    """Whole sections by digest, still as JSON values."""
    return content if isinstance(content, dict) else {}


def encode_section(section: Section) -> list[Any]:
    """A section as JSON values; lines count from its first, statuses are left out."""
    first = section.first_line
    return [
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
