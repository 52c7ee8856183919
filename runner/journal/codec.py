"""One record as one line of JSON, and back.

`v` is first and `crc` last: the CRC-32 (hex) of all the line's bytes before `,"crc"`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeVar, cast
from zlib import crc32

from runner import model
from runner.journal.events import TYPES, Event, Record, Unknown
from runner.model.codec import Codec, Shape

if TYPE_CHECKING:
    from collections.abc import Callable, Container

VERSION = 1
ENVELOPE = (
    *("v", "id", "seq", "time", "run", "type", "task", "attempt", "cause", "origin", "producer"),
    "crc",
)
_TAIL = len(',"crc":"01234567"}')
_STRINGS = ("id", "time", "run", "type", "task", "cause", "origin", "producer")


N = TypeVar("N")


class BadRecordError(ValueError):
    """A line that is not whole: its checksum does not fit."""


class UnfitRecordError(ValueError):
    """A line that is whole, so no torn write, but holds what this runner cannot read."""


class NewerRecordError(ValueError):
    """A line that a newer runner wrote in a format this one does not know."""


# --- writing --------------------------------------------------------------------------


def encode(record: Record) -> bytes:
    """One line, its line end included; `record.crc` is not looked at but made."""
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
    # A lone surrogate (a file name that is not UTF-8) must not keep an event from being written.
    body = text[:-1].encode("utf-8", "backslashreplace")
    return b'%b,"crc":"%08x"}\n' % (body, crc32(body))


def _fields(event: Event) -> dict[str, object]:
    if isinstance(event, Unknown):
        return cast("dict[str, object]", json.loads(event.fields))
    return _CODEC.table(event)


def _vocabulary() -> dict[str, object]:
    return {**vars(model)}


_CODEC = Codec(Shape.SPARSE, _vocabulary)
to_text = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
"""Plain JSON values as text."""


# --- reading --------------------------------------------------------------------------


def decode(line: bytes, *, wanted: Container[str] | None = None) -> Record:
    """The record of one line, with or without its line end.

    An event of an unknown type, or one not in `wanted`, becomes `Unknown`; fields that are not
    known are left out. Raises BadRecordError for a damaged line, UnfitRecordError for a whole one
    that makes no record, and NewerRecordError for a newer format.
    """
    line = line.rstrip(b"\n")
    # Looked at before anything is parsed: what a torn write left may well be JSON, with a value
    # that was cut short.
    body, tail = line[:-_TAIL], line[-_TAIL:]
    if tail != b',"crc":"%08x"}' % crc32(body):
        raise BadRecordError("its checksum does not fit")
    try:
        return _record(json.loads(line), wanted)
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UnfitRecordError(f"its fields do not fit ({error})") from error
    except NewerRecordError:
        raise
    except ValueError as error:
        raise UnfitRecordError(f"its values do not fit ({error})") from error


def _record(fields: dict[str, Any], wanted: Container[str] | None) -> Record:
    if fields["v"] != VERSION:
        raise NewerRecordError(f"its format is {fields['v']!r}, this runner knows {VERSION}")
    for name in _STRINGS:
        if type(fields[name]) is not str:
            raise TypeError(name)
    return Record(
        fields["id"],
        _int(fields["seq"]),
        fields["time"],
        fields["run"],
        fields["type"],
        fields["task"],
        _int(fields["attempt"]),
        fields["cause"],
        fields["origin"],
        fields["producer"],
        _event(fields["type"], fields, wanted),
        fields["crc"],
    )


def _event(name: str, fields: dict[str, Any], wanted: Container[str] | None) -> Event:
    kind: Callable[..., Event] | None = TYPES.get(name)
    if kind is None:
        own = {key: value for key, value in fields.items() if key not in ENVELOPE}
        return Unknown(name, to_text(own))
    if wanted is not None and name not in wanted:
        return Unknown(name, "{}")
    return _CODEC.read(kind, fields)


def dump(value: object) -> str:
    """JSON text of plain values and of the nouns of `model`."""
    return to_text(_CODEC.to_json(value))


def read_noun(kind: Callable[..., N], fields: object) -> N:
    """A noun of `model` from its JSON object. Raises ShapeError."""
    return _CODEC.read(kind, fields)


def _int(value: object) -> int:
    # To isinstance a bool is a number, too, and `true` would be attempt 1.
    if type(value) is not int:
        raise TypeError(f"{value!r} is no whole number")
    return value
