"""The plan in outline: what `status` and a run without work need, read without any parser.

A section that is plainly written is scanned, or known in a stretch of such ones that did not
change. Of the others, a digest leaves out the characters of
their statuses, so that a section is known again after its status changed. Known sections are walked
from the file's beginning: each says how long it is, the next one must begin behind it. Only what is
not known is parsed.
"""

from __future__ import annotations

import hashlib
import json
import sys
import zlib
from dataclasses import field
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from runner.lazy_dataclass import dataclass
from runner.lazy_pattern import regex
from runner.model import Spec, Status
from runner.plan.status import ODD_VALUE, StatusSpan, read_status
from runner.plan.task_ids import heading_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from runner.plan.scanner import Scanned

_REST_OF_LINE = regex(rb"[^\r\n]*")
_HEADING = regex(rb"(?P<line>#{1,6})(?:[ \t]+(?P<text>[^\r\n]*))?(?=[\r\n]|\Z)")
_SETEXT = regex(rb"(?P<text>[A-Za-z][^\r\n]*)\r?\n(?P<line>=+|-+)[ \t]*(?=[\r\n]|\Z)")


_SHA256, _HALF = "sha256:", 64


class Cut(NamedTuple):
    """A status inside a section: where its value begins when all values before it are left out."""

    offset: int
    tail: str
    """What follows the value on its line."""


class Kept(NamedTuple):
    """A status that is part of the digest: missing, or not on one line."""

    offset: int
    length: int
    before: str
    after: str
    status: str
    note: str


class Known(NamedTuple):
    """A task as a known section remembers it; `line` counts from the section's first."""

    id: str
    title: str
    line: int
    type: str
    depends_on: tuple[str, ...]
    outputs: tuple[str, ...]
    what: str
    proof: str
    place: Cut | Kept


class KnownSection(NamedTuple):
    """All that must be known of a section to read it again without parsing it."""

    digest: str
    head: int
    """CRC of the first line, to find the section again when it moved."""
    size: int
    """Bytes without those of the cut values."""
    lines: int
    level: int
    is_last: bool
    """Whether it reached to the end of its file, so that it is known only there."""
    title: str
    errors: int
    warnings: int
    tasks: tuple[Known, ...]


class OutlineTask(NamedTuple):
    """A task, as far as its status line, its order and its evidence need it."""

    id: str
    title: str
    line: int
    status: Status
    note: str
    type: str
    depends_on: tuple[str, ...]
    outputs: tuple[str, ...]
    span: StatusSpan
    digests: Spec | str | Callable[[int], Spec]
    """Both digests, as 128 hexadecimal digits too, or who knows them by the place of the status."""

    @property
    def spec(self) -> Spec:
        """Both digests of the task; its section is read for them when it was not before."""
        known = self.digests
        if isinstance(known, str):
            return Spec(_SHA256 + known[:_HALF], _SHA256 + known[_HALF:])
        return known(self.span.start) if callable(known) else known


class Found(NamedTuple):
    """A section in the file at hand."""

    known: KnownSection | None
    """None of a plain section: it is scanned anew each time."""
    start: int
    end: int
    first_line: int
    lines: int
    level: int
    title: str
    tasks: tuple[OutlineTask, ...]

    def digest(self, data: bytes) -> str:
        """What the section is known by, whatever its statuses are."""
        if self.known is not None:
            return self.known.digest
        holes = [(task.span.start, task.span.end) for task in self.tasks]
        return digest_without(data, self.start, self.end, holes)


@dataclass(frozen=True, slots=True)
class Outline:
    """All tasks in the order of the file; `errors`, `warnings`: how many problems places have."""

    title: str
    tasks: tuple[OutlineTask, ...]
    errors: int
    warnings: int
    sections: tuple[Found, ...] = field(repr=False)

    @property
    def spans(self) -> dict[str, StatusSpan]:
        """Where each status stands, for an edit; of two tasks with one id, the first."""
        return {task.id: task.span for task in reversed(self.tasks)}


