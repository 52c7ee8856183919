"""Nouns as JSON and back, by their annotations: strict, since the other side is not believed.

A noun is a table of all its fields by name; bytes are the number of a blob that travels beside the
JSON. Reading refuses what is unknown, missing or of another type; nothing is imported or called
by a name that comes from outside.
"""

from __future__ import annotations

import sys
import types
from dataclasses import fields, is_dataclass
from datetime import date
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

N = TypeVar("N")

DEEPEST = 16
"""Nouns within nouns; no message needs half of it."""
_NUMBER = 2**63


class MisshapenError(ValueError):
    """What arrived is not what this side knows."""


# --- writing --------------------------------------------------------------------------


def to_json(noun: object, blobs: list[bytes]) -> object:
    """A noun as plain JSON values; its bytes are added to `blobs`."""
    if isinstance(noun, bytes):
        blobs.append(noun)
        return len(blobs) - 1
    if isinstance(noun, date):
        return noun.isoformat()
    if is_dataclass(noun) or hasattr(noun, "_fields"):
        return {name: to_json(getattr(noun, name), blobs) for name in _names(type(noun))}
    if isinstance(noun, (tuple, frozenset)):
        return [
            to_json(item, blobs) for item in (noun if isinstance(noun, tuple) else sorted(noun))
        ]
    return noun


def _names(kind: Any) -> tuple[str, ...]:
    if is_dataclass(kind):
        return tuple(one.name for one in fields(kind) if one.init)
    return cast("tuple[str, ...]", kind._fields)


# --- reading --------------------------------------------------------------------------


class Reader:
    """Reads nouns of a vocabulary: the classes that annotations may name."""

    def __init__(self, vocabulary: Mapping[str, Any]) -> None:
        self._vocabulary = dict(vocabulary)
        self._known: dict[Hashable, dict[str, Any]] = {}

    def read(self, kind: type[N], value: object, blobs: tuple[bytes, ...]) -> N:
        """A noun of this kind. Raises MisshapenError."""
        return cast("N", self._noun(kind, value, blobs, 0))

    def hints(self, kind: Any) -> dict[str, Any]:
        """The types of a noun's fields; those that are not its own to give are left out."""
        if kind not in self._known:
            own = vars(sys.modules[kind.__module__])
            named = {name: one for name, one in self._vocabulary.items() if name not in own}
            hints = get_type_hints(kind, localns=named)
            self._known[kind] = {name: hints[name] for name in _names(kind)}
        return self._known[kind]

    def _noun(self, kind: Any, value: object, blobs: tuple[bytes, ...], depth: int) -> object:
        hints = self.hints(kind)
        if type(value) is not dict or depth > DEEPEST:
            raise MisshapenError(f"no {kind.__name__}")
        if value.keys() != hints.keys():
            odd = ", ".join(sorted(map(str, value.keys() ^ hints.keys()))[:3])
            raise MisshapenError(f"{kind.__name__} has not these fields: {odd}")
        found = {
            name: self._value(hint, value[name], blobs, depth + 1) for name, hint in hints.items()
        }
        return kind(**found)

    def _value(self, hint: Any, value: object, blobs: tuple[bytes, ...], depth: int) -> object:
        if hint in _PLAIN:
            return _PLAIN[hint](value)
        if hint is bytes:
            return _blob(value, blobs)
        origin, inner = get_origin(hint), get_args(hint)
        if origin in (Union, types.UnionType):
            (kind,) = (one for one in inner if one is not types.NoneType)
            return None if value is None else self._value(kind, value, blobs, depth)
        if origin in (tuple, frozenset):
            return self._several(origin, inner, value, blobs, depth)
        if isinstance(hint, type) and issubclass(hint, StrEnum):
            return _member(hint, value)
        return self._noun(hint, value, blobs, depth)

    def _several(
        self,
        origin: Any,
        inner: tuple[Any, ...],
        value: object,
        blobs: tuple[bytes, ...],
        depth: int,
    ) -> object:
        if type(value) is not list:
            raise MisshapenError("no list")
        if origin is frozenset or inner[-1] is Ellipsis:
            return origin(self._value(inner[0], item, blobs, depth + 1) for item in value)
        if len(value) != len(inner):
            raise MisshapenError(f"{len(value)} values where {len(inner)} belong together")
        pairs = zip(inner, value, strict=True)
        return tuple(self._value(hint, item, blobs, depth + 1) for hint, item in pairs)


def _blob(value: object, blobs: tuple[bytes, ...]) -> bytes:
    if type(value) is not int or not 0 <= value < len(blobs):
        raise MisshapenError("no such bytes")
    return blobs[value]


@cache
def _members(kind: type[StrEnum]) -> dict[str, StrEnum]:
    return {member.value: member for member in kind}


def _member(kind: type[StrEnum], value: object) -> StrEnum:
    if type(value) is not str or value not in _members(kind):
        raise MisshapenError(f"no {kind.__name__}")
    return _members(kind)[value]


def _text(value: object) -> str:
    if type(value) is not str:
        raise MisshapenError("no text")
    return value


def _whole(value: object) -> int:
    if type(value) is not int or abs(value) >= _NUMBER:
        raise MisshapenError("no whole number")
    return value


def _number(value: object) -> float:
    if type(value) is int:
        return float(_whole(value))
    if type(value) is not float or value != value or abs(value) == float("inf"):  # noqa: PLR0124 - NaN
        raise MisshapenError("no number")
    return value


def _yes_or_no(value: object) -> bool:
    if type(value) is not bool:
        raise MisshapenError("neither true nor false")
    return value


def _day(value: object) -> date:
    try:
        return date.fromisoformat(_text(value))
    except ValueError as error:
        raise MisshapenError("no day") from error


_PLAIN: dict[Any, Callable[[object], object]] = {
    str: _text,
    int: _whole,
    float: _number,
    bool: _yes_or_no,
    date: _day,
}
