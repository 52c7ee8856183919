"""One record as one line of JSON, and back.

`v` is first and `crc` last: the CRC-32 (hex) of all the line's bytes before `,"crc"`.
"""

from __future__ import annotations

import json
from dataclasses import fields as fields_of
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar, cast
from zlib import crc32

from runner.journal.events import TYPES, Event, Record, Unknown
from runner.model import (
    Action,
    Coverage,
    Decision,
    Ending,
    Failure,
    Finding,
    Level,
    Phase,
    Proof,
    ProvenBy,
    Reason,
    Severity,
    Spec,
    Status,
    TaskPlan,
    Usage,
    Verdict,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Hashable

VERSION = 1
ENVELOPE = (
    *("v", "id", "seq", "time", "run", "type", "task", "attempt", "cause", "origin", "producer"),
    "crc",
)
_TAIL = len(',"crc":"01234567"}')
_STRINGS = ("id", "time", "run", "type", "task", "cause", "origin", "producer")


class BadRecordError(ValueError):
    """A line that is not whole: its checksum does not fit."""


class UnfitRecordError(ValueError):
    """A line that is whole, so no torn write, but holds what this runner cannot read."""


class NewerRecordError(ValueError):
    """A line that a newer runner wrote in a format this one does not know."""


# --- writing --------------------------------------------------------------------------


def encode(record: Record) -> bytes:
    """One line, its line end included; `record.crc` is not looked at but made."""
    text = _dumps(
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
    fields: dict[str, object] = event._asdict()
    coverage = fields.get("coverage")
    if isinstance(coverage, Coverage):
        fields["coverage"] = coverage._asdict()
    return fields


def _noun(noun: object) -> dict[str, object]:
    """A frozen dataclass of `model` without the fields that have their default."""
    defaults = _defaults(cast("Hashable", type(noun)))
    values = ((name, getattr(noun, name)) for name in defaults)
    return {name: value for name, value in values if value != defaults[name]}


@cache
def _defaults(kind: Any) -> dict[str, object]:
    return {field.name: field.default for field in fields_of(kind)}


_dumps = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=_noun).encode


# --- reading --------------------------------------------------------------------------

Shape = dict[str, "Callable[[Any], object]"]  # JSON is Any until a reader has seen it


def decode(line: bytes, *, wanted: Container[str] | None = None) -> Record:
    """The record of one line, with or without its line end.

    An event of an unknown type, or one not in `wanted`, becomes `Unknown`; fields that are not
    known are left out. Raises BadRecordError for a damaged line, UnfitRecordError for a whole one
    that makes no record, and NewerRecordError for a newer format.
    """
    line = line.rstrip(b"\n")
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
        return Unknown(name, _dumps(own))
    if wanted is not None and name not in wanted:
        return Unknown(name, "{}")
    return kind(**_values(kind, fields))  # TypeError when a field is missing


def _values(kind: Hashable, fields: dict[str, Any]) -> dict[str, object]:
    return {name: read(fields[name]) for name, read in _shape(kind).items() if name in fields}


@cache
def _shape(kind: Hashable) -> Shape:
    """How each field of an event or noun is read, by its annotation."""
    hints: dict[str, Any] = kind.__annotations__  # ForwardRef in a named tuple, str elsewhere
    return {name: _READERS[getattr(hint, "__forward_arg__", hint)] for name, hint in hints.items()}


def _of(kind: Callable[..., object]) -> Callable[[Any], object]:
    return lambda value: kind(**_values(kind, value))


def _str(value: Any) -> str:
    if type(value) is not str:
        raise TypeError(f"{value!r} is no text")
    return value


def _int(value: Any) -> int:
    if type(value) is not int:
        raise TypeError(f"{value!r} is no whole number")
    return value


def _float(value: Any) -> float:
    if type(value) not in {float, int}:
        raise TypeError(f"{value!r} is no number")
    return float(value)


def _bool(value: Any) -> bool:
    if type(value) is not bool:
        raise TypeError(f"{value!r} is neither true nor false")
    return value


def _strings(value: Any) -> tuple[str, ...]:
    if type(value) is not list:
        raise TypeError(f"{value!r} is no list")
    return tuple(map(_str, value))


def _table(read: Callable[[Any], object]) -> Callable[[Any], object]:
    return lambda value: {_str(key): read(item) for key, item in value.items()}


def _maybe(read: Callable[[Any], object]) -> Callable[[Any], object]:
    return lambda value: None if value is None else read(value)


def _list(read: Callable[[Any], object]) -> Callable[[Any], object]:
    return lambda value: tuple(map(read, value))


def _pairs(value: Any) -> tuple[tuple[str, int], ...]:
    return tuple((_str(name), _int(count)) for name, count in value)


_READERS: Shape = {
    "str": _str,
    "int": _int,
    "float": _float,
    "float | None": _maybe(_float),
    "bool": _bool,
    "Digest": _str,
    "Digest | None": _maybe(_str),
    "Action": Action,
    "Ending": Ending,
    "Reason": Reason,
    "Reason | None": _maybe(Reason),
    "Status": Status,
    "Severity": Severity,
    "Verdict": Verdict,
    "Level | None": _maybe(Level),
    "ProvenBy | None": _maybe(ProvenBy),
    "Proof": _of(Proof),
    "Decision": _of(Decision),
    "Spec": _of(Spec),
    "Spec | None": _maybe(_of(Spec)),
    "Coverage | None": _maybe(_of(Coverage)),
    "Usage | None": _maybe(_of(Usage)),
    "Failure | None": _maybe(Failure),
    "TaskPlan": _of(TaskPlan),
    "tuple[Phase, ...]": _list(_of(Phase)),
    "tuple[str, ...]": _strings,
    "tuple[tuple[str, int], ...]": _pairs,
    "tuple[Finding, ...]": _list(_of(Finding)),
    "tuple[Proof, ...]": _list(_of(Proof)),
    "dict[str, str]": _table(_str),
    "dict[str, int]": _table(_int),
    "dict[str, Status]": _table(Status),
}


# --- nouns for the snapshot -----------------------------------------------------------

N = TypeVar("N")


def dump(value: object) -> str:
    """JSON text of plain values and of the nouns of `model`."""
    return _dumps(value)


def fields_of_tuple(noun: tuple[object, ...]) -> dict[str, object]:
    """A named tuple as an object that `read_noun` reads."""
    return _fields(cast("Event", noun))


def read_noun(kind: Callable[..., N], fields: Any) -> N:
    """A noun from its JSON object; raises TypeError, KeyError, ValueError or AttributeError."""
    return kind(**_values(kind, fields))
