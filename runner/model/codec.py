"""Convert nouns to plain JSON values and back, by their annotations.

Journal, snapshot, plan cache and the cluster's wire are written and read by it, each in the shape
that it needs. It encodes; what people write is validated where it is read, by pydantic. Reading
raises ShapeError for whatever is not of the noun's shape: nothing is imported or called by a name
that comes from outside.
"""

from __future__ import annotations

import sys
from collections import abc
from dataclasses import MISSING, fields, is_dataclass
from datetime import date
from enum import Enum, StrEnum, auto
from functools import cache
from operator import attrgetter
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeAlias

    Read: TypeAlias = "Callable[[Any, tuple[bytes, ...]], Any]"
    """From a JSON value and the bytes sent with it."""
    Write: TypeAlias = "Callable[[Any, list[bytes] | None], Any]"

N = TypeVar("N")

_LARGEST = 2**63
_AS_IT_IS = frozenset({str, int, float, bool, NoneType})


class ShapeError(ValueError):
    """A JSON value is not what its noun looks like."""


class Shape(Enum):
    """The encoding of a noun."""

    WHOLE = auto()
    """A table of all fields; missing, unknown or wrongly typed ones are rejected on reading."""
    SPARSE = auto()
    """A table without the fields that have their default; what is unknown is left out, so that
    old and new runners read each other."""
    ROW = auto()
    """A list of its fields in their order, cut where only defaults follow. The types of plain
    values are believed: for our own caches, whose bytes a checksum holds."""


