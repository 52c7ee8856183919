"""The plan's outline for `status` and no-op runs, read without a full parser.

A plainly written section is scanned, or known from an unchanged stretch. Other sections have a
digest without the characters of their statuses, so a new status keeps them known. Known sections
are walked from the file's beginning: each has its length, and the next one must begin behind it.
Only unknown sections are parsed.
"""

from __future__ import annotations

import hashlib
import zlib
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from runner.lazy_pattern import regex
from runner.model import Spec, Status
from runner.model.codec import new_tuple
from runner.plan.status import ODD_VALUE, StatusSpan, read_status
from runner.plan.task_ids import heading_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from runner.plan.scanner import ScannedSection

_REST_OF_LINE = regex(rb"[^\r\n]*")
_HEADING = regex(rb"(?P<line>#{1,6})(?:[ \t]+(?P<text>[^\r\n]*))?(?=[\r\n]|\Z)")
_SETEXT = regex(rb"(?P<text>[A-Za-z][^\r\n]*)\r?\n(?P<line>=+|-+)[ \t]*(?=[\r\n]|\Z)")


SHA256 = "sha256:"
_HALF = 64


class Cut(Struct, frozen=True):
    """A status inside a section: where its value begins when all values before it are left out."""

    offset: int
    tail: str
    """Text after the value on its line."""


class DigestStatus(Struct, frozen=True):
    """A status that is part of the digest: missing, or not on one line."""

    offset: int
    length: int
    before: str
    after: str
    status: str
    note: str


class KnownTask(Struct, frozen=True):
    """A task as a known section remembers it; `line` counts from the section's first."""

    id: str
    title: str
    line: int
    type: str
    depends_on: tuple[str, ...]
    outputs: tuple[str, ...]
    what: str
    proof: str
    cut: Cut | None = None
    within: DigestStatus | None = None
    """Where the status is; one of the two."""


class KnownSection(Struct, frozen=True):
    """All that must be known of a section to read it again without parsing it."""

    digest: str
    head: int
    """CRC of the first line, to find the section after it moved."""
    size: int
    """Bytes without the cut values."""
    lines: int
    level: int
    is_last: bool
    """Whether it reached the end of its file; then it is only reused there."""
    title: str
    errors: int
    warnings: int
    tasks: tuple[KnownTask, ...]


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
    """Both digests, also as 128 hexadecimal digits, or a function of the status position."""

    @property
    def spec(self) -> Spec:
        """Both digests of the task; its section is read for them when it was not before."""
        known = self.digests
        if isinstance(known, str):
            return Spec(SHA256 + known[:_HALF], SHA256 + known[_HALF:])
        return known(self.span.start) if callable(known) else known


class Found(NamedTuple):
    """A section in the file at hand."""

    known: KnownSection | None
    """None for a plain section: it is scanned each time."""
    start: int
    end: int
    first_line: int
    lines: int
    level: int
    title: str
    tasks: tuple[OutlineTask, ...]

    def digest(self, data: bytes) -> str:
        """Return the digest of the section without its statuses."""
        if self.known is not None:
            return self.known.digest
        holes = [(task.span.start, task.span.end) for task in self.tasks]
        return digest_without(data, self.start, self.end, holes)


class Outline(Struct, frozen=True):
    """All tasks in the order of the file; `errors`, `warnings`: how many problems places have."""

    title: str
    tasks: tuple[OutlineTask, ...]
    errors: int
    warnings: int
    sections: tuple[Found, ...]

    @property
    def spans(self) -> dict[str, StatusSpan]:
        """Span of each status; of tasks with the same id, the first."""
        return {task.id: task.span for task in reversed(self.tasks)}


def find_plain(
    plain: ScannedSection, start: int, line: int, digests: Callable[[int], Spec]
) -> Found:
    """Return a plain section at byte `start` and `line`."""
    end, lines, level, title, task = plain
    tasks: tuple[OutlineTask, ...] = ()
    if task is not None:
        id_, named, status, note, kind, needs, outputs, value = task
        light = (id_, named, line, status, note, kind, needs, outputs, value, digests)
        tasks = (new_tuple(OutlineTask, light),)
    return new_tuple(Found, (None, start, end, line, lines, level, title, tasks))


def head_of(data: bytes, offset: int) -> int:
    """Return the CRC of the line that starts at a byte."""
    match = _REST_OF_LINE.match(data, offset)
    return zlib.crc32(match[0] if match else b"")


def digest_without(data: bytes, start: int, end: int, holes: Sequence[tuple[int, int]]) -> str:
    """Return the digest of a range without the bytes in its holes."""
    hasher = hashlib.sha256()
    for left, right in holes:
        hasher.update(data[start:left])
        # A hole leaves a separator: else words could move across it undetected.
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
    """Return the section at a byte if it equals a known one except for its statuses."""
    holes: list[tuple[int, int]] = []
    tasks: list[OutlineTask] = []
    shift = start
    for task in section.tasks:
        within, cut = task.within, task.cut
        if within is not None:
            status, note = Status(within.status), within.note
            at = shift + within.offset
            span = StatusSpan(at, at + within.length, within.before, within.after)
        elif cut is not None:
            at = shift + cut.offset
            value = _value(data, at, cut.tail.encode())
            read = read_status(value.decode("utf-8", "replace")) if value else None
            if value is None or read is None:
                return None
            status, note = read
            span = StatusSpan(at, at + len(value))
            holes.append((at, at + len(value)))
            shift += len(value)
        else:
            return None
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
    task: KnownTask, first_line: int, status: Status, note: str, span: StatusSpan
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
        Spec(SHA256 + task.what, SHA256 + task.proof),
    )


def _value(data: bytes, at: int, tail: bytes) -> bytes | None:
    """Return the value at a byte if its line ends in `tail` and has no Markdown."""
    match = _REST_OF_LINE.match(data, at)
    rest = match[0] if match else b""
    if not rest.endswith(tail):
        return None
    value = rest[: len(rest) - len(tail)]
    return None if ODD_VALUE.search(value) else value


def tail_of(data: bytes, span: StatusSpan, read: tuple[Status, str]) -> str | None:
    """Return the rest of a value's line, if a digest may leave the value out; else None."""
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
    """Return whether a section ends at a byte: at the file's end or at another heading."""
    if end == len(data):
        return True
    if section.is_last or data[end - 1 : end] not in (b"\n", b"\r"):
        return False
    # A setext heading includes its whole paragraph (CommonMark 0.31, 4.3): only after an empty line
    # does it certainly start here.
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
