"""Cache the parsed plan in the user's cache folder.

`stretches.json` has plainly written sections, many at once by their very bytes; `outline.json` has
the others. `plan.json` has the fields of all tasks, and both digests of each. The first line names
the plan's file; then each section has its row (`cache_file`). What does not fit is ignored and
rewritten. Nothing here is durable or trusted: it holds only the plan's own content.

Plain sections in a row, kept together: known again by their very bytes, without a scan.

What is kept of a stretch stands by columns, each once where it is the same for all: most of a long
plan's tasks are alike, and columns are written and read many values at a time.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from bisect import bisect
from functools import partial
from itertools import accumulate, compress, repeat
from operator import add
from typing import TYPE_CHECKING, Any

import runner
from runner.lazy_module import lazy_module
from runner.model import Severity, Spec, Status, Task
from runner.model.codec import Codec, encode_json, new_tuple, read_each, write_once
from runner.plan import outline
from runner.plan.cache_file import CacheFile, decode_spec, encode_section, section_from
from runner.plan.outline import (
    SHA256,
    Cut,
    DigestStatus,
    Found,
    KnownSection,
    KnownTask,
    Outline,
    OutlineTask,
    digest_without,
    find_plain,
    head_of,
    match_known,
    tail_of,
)
from runner.plan.scanner import may_scan, scan
from runner.plan.source import body_start
from runner.plan.status import StatusSpan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from runner.plan import document, markdown, plain_sections
    from runner.plan.document import Plan
    from runner.plan.markdown import Piece
    from runner.plan.sections import Section, SectionReader
else:
    document = lazy_module("runner.plan.document")
    markdown = lazy_module("runner.plan.markdown")
    plain_sections = lazy_module("runner.plan.plain_sections")

_FORMAT = 14
_OUTLINE = "outline.json"
_STRETCHES = "stretches.json"
_PLAN = "plan.json"
_LEAST, _MOST = 8, 512
"""Minimum sections of a stretch, since scanning fewer is as fast, and maximum."""
_COLONS = 2
_STATUSES = {str(status): status for status in Status}


def load_outline(
    data: bytes, path: str, cache_folder: Path | None, prefixes: tuple[str, ...] = ()
) -> Outline:
    """Return the outline of a plan, parsing only sections that are not in the cache.

    `path` names the file and keeps the caches of several plans apart. Without a folder nothing is
    kept. A folder that cannot be written is not an error.
    """
    learner = _Learner(data, path, prefixes)
    digests = _Digests(learner, cache_folder)
    found = tuple(_walk_file(learner, cache_folder, digests.of, remember=True))
    digests.sections = found
    tasks = tuple(task for each in found for task in each.tasks)
    known = [each.known for each in found if each.known is not None]
    return Outline(
        title=next((each.title for each in found if each.title), ""),
        tasks=tasks,
        errors=sum(each.errors for each in known) + (not tasks),
        warnings=sum(each.warnings for each in known),
        sections=found,
    )


def iterate_tasks(
    data: bytes, path: str, cache_folder: Path | None, prefixes: tuple[str, ...] = ()
) -> Iterator[OutlineTask]:
    """Yield the tasks of another text of the plan, without their digests.

    The plain stretches that are kept stay those of the plan itself.
    """
    learner = _Learner(data, path, prefixes)
    for found in _walk_file(learner, cache_folder, _no_digests):
        yield from found.tasks


def _walk_file(
    learner: _Learner,
    cache_folder: Path | None,
    digests: Callable[[int], Spec],
    *,
    remember: bool = False,
) -> Iterator[Found]:
    """Yield the sections of a file with the cache's help, and update the cache at the end."""
    stamp = _stamp(learner.path, learner.prefixes)
    with CacheFile(cache_folder, _OUTLINE, stamp) as file:
        known = decode_known_sections(text for _, text in file.texts())
    plain = CacheFile(cache_folder, _STRETCHES, stamp)
    with plain:
        kept = Stretches(learner.data, plain.texts(), digests)
    sections = []
    for found in _walk(learner, known, kept, remember=remember):
        if found.known is not None:
            sections.append(found.known)
        yield found
    if sections != known:
        file.replace((one.digest, encode_json(one)) for one in sections)
    if remember and kept.differ:
        plain.replace(kept.rows)