class Codec:
    """Writes and reads nouns in one shape.

    `vocabulary` gives the classes and aliases that annotations name and their own module does not
    import at run time.
    """

    def __init__(self, shape: Shape, vocabulary: Callable[[], Mapping[str, Any]]) -> None:
        self._shape = shape
        self._vocabulary = vocabulary
        self._named: Mapping[str, Any] | None = None
        self._writers: dict[Any, Write] = {}
        self._kinds: dict[Any, Read] = {}
        self._fields: dict[Any, dict[str, Read]] = {}
        self._hints: dict[Any, dict[str, Any]] = {}

    # --- writing ----------------------------------------------------------------------

    def to_json(self, value: object, blobs: list[bytes] | None = None) -> Any:
        """Convert a value to JSON values; bytes go to `blobs` and are replaced by numbers."""
        kind: Any = type(value)
        if kind in _AS_IT_IS:
            return value
        write = self._writers.get(kind)
        if write is None:
            write = self._writers[kind] = self._make_writer(kind)
        return write(value, blobs)

    def table(self, noun: object) -> dict[str, Any]:
        """Return all fields of a dataclass or named tuple by name, with encoded values."""
        kind: Any = type(noun)
        names = names_of(kind) or ()
        values = noun if isinstance(noun, tuple) else (getattr(noun, name) for name in names)
        return {
            name: value if type(value) in _AS_IT_IS else self.to_json(value)
            for name, value in zip(names, values, strict=True)
        }

    def _make_writer(self, kind: Any) -> Write:
        names = names_of(kind)
        if names is not None:
            return self._noun_writer(kind, names)
        if issubclass(kind, str | int):  # members of enums
            return lambda value, _: value
        if issubclass(kind, bytes):
            return _add_blob
        if issubclass(kind, date):
            return lambda value, _: value.isoformat()
        if issubclass(kind, abc.Mapping):
            return lambda value, blobs: {
                key: self.to_json(item, blobs) for key, item in value.items()
            }
        if not issubclass(kind, abc.Sequence | frozenset):
            raise TypeError(f"{kind.__name__} is no noun and no plain value")
        order = sorted if issubclass(kind, frozenset) else iter
        return lambda value, blobs: [
            item if type(item) in _AS_IT_IS else self.to_json(item, blobs) for item in order(value)
        ]

    def _noun_writer(self, kind: Any, names: tuple[str, ...]) -> Write:
        values = list if issubclass(kind, tuple) else attrgetter(*names, "__class__")
        defaults, usual = usual_values(kind), _usual_row(kind)

        def whole(noun: Any, blobs: list[bytes] | None) -> object:
            pairs = zip(names, values(noun), strict=False)
            return {name: self.to_json(value, blobs) for name, value in pairs}

        def sparse(noun: Any, blobs: list[bytes] | None) -> object:
            return {
                name: value if type(value) in _AS_IT_IS else self.to_json(value, blobs)
                for name, value in zip(names, values(noun), strict=False)
                if name not in defaults or value != defaults[name]
            }

        def row(noun: Any, blobs: list[bytes] | None) -> object:
            given, end = values(noun), len(names)
            # identity first: comparing objects is slow
            while end and (given[end - 1] is usual[end - 1] or given[end - 1] == usual[end - 1]):
                end -= 1
            return [
                value if type(value) in _AS_IT_IS else self.to_json(value, blobs)
                for value in given[:end]
            ]

        return {Shape.WHOLE: whole, Shape.SPARSE: sparse, Shape.ROW: row}[self._shape]

    # --- reading ----------------------------------------------------------------------

    def read(self, kind: Callable[..., N], value: object, blobs: tuple[bytes, ...] = ()) -> N:
        """Decode a dataclass of this kind. Raises ShapeError."""
        return self.reader(kind)(value, blobs)

    def reader(self, kind: Callable[..., N]) -> Callable[[object, tuple[bytes, ...]], N]:
        """Return a function that reads values of this class, for callers that read many."""
        return cast("Callable[[object, tuple[bytes, ...]], N]", self._reader_of(kind))

    def read_fields(self, kind: Any, table: Mapping[str, Any]) -> dict[str, Any]:
        """Decode the fields that a table contains. Raises ShapeError."""
        hints = self._hints.get(kind) or self._hints.setdefault(kind, self.hints(kind))
        return {name: self._reader_of(hints[name])(value, ()) for name, value in table.items()}

    def hints(self, kind: Any) -> dict[str, Any]:
        """Return the types of a dataclass's fields."""
        if self._named is None:
            self._named = self._vocabulary()
        own = vars(sys.modules[kind.__module__])
        named = {name: one for name, one in self._named.items() if name not in own}
        hints = get_type_hints(kind, localns=named)
        return {name: hints[name] for name in names_of(kind) or ()}

    def _readers_of(self, kind: Any) -> dict[str, Read]:
        if kind not in self._fields:
            self._fields[kind] = {
                name: self._reader_of(hint) for name, hint in self.hints(kind).items()
            }
        return self._fields[kind]

    def _reader_of(self, hint: Any) -> Read:
        if hint not in self._kinds:
            self._kinds[hint] = self._make_reader(hint)
        return self._kinds[hint]

    def _make_reader(self, hint: Any) -> Read:
        plain = _BELIEVED if self._shape is Shape.ROW else _PLAIN
        if hint in plain:
            return plain[hint]
        origin, inner = get_origin(hint), get_args(hint)
        if origin in (Union, UnionType):
            return self._union_reader(inner)
        if origin in (tuple, frozenset, abc.Sequence):
            return self._several_reader(origin, inner)
        if origin in (dict, abc.Mapping):
            return _table_reader(self._reader_of(inner[1]))
        if isinstance(hint, type) and issubclass(hint, StrEnum):
            return _member_reader(hint)
        if self._shape is Shape.ROW:
            return self._row_reader(hint)
        return self._table_reader(hint)

    def _union_reader(self, inner: tuple[Any, ...]) -> Read:
        """Return a reader for an optional type, or for types with different lengths."""
        if NoneType in inner:
            (only,) = (self._reader_of(one) for one in inner if one is not NoneType)
            return lambda value, blobs: None if value is None else only(value, blobs)
        by_length = {len(names_of(one) or ()): self._reader_of(one) for one in inner}
        return lambda value, blobs: by_length[len(value)](value, blobs)

    def _several_reader(self, origin: Any, inner: tuple[Any, ...]) -> Read:
        make = frozenset if origin is frozenset else tuple
        if origin is tuple and inner[-1] is not Ellipsis:
            return _fixed_reader([self._reader_of(one) for one in inner])
        item = self._reader_of(inner[0])
        if item is _believe:
            return lambda value, _: make(value)

        def read(value: Any, blobs: tuple[bytes, ...]) -> object:
            if type(value) is not list:
                if origin is abc.Sequence and isinstance(value, abc.Sequence):
                    return value  # it is read when somebody looks into it
                raise ShapeError("not a list")
            return make([item(one, blobs) for one in value])

        return read

    def _table_reader(self, kind: Any) -> Read:
        exact = self._shape is Shape.WHOLE
        readers = self._readers_of(kind)
        needed = readers.keys() if exact else readers.keys() - usual_values(kind).keys()

        def read(value: Any, blobs: tuple[bytes, ...]) -> object:
            if type(value) is not dict:
                raise ShapeError(f"not a valid {kind.__name__}")
            if not needed <= value.keys() or (exact and len(value) != len(needed)):
                odd = value.keys() ^ needed if exact else needed - value.keys()
                names = ", ".join(sorted(map(str, odd))[:3])
                raise ShapeError(f"missing or unknown fields of {kind.__name__}: {names}")
            # plain text, the most common case, needs no reader call
            given = {
                name: one if item is _text and type(one) is str else item(one, blobs)
                for name, item in readers.items()
                if (one := value.get(name, MISSING)) is not MISSING
            }
            return kind(**given)

        return read

    def _row_reader(self, kind: Any) -> Read:
        hints = tuple(self.hints(kind).values())
        makers: dict[int, Read] = {}

        def read(value: Any, blobs: tuple[bytes, ...]) -> object:
            if type(value) is not list or len(value) > len(hints):
                raise ShapeError(f"not a valid {kind.__name__}")
            length = len(value)
            if length not in makers:
                makers[length] = self._row_maker(kind, hints[:length])
            return makers[length](value, blobs)

        return read

    def _row_maker(self, kind: Any, hints: tuple[Any, ...]) -> Read:
        """Compile a reader for rows of a fixed length, as one expression for speed.

        Like `namedtuple`, it is made from source; there is nothing in that but numbers.
        """
        known: dict[str, Any] = {"kind": kind}
        items = []
        for at, hint in enumerate(hints):
            one = _kind_or_nothing(hint)
            known[f"r{at}"] = read = self._reader_of(one or hint)
            item = f"row[{at}]" if read is _believe else f"r{at}(row[{at}], blobs)"
            items.append(f"(None if row[{at}] is None else {item})" if one else item)
        source = f"lambda row, blobs: kind({', '.join(items)})"
        return cast("Read", eval(source, known))  # noqa: S307 - numbers alone


