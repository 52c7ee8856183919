"""Encode and decode journal records: one line of JSON each.

One record as one line of JSON, and back.

`v` is first and `crc` last: the CRC-32 (hex) of all the line's bytes before `,"crc"`.

Reading the journal: whole records in their order, a torn end forgiven, other damage named.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, cast
from zlib import crc32

from msgspec import Struct

from runner import model
from runner.errors import RunnerError
from runner.journal.events import TYPES, Event, Record, Unknown
from runner.model.codec import Codec, loads, new_tuple, table, to_json

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator
    from pathlib import Path


VERSION = 1
ENVELOPE = (
    *("v", "id", "seq", "time", "run", "type", "task", "attempt", "cause", "origin", "producer"),
    "crc",
)
_START, _TAIL = b'{"v":1,', len(',"crc":"01234567"}')


class BadRecordError(ValueError):
    """A line that is not whole: its checksum does not match."""


class UnfitRecordError(ValueError):
    """A line that is whole, so no torn write, but holds what this runner cannot read."""


class NewerRecordError(ValueError):
    """A line that a newer runner wrote in a format this one does not know."""


def encode(record: Record) -> bytes:
    """Encode a record as one line with its line end and a new checksum."""
    text = to_text(
        {
            "v": record.v,
            "id": record.id,
            "seq": record.seq,
            "time": record.time,
            "run": record.run,
            "type": record.type,
            "task": record.task,
            "attempt": record.attempt,
            "cause": record.cause,
            "origin": record.origin,
            "producer": record.producer,
            **_fields(record.event),
        }
    )
    # A lone surrogate (a file name that is not UTF-8) must not prevent writing an event.
    body = text[:-1].encode("utf-8", "backslashreplace")
    return b'%b,"crc":"%08x"}\n' % (body, crc32(body))


def _fields(event: Event) -> dict[str, object]:
    if isinstance(event, Unknown):
        return cast("dict[str, object]", json.loads(event.fields))
    return table(event)


def _vocabulary() -> dict[str, object]:
    return {**vars(model)}


_CODEC = Codec(_vocabulary)
to_text = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode
"""Serialises plain JSON values; those of model types contain no cycles."""


class _Envelope(Struct):
    """The fields of every line, next to those of the event."""

    id: str
    seq: int
    time: str
    run: str
    type: str
    task: str
    attempt: int
    cause: str
    origin: str
    producer: str
    crc: str


def decode(line: bytes, *, wanted: Container[str] | None = None) -> Record:
    """Decode the record of one line, with or without its line end.

    An event of an unknown type, or one not in `wanted`, becomes `Unknown`; fields that are not
    known are left out. Raises BadRecordError for a damaged line, UnfitRecordError for a whole one
    that makes no record, and NewerRecordError for a newer format.
    """
    line = line.rstrip(b"\n")
    # Check before parsing: a torn write may still be valid JSON with a truncated value.
    body, tail = line[:-_TAIL], line[-_TAIL:]
    if tail != b',"crc":"%08x"}' % crc32(body):
        raise BadRecordError("the record's checksum does not match")
    try:
        if not line.startswith(_START):
            _require_version(loads(line)["v"])
        own = _CODEC.decode(_Envelope, line)
        event = _event(own.type, line, wanted)
    except NewerRecordError:
        raise
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UnfitRecordError(f"the record's values are invalid ({error})") from error
    envelope = (own.id, own.seq, own.time, own.run, own.type, own.task, own.attempt, own.cause)
    return new_tuple(Record, (*envelope, own.origin, own.producer, event, own.crc, VERSION))


def _require_version(version: object) -> None:
    if version != VERSION:
        raise NewerRecordError(f"its format is {version!r}, this runner supports {VERSION}")


def _event(name: str, line: bytes, wanted: Container[str] | None) -> Event:
    kind: Callable[..., Event] | None = TYPES.get(name)
    if kind is None:
        own = {key: value for key, value in loads(line).items() if key not in ENVELOPE}
        return Unknown(name, to_text(own))
    if wanted is not None and name not in wanted:
        return Unknown(name, "{}")
    return _CODEC.decode(kind, line)


def dump(value: object) -> str:
    """Return plain values and classes of `model` as JSON text."""
    return to_text(to_json(value))


_STEP = 65_536


class Mark(NamedTuple):
    """A point between two lines of the journal."""

    offset: int = 0
    """Bytes before it."""
    line: int = 0
    """Lines before it; -1 if not counted."""
    seq: int = 0
    """Number of the record before it."""


def read_journal(path: Path, *, wanted: Container[str] | None = None) -> Iterator[Record]:
    """Yield the records of a journal. Raises RunnerError if it is damaged.

    A journal that does not exist has none. A last line that is not whole is left out: somebody is
    writing it, or died while writing it. Raises RunnerError for a line in the middle that is not
    whole, for a number that is missing or comes twice, and for a newer format.
    """
    for record, _ in read_places(path, wanted=wanted):
        yield record


def commits_made(path: Path) -> Iterator[str]:
    """Yield the commits that this journal's own runs made of work, recorded before or after."""
    wanted = ("task.landing", "task.done", "history.moving")
    for record in read_journal(path, wanted=wanted):
        commit: object = getattr(record.event, "commit", "")
        if isinstance(commit, str) and commit:
            yield commit