def _walk(
    learner: _Learner, known: Sequence[KnownSection], kept: Stretches, *, remember: bool
) -> Iterator[Found]:
    """Yield the sections of a file: cached, scanned if plain, else parsed."""
    data, prefixes = learner.data, learner.prefixes
    offset, line, expected = body_start(data), 1, 0
    by_head: dict[int, list[int]] = {}
    may_be_plain = may_scan(data)
    while offset < len(data):
        taken = kept.take(offset, line) if may_be_plain else ()
        plain = scan(data, offset, prefixes) if may_be_plain and not taken else None
        if plain is not None:
            taken = (find_plain(plain, offset, line, kept.digests),)
            if remember:
                kept.note(taken[0])
        if taken:
            yield from taken
            offset, line = taken[-1].end, taken[-1].first_line + taken[-1].lines
            continue
        kept.part()
        index = expected if expected < len(known) else -1
        here = match_known(data, offset, line, known[index], prefixes) if index >= 0 else None
        if here is None:
            by_head = by_head or _by_head(known)
            here, index = _elsewhere(data, offset, line, known, by_head, prefixes)
        if here is None:
            learnt = learner.learn(offset, line)
            here = match_known(data, offset, line, learnt, prefixes, trusted=True)
            if here is None:
                raise AssertionError("a section differs when it is read a second time")
        else:
            expected = index + 1
        yield here
        offset, line = here.end, line + here.lines
    kept.part()