def _kind_or_nothing(hint: Any) -> Any:
    """Return the only type of `X | None`; None for other types."""
    if get_origin(hint) not in (Union, UnionType):
        return None
    kinds = [one for one in get_args(hint) if one is not NoneType]
    return kinds[0] if len(kinds) == 1 else None


@cache
def names_of(kind: Any) -> tuple[str, ...] | None:
    """Return the field names of a dataclass or named tuple; None for other types."""
    if is_dataclass(kind):
        return tuple(one.name for one in fields(kind) if one.init)
    return cast("tuple[str, ...] | None", getattr(kind, "_fields", None))


@cache
def usual_values(kind: Any) -> dict[str, object]:
    """Return the default values of a dataclass's fields."""
    if not is_dataclass(kind):
        return cast("dict[str, object]", kind._field_defaults)
    found = {one.name: one.default for one in fields(kind) if one.default is not MISSING}
    for one in fields(kind):
        if one.default_factory is not MISSING:
            found[one.name] = one.default_factory()
    return found


@cache
def _usual_row(kind: Any) -> tuple[object, ...]:
    """Return the default values in field order; a unique object for fields without one."""
    defaults = usual_values(kind)
    return tuple(defaults.get(name, object()) for name in names_of(kind) or ())


# --- plain values ---------------------------------------------------------------------


def _fixed_reader(items: list[Read]) -> Read:
    def read(value: Any, blobs: tuple[bytes, ...]) -> object:
        if type(value) is not list or len(value) != len(items):
            raise ShapeError(f"not a list of {len(items)} values")
        return tuple(item(one, blobs) for item, one in zip(items, value, strict=True))

    return read


def _table_reader(item: Read) -> Read:
    def read(value: Any, blobs: tuple[bytes, ...]) -> object:
        if type(value) is not dict:
            raise ShapeError("not a mapping")
        return {key: item(one, blobs) for key, one in value.items()}

    return read


def _member_reader(kind: type[StrEnum]) -> Read:
    members = {member.value: member for member in kind}

    def read(value: Any, _: object) -> StrEnum:
        if type(value) is not str or value not in members:
            raise ShapeError(f"{value!r} is not a valid {kind.__name__}")
        return members[value]

    return read


def _add_blob(value: Any, blobs: list[bytes] | None) -> int:
    if blobs is None:
        raise TypeError("bytes need a place beside the JSON")
    blobs.append(value)
    return len(blobs) - 1


def _believe(value: Any, _: object) -> Any:
    return value


def _blob(value: Any, blobs: tuple[bytes, ...]) -> bytes:
    if type(value) is not int or not 0 <= value < len(blobs):
        raise ShapeError("unknown blob")
    return blobs[value]


def _text(value: Any, _: object) -> str:
    if type(value) is not str:
        raise ShapeError(f"{value!r} is not a string")
    return value


def _whole(value: Any, _: object) -> int:
    # Exact type: isinstance counts a bool as an int.
    if type(value) is not int or abs(value) >= _LARGEST:
        raise ShapeError(f"{value!r} is not an integer")
    return value


def _number(value: Any, _: object) -> float:
    if type(value) is int:
        return float(_whole(value, _))
    if type(value) is not float or value != value or abs(value) == float("inf"):  # noqa: PLR0124 - NaN
        raise ShapeError(f"{value!r} is not a number")
    return value


def _yes_or_no(value: Any, _: object) -> bool:
    if type(value) is not bool:
        raise ShapeError(f"{value!r} is neither true nor false")
    return value


def _day(value: Any, _: object) -> date:
    try:
        return date.fromisoformat(_text(value, _))
    except ValueError as error:
        raise ShapeError(f"{value!r} is not a date") from error


_PLAIN: dict[Any, Read] = {
    str: _text,
    int: _whole,
    float: _number,
    bool: _yes_or_no,
    date: _day,
    bytes: _blob,
}
_BELIEVED: dict[Any, Read] = {**_PLAIN, **dict.fromkeys((str, int, float, bool), _believe)}