_LEAST, _MOST = 8, 512
"""Sections that a stretch has at least, since fewer are scanned as quickly, and at most."""
_COLONS = 2
_STATUSES = {str(status): status for status in Status}


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
        """Those of this file, in its order, as they are to be kept."""
        self._data, self._view = data, memoryview(data)
        self._known = [row for row in rows if row[0].count(":") == _COLONS]
        self._by_head: dict[str, list[int]] = {}
        for index, (key, _) in enumerate(self._known):
            self._by_head.setdefault(key.split(":")[1], []).append(index)
        self._expected = 0
        self._pending: list[list[object]] = []
        self._start = 0
        """Where the first section begins that is pending."""

    @property
    def differ(self) -> bool:
        """Whether other rows are to be kept than were."""
        return self.rows != self._known

    def take(self, offset: int, line: int) -> Sequence[Found]:
        """The sections of a kept stretch that begins at a byte; none where there is none."""
        for index in self._candidates(offset) if self._known else ():
            key, text = self._known[index]
            digest, _, size = key.split(":")
            end = offset + int(size) if size.isdecimal() else 0
            if not offset < end <= len(self._data) or digest != self._digest(offset, end):
                continue
            try:
                found = list(self._decode(json.loads(text), offset, line))
            except (TypeError, ValueError, KeyError):
                continue
            if found and found[-1].end == end:
                self.part()
                self.rows.append((key, text))
                self._expected = index + 1
                return found
        return ()

    def note(self, found: Found, *, told: bool = False) -> None:
        """A plain section that was scanned; `told` where the digests of all are known."""
        if not self._pending:
            self._start = found.start
        self._pending.append(_row(found, told=told))
        if len(self._pending) == _MOST:
            self._close(found.end)

    def part(self) -> None:
        """What stands behind is no plain section that is not kept yet."""
        if self._pending:
            self._close(self._start + sum(cast("int", row[0]) for row in self._pending))

    def _close(self, end: int) -> None:
        pending, self._pending = self._pending, []
        if len(pending) >= _LEAST:
            digest, head = self._digest(self._start, end), head_of(self._data, self._start)
            text = json.dumps(pending, separators=(",", ":")).encode()
            self.rows.append((f"{digest}:{head}:{end - self._start}", text))

    def _candidates(self, offset: int) -> Iterator[int]:
        places = self._by_head.get(str(head_of(self._data, offset)), ())
        if self._expected in places:
            yield self._expected
        yield from places[:8]

    def _digest(self, start: int, end: int) -> str:
        line_end = self._data.find(b"\n", end) + 1 or len(self._data)
        return hashlib.sha256(self._view[start:line_end]).hexdigest()

    def _decode(self, rows: Iterable[Any], offset: int, line: int) -> Iterator[Found]:
        for size, lines, level, title, *said in rows:
            if not said:
                yield Found(None, offset, offset + size, line, lines, level, title, ())
            else:
                id_, status, note, kind, needs, outputs, at, length, before, after, told = said
                at += offset
                task = OutlineTask(
                    *(sys.intern(id_), title, line, _STATUSES[status], note, kind),
                    tuple(map(sys.intern, needs)),  # one text, wherever the plan names it
                    tuple(outputs),
                    StatusSpan(at, at + length, before, after),
                    told or self.digests,
                )
                yield Found(None, offset, offset + size, line, lines, level, "", (task,))
            offset += size
            line += lines


def _row(found: Found, *, told: bool) -> list[object]:
    """A plain section as a row of its stretch tells it; places count from its first byte."""
    _, start, end, _, lines, level, title, tasks = found
    if not tasks:
        return [end - start, lines, level, title]
    (task,) = tasks
    at, behind, before, after = task.span
    digests = task.digests
    if told and not isinstance(digests, str):
        spec = task.spec
        digests = spec.what.removeprefix(_SHA256) + spec.proof.removeprefix(_SHA256)
    return [
        *(end - start, lines, level, task.title, task.id, task.status, task.note, task.type),
        *(task.depends_on, task.outputs, at - start, behind - at, before, after),
        digests if isinstance(digests, str) else "",
    ]


def find_plain(plain: Scanned, start: int, line: int, digests: Callable[[int], Spec]) -> Found:
    """A plain section with its place: it begins at byte `start`, on `line`."""
    tasks: tuple[OutlineTask, ...] = ()
    if plain.task is not None:
        one = plain.task
        named, more = (one.id, one.title, line), (one.type, one.depends_on, one.outputs)
        tasks = (OutlineTask(*named, one.status, one.note, *more, one.value, digests),)
    return Found(None, start, plain.end, line, plain.lines, plain.level, plain.title, tasks)