def _by_head(known: Sequence[KnownSection]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for index, section in enumerate(known):
        found.setdefault(section.head, []).append(index)
    return found


def _elsewhere(
    data: bytes,
    offset: int,
    line: int,
    known: Sequence[KnownSection],
    by_head: dict[int, list[int]],
    prefixes: tuple[str, ...],
) -> tuple[Found | None, int]:
    # Limited: a plan may have thousands of sections with the same first line.
    for index in by_head.get(head_of(data, offset), ())[:8]:
        here = match_known(data, offset, line, known[index], prefixes)
        if here:
            return here, index
    return None, -1


_FEW = 50
"""Up to a fiftieth of the sections are read individually: a run builds few of a large plan."""


class _Digests:
    """Both digests of the tasks of plain sections: read all at once when many are asked for."""

    def __init__(self, learner: _Learner, folder: Path | None) -> None:
        self.sections: Sequence[Found] = ()
        self._learner = learner
        stamp = _stamp(learner.path, learner.prefixes)
        self._stretches = CacheFile(folder, _STRETCHES, stamp)
        self._plan = CacheFile(folder, _PLAN, stamp)
        self._by_start: dict[int, Spec] = {}
        self._alone = 0

    def of(self, start: int) -> Spec:
        """Return the digests of the task whose status starts at a byte."""
        if start not in self._by_start:
            self._alone += 1
            if self._alone > len(self.sections) // _FEW:
                self._read()
            else:
                self._by_start[start] = self._learner.read(self._find(start)).tasks[0].spec
        return self._by_start[start]

    def _find(self, start: int) -> Found:
        """Return the section that contains a byte: the last one that starts before it."""
        return self.sections[bisect(self.sections, start, key=lambda one: one.start) - 1]

    def _read(self) -> None:
        """Read the digests from the cached sections, and save them with the stretches."""
        data, learner = self._learner.data, self._learner
        # If most sections have their tasks already, few are looked up: other rows are not
        # requested, so that the file stays unchanged.
        asked = [one for one in self.sections if one.known is None and one.tasks]
        lacking = [one for one in asked if callable(one.tasks[0].digests)]
        whole = len(lacking) == len(asked)
        with self._plan as rows:
            for found in self.sections if whole else lacking:
                digest = found.digest(data)
                # For all others the outline has both digests: their rows are only kept.
                if found.known is not None or not found.tasks:
                    rows.take(digest, bool)
                    continue
                spec = rows.take(digest, decode_spec)
                if spec is None:
                    section = learner.read(found, keep=True)
                    rows.put(digest, encode_section(section))
                    spec = section.tasks[0].spec
                self._by_start[found.tasks[0].span.start] = spec
            if whole:
                rows.keep()
        kept = Stretches(data, (), self._by_start.__getitem__)
        for found in self.sections:
            if found.known is None:
                kept.note(with_digests(found))
            else:
                kept.part()
        kept.part()
        if kept.rows:
            self._stretches.replace(kept.rows)


def load_plan(
    data: bytes, path: str, cache_folder: Path | None, prefixes: tuple[str, ...] = ()
) -> Plan:
    """Load the full plan like `read_plan`, parsing only changed sections."""
    learner = _Learner(data, path, prefixes, remember=True)
    # Each section's outline is released as soon as the section is made from it.
    found = _walk_file(learner, cache_folder, _no_digests)
    with CacheFile(cache_folder, _PLAN, _stamp(path, prefixes)) as rows:
        plan = document.plan_of(data, path, _sections(found, learner, rows))
        rows.keep()
    return plan


def _no_digests(start: int) -> Spec:
    """Raise AssertionError, since these digests are stored with their section."""
    raise AssertionError(f"the cache holds no digests of the task at byte {start}")


def _sections(found: Iterator[Found], learner: _Learner, rows: CacheFile) -> Iterator[Section]:
    path = learner.path
    for one in found:
        digest = one.digest(learner.data)
        section = rows.take(digest, partial(section_from, found=one, path=path))
        if section is None:
            section = learner.read(one)
            rows.put(digest, encode_section(section))
        yield section


class _Learner:
    """Parses single sections."""

    def __init__(
        self, data: bytes, path: str, prefixes: tuple[str, ...], *, remember: bool = False
    ) -> None:
        self.data = data
        self.path = path
        self.prefixes = prefixes
        self._remember = remember
        self._parsed: dict[int, Section] = {}  # so that outline and plan parse each section once
        self._reader: SectionReader | None = None
        self._ahead: Piece | None = None
        self._ahead_at = -1

    def read(self, found: Found, *, keep: bool = False) -> Section:
        """Return a section, from its lines alone if it is plain."""
        plain = plain_sections.read_plain(self.data, found) if found.known is None else None
        if plain is None:
            return self.parse(found.start, found.first_line, keep=keep)
        return plain

    def parse(self, offset: int, line: int, *, keep: bool = False) -> Section:
        """Parse the section at a byte offset; `keep` stores it for a second call."""
        from runner.plan.sections import SectionReader, section_at

        known = self._parsed.pop(offset, None)
        if known is not None:
            return known
        if self._reader is None:
            self._reader = SectionReader(self.path, self.prefixes, markdown.Cuts(self.data))
        # the piece after a section is parsed to find its end: it often starts the next one
        ahead = self._ahead if self._ahead_at == offset else None
        section, self._ahead = section_at(self.data, offset, line, self._reader, ahead)
        self._ahead_at = -1 if self._ahead is None else self._ahead.source.start
        if keep and self._remember:
            self._parsed[offset] = section
        return section

    def learn(self, offset: int, line: int) -> KnownSection:
        """Return the section at a byte offset in the form for the cache."""
        return _make_known_section(self.data, self.parse(offset, line, keep=True))


def _make_known_section(data: bytes, section: Section) -> KnownSection:
    holes: list[tuple[int, int]] = []
    tasks: list[KnownTask] = []
    cut = 0
    for task, span in zip(section.tasks, section.spans, strict=True):
        offset = span.start - section.start - cut
        tail = tail_of(data, span, (task.status, task.note))
        place: Cut | None = None
        within: DigestStatus | None = None
        if tail is None:
            length = span.end - span.start
            within = DigestStatus(
                offset, length, span.before, span.after, task.status.value, task.note
            )
        else:
            place = Cut(offset, tail)
            holes.append((span.start, span.end))
            cut += span.end - span.start
        tasks.append(_make_known(task, section.first_line, place, within))
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


def _make_known(
    task: Task, first_line: int, cut: Cut | None, within: DigestStatus | None
) -> KnownTask:
    return KnownTask(
        task.id,
        task.title,
        task.line - first_line,
        task.type,
        task.depends_on,
        task.outputs,
        task.spec.what.removeprefix("sha256:"),
        task.spec.proof.removeprefix("sha256:"),
        cut,
        within,
    )


def _stamp(path: str, prefixes: tuple[str, ...]) -> list[object]:
    # Includes these sources, in a tenth of a millisecond: another version may parse differently.
    try:
        with os.scandir(os.path.dirname(__file__)) as entries:  # noqa: PTH120 # no Path object for it
            newest = max(entry.stat().st_mtime_ns for entry in entries if entry.is_file())
    except OSError:  # in an archive
        newest = 0
    return [_FORMAT, runner.__version__, newest, path, *prefixes]


_CODEC = Codec(lambda: vars(outline))


def decode_known_sections(rows: Iterable[bytes]) -> list[KnownSection]:
    """Decode known sections from JSON; empty if they do not have this shape."""
    try:
        return [_CODEC.decode(KnownSection, row) for row in rows]
    except ValueError:
        return []


class Stretches:
    """Plain sections in a row, kept by their very bytes and the line that ends the last of them.

    That line is all that a plain section's end is known by (`scanner`), so where bytes and line
    are the same, so are the sections. A row's key names the digest, the CRC of the first line,
    by which a stretch that moved is found again, and the bytes.
    """

    def __init__(
        self, data: bytes, rows: Iterable[tuple[str, bytes]], digests: Callable[[int], Spec]
    ) -> None:
        self.digests = digests
        self.rows: list[tuple[str, bytes]] = []
        """Rows of this file, in order, as they will be stored."""
        self._data, self._view = data, memoryview(data)
        self._known = [row for row in rows if row[0].count(":") == _COLONS]
        self._by_head: dict[str, list[int]] = {}
        for index, (key, _) in enumerate(self._known):
            self._by_head.setdefault(key.split(":")[1], []).append(index)
        self._expected = 0
        self._pending: list[Found] = []

    @property
    def differ(self) -> bool:
        """Whether other rows are to be kept than were."""
        return self.rows != self._known

    def take(self, offset: int, line: int) -> Sequence[Found]:
        """Return the sections of the cached stretch at a byte offset; empty without one."""
        for index in self._candidates(offset) if self._known else ():
            key, text = self._known[index]
            digest, _, size = key.split(":")
            end = offset + int(size) if size.isdecimal() else 0
            if not offset < end <= len(self._data) or digest != self._digest(offset, end):
                continue
            try:
                found = list(_decode(json.loads(text), offset, line, self.digests))
            except (TypeError, ValueError, KeyError, IndexError, AttributeError):
                continue
            if found and found[-1].end == end:
                self.part()
                self.rows.append((key, text))
                self._expected = index + 1
                return found
        return ()

    def note(self, found: Found) -> None:
        """Add a plain section that was scanned."""
        pending = self._pending
        pending.append(found)
        if len(pending) == _MOST:
            self.part()

    def part(self) -> None:
        """Save the current stretch, since no further plain section follows directly."""
        pending = self._pending
        if len(pending) >= _LEAST:
            start, end = pending[0].start, pending[-1].end
            digest, head = self._digest(start, end), head_of(self._data, start)
            text = json.dumps(_encode(pending), separators=(",", ":")).encode()
            self.rows.append((f"{digest}:{head}:{end - start}", text))
        pending.clear()

    def _candidates(self, offset: int) -> Iterator[int]:
        places = self._by_head.get(str(head_of(self._data, offset)), ())
        if self._expected in places:
            yield self._expected
        yield from places[:8]

    def _digest(self, start: int, end: int) -> str:
        line_end = self._data.find(b"\n", end) + 1 or len(self._data)
        return hashlib.sha256(self._view[start:line_end]).hexdigest()


def with_digests(found: Found) -> Found:
    """Return the section with its task's digests computed."""
    if not found.tasks or isinstance(found.tasks[0].digests, str):
        return found
    task = found.tasks[0]
    spec = task.spec
    both = spec.what.removeprefix(SHA256) + spec.proof.removeprefix(SHA256)
    return found._replace(tasks=(task._replace(digests=both),))


def _encode(sections: Sequence[Found]) -> list[object]:
    """Encode sections as columns with positions relative to each section."""
    _, starts, ends, _, lines, levels, titles, tasks = zip(*sections, strict=True)
    sizes = [end - start for start, end in zip(starts, ends, strict=True)]
    counts = list(map(len, tasks))
    own = [sizes, lines, levels, titles, counts]
    if not any(counts):
        return [len(sections), *map(write_once, own)]
    lights = [light for each in tasks for light in each]
    ids, named, _, statuses, notes, kinds, needs, outputs, spans, digests = zip(
        *lights, strict=True
    )
    firsts = (start for start, count in zip(starts, counts, strict=True) if count)
    begins, behinds, befores, afters = zip(*spans, strict=True)
    places = [begin - first for begin, first in zip(begins, firsts, strict=True)]
    lengths = [behind - begin for behind, begin in zip(behinds, begins, strict=True)]
    known = [one if isinstance(one, str) else "" for one in digests]
    own += [ids, named, statuses, notes, kinds, needs, outputs, places, lengths, befores, afters]
    return [len(sections), *map(write_once, [*own, known])]


def _decode(
    columns: Sequence[Any], offset: int, line: int, digests: Callable[[int], Spec]
) -> Iterator[Found]:
    """Decode sections from columns; the first is at byte `offset` on `line`.

    Raises ValueError, TypeError, KeyError, IndexError or AttributeError for odd ones.
    """
    count, *own = columns[:6]
    sizes, lines, levels, titles, counts = (read_each(column, count, _MOST) for column in own)
    starts = list(accumulate(sizes, initial=offset))
    firsts = list(accumulate(lines, initial=line))
    places = list(compress(zip(starts, firsts, strict=True), counts))
    lights = _decode_tasks(columns[6:], places, digests) if places else iter(())
    tasks = (
        zip(lights)
        if len(places) == count
        else (next(zip(lights)) if one else () for one in counts)
    )
    values = (starts[:-1], starts[1:], firsts[:-1], lines, levels, titles, tasks)
    return map(new_tuple, repeat(Found), zip(repeat(None, count), *values, strict=True))


def _decode_tasks(
    columns: Sequence[Any], places: Sequence[tuple[int, int]], digests: Callable[[int], Spec]
) -> Iterator[OutlineTask]:
    """Decode the tasks of sections; `places` are the sections' byte offsets and lines."""
    starts, firsts = zip(*places, strict=True)
    ids, titles, statuses, notes, kinds, needs, outputs, offsets, lengths, befores, afters, sums = (
        read_each(column, len(starts), _MOST) for column in columns
    )
    begins = list(map(add, starts, offsets))
    spans = zip(begins, map(add, begins, lengths), befores, afters, strict=True)
    named = (map(sys.intern, ids), titles, firsts, map(_STATUSES.__getitem__, statuses))
    # share one string for each ID in the plan
    waits = (tuple(map(sys.intern, some)) for some in needs)
    placed = (map(new_tuple, repeat(StatusSpan), spans), (one or digests for one in sums))
    lights = zip(*named, notes, kinds, waits, map(tuple, outputs), *placed, strict=True)
    return map(new_tuple, repeat(OutlineTask), lights)