def read_places(
    path: Path, after: Mark | None = None, *, wanted: Container[str] | None = None
) -> Iterator[tuple[Record, Mark]]:
    """Yield each record with the position after it; otherwise like `read_journal`."""
    return ((record, place) for _, record, place in read_lines(path, after, wanted=wanted))


def read_lines(
    path: Path, after: Mark | None = None, *, wanted: Container[str] | None = None
) -> Iterator[tuple[bytes, Record, Mark]]:
    """Yield each raw line, its record and the position after it; else like `read_places`."""
    place = after or Mark()
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return
    with file:
        place = _begin(file, place)
        for line in file:
            try:
                record = decode(line, wanted=wanted)
            except NewerRecordError as error:
                raise newer(path, place, error) from error
            except UnfitRecordError as error:
                raise damage(path, place, str(error)) from error
            except BadRecordError as error:
                # Appends are sequential, so a crash tears only the last line. A torn line followed
                # by others has another cause, and its content may matter. A line without an end was
                # the last when it was read: text after it now is the rest of a write in progress.
                if line.endswith(b"\n") and file.read(1):
                    raise damage(path, place, str(error)) from error
                return
            # Each line's checksum is right even if whole lines are missing or repeated, as after a
            # merge of two clones' journals: the numbers show it.
            offset, number, seq = place
            if record.seq != seq + 1:
                raise _out_of_order(path, place, record)
            number += number >= 0
            place = new_tuple(Mark, (offset + len(line), number, record.seq))
            yield line, record, place


def _begin(file: BinaryIO, place: Mark) -> Mark:
    """Seek to a place, skipping a line break that was added after the place was saved."""
    if place.offset:
        file.seek(place.offset - 1)
        last, ends = file.read(1), file.read(1)
        if last != b"\n" and ends == b"\n":
            return place._replace(offset=place.offset + 1)
    file.seek(place.offset)
    return place


def _out_of_order(path: Path, place: Mark, record: Record) -> RunnerError:
    expected = place.seq + 1
    what = (
        f"records {expected} to {record.seq - 1} are missing before this line"
        if record.seq > expected
        else f"record number {record.seq} was already used"
    )
    return damage(path, place, what)


def last_line(descriptor: int, size: int) -> tuple[int, bytes]:
    """Return start and bytes of the last line of an open file; (0, b"") for an empty one."""
    tail = b""
    start = size
    while start > 0:
        step = min(_STEP, start)
        start -= step
        tail = os.pread(descriptor, step, start) + tail
        # Except the very last byte: that is the end of the searched line.
        cut = tail.rfind(b"\n", 0, len(tail) - 1)
        if cut >= 0:
            return start + cut + 1, tail[cut + 1 :]
    return 0, tail


def damage(path: Path, place: Mark, what: str) -> RunnerError:
    """Return the error for a damaged line in the middle of the journal."""
    line = place.line + 1 if place.line >= 0 else _line_at(path, place.offset)
    return RunnerError(
        f"the journal is damaged: line {line}, at byte {place.offset}: {what}",
        where=f"{path}:{line}",
        hint="nothing was changed; restore the file from a backup, or move it away: then the"
        " runner takes statuses from TASK-GRAPH.md and from commit trailers",
    )


def newer(path: Path, place: Mark, error: NewerRecordError) -> RunnerError:
    """Return the error for a journal of a newer runner."""
    line = place.line + 1 if place.line >= 0 else _line_at(path, place.offset)
    return RunnerError(
        f"the journal was written by a newer runner: {error}",
        where=f"{path}:{line}",
        hint="update the runner (`pip install -U task-graph-runner`)",
    )


def _line_at(path: Path, offset: int) -> int:
    with path.open("rb") as file:
        return file.read(offset).count(b"\n") + 1