def head_of(data: bytes, offset: int) -> int:
    """CRC of the line that begins at a byte."""
    match = _REST_OF_LINE.match(data, offset)
    return zlib.crc32(match[0] if match else b"")


def digest_without(data: bytes, start: int, end: int, holes: Sequence[tuple[int, int]]) -> str:
    """Digest of a stretch without the bytes in its holes."""
    hasher = hashlib.sha256()
    for left, right in holes:
        hasher.update(data[start:left])
        # A hole leaves its place: else words could move from before it to behind it, unseen.
        hasher.update(b"\0")
        start = right
    hasher.update(data[start:end])
    return hasher.hexdigest()


def match_known(
    data: bytes,
    start: int,
    first_line: int,
    section: KnownSection,
    prefixes: tuple[str, ...],
    *,
    trusted: bool = False,
) -> Found | None:
    """The section at a byte, when it is this known one but for its statuses."""
    holes: list[tuple[int, int]] = []
    tasks: list[OutlineTask] = []
    shift = start
    for task in section.tasks:
        place = task.place
        if isinstance(place, Kept):
            status, note = Status(place.status), place.note
            at = shift + place.offset
            span = StatusSpan(at, at + place.length, place.before, place.after)
        else:
            at = shift + place.offset
            value = _value(data, at, place.tail.encode())
            read = read_status(value.decode("utf-8", "replace")) if value else None
            if value is None or read is None:
                return None
            status, note = read
            span = StatusSpan(at, at + len(value))
            holes.append((at, at + len(value)))
            shift += len(value)
        tasks.append(_make_outline_task(task, first_line, status, note, span))
    end = shift + section.size
    if end > len(data) or digest_without(data, start, end, holes) != section.digest:
        return None
    if not trusted and not _ends(data, end, section, prefixes):
        return None
    return Found(
        section, start, end, first_line, section.lines, section.level, section.title, tuple(tasks)
    )


def _make_outline_task(
    task: Known, first_line: int, status: Status, note: str, span: StatusSpan
) -> OutlineTask:
    return OutlineTask(
        task.id,
        task.title,
        first_line + task.line,
        status,
        note,
        task.type,
        task.depends_on,
        task.outputs,
        span,
        Spec(_SHA256 + task.what, _SHA256 + task.proof),
    )


def _value(data: bytes, at: int, tail: bytes) -> bytes | None:
    """The value at a byte, when its line ends in `tail` and nothing in it makes Markdown."""
    match = _REST_OF_LINE.match(data, at)
    rest = match[0] if match else b""
    if not rest.endswith(tail):
        return None
    value = rest[: len(rest) - len(tail)]
    return None if ODD_VALUE.search(value) else value


def tail_of(data: bytes, span: StatusSpan, read: tuple[Status, str]) -> str | None:
    """What follows a value on its line, when the value can be left out of a digest; else None."""
    match = _REST_OF_LINE.match(data, span.end)
    rest = match[0] if match else b""
    try:
        tail = rest.decode()
    except UnicodeDecodeError:
        return None
    value = _value(data, span.start, rest)
    if span.before or value is None or span.start + len(value) != span.end:
        return None
    return tail if read_status(value.decode("utf-8", "replace")) == read else None


def _ends(data: bytes, end: int, section: KnownSection, prefixes: tuple[str, ...]) -> bool:
    """Whether a section ends at a byte: the file does, or a heading that is none of its own."""
    if end == len(data):
        return True
    if section.is_last or data[end - 1 : end] not in (b"\n", b"\r"):
        return False
    # Underlined text goes back as far as its paragraph does (CommonMark 0.31, 4.3): only behind an
    # empty line does such a heading begin right here.
    after_blank = data.endswith((b"\n\n", b"\n\r\n"), 0, end)
    match = _HEADING.match(data, end) or (_SETEXT.match(data, end) if after_blank else None)
    if match is None:
        return False
    if not section.level:
        return True
    sign, length = data[match.start("line") : match.end("line")][:1], len(match["line"])
    level = length if sign == b"#" else 1 + (sign == b"-")
    if level <= section.level:
        return True
    heading = heading_of((match["text"] or b"").decode("utf-8", "replace"), prefixes)
    return bool(heading and heading.certain and heading.separated)
