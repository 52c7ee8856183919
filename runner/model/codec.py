"""Convert nouns to plain JSON values and back, by their annotations.

Journal, snapshot, plan cache and the cluster's wire are written and read by it. A noun is a table
without the fields that have their default; what is unknown is left out on reading, so that old and
new runners read each other. Reading is msgspec's, and raises ShapeError for whatever is not of the
noun's shape: nothing is imported or called by a name that comes from outside.
"""

from __future__ import annotations

import json
import sys
from base64 import b64encode
from collections import abc
from datetime import date
from functools import cache, reduce
from math import isfinite
from operator import or_
from threading import Lock
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    NoReturn,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from msgspec import DecodeError, Meta, Struct, ValidationError, convert, to_builtins
from msgspec.json import Decoder, encode

from runner.model.task import Spec

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

N = TypeVar("N")

_AS_IT_IS = frozenset({str, int, float, bool, NoneType})
_MISSING = object()
_INT = Annotated[int, Meta(ge=1 - 2**63, le=2**63 - 1)]


class ShapeError(ValueError):
    """A JSON value is not what its noun looks like."""


class Codec:
    """Writes and reads nouns.

    `vocabulary` gives the classes and aliases that annotations name and their own module does not
    import at run time.
    """

    def __init__(self, vocabulary: Callable[[], Mapping[str, Any]]) -> None:
        self._vocabulary = cache(vocabulary)
        self._decoders: dict[Any, Decoder[Any]] = {}
        self._hints: dict[Any, dict[str, Any]] = {}
        self._resolved: set[Any] = set()
        self._lock = Lock()

    def read(self, kind: Callable[..., N], value: object) -> N:
        """Decode a noun of this kind from its JSON value. Raises ShapeError."""
        self._decoder(kind)
        try:
            return cast("N", convert(value, kind, dec_hook=_read_other))
        except ValidationError as error:
            raise ShapeError(str(error)) from error

    def read_exactly(self, kind: Callable[..., N], value: object) -> N:
        """Decode like `read`, but reject missing and unknown fields, too. Raises ShapeError."""
        noun = self.read(kind, value)
        _require_same_fields(noun, value)
        return noun

    def decode(self, kind: Callable[..., N], text: bytes) -> N:
        """Decode a noun of this kind from JSON text. Raises ShapeError, ValueError for no JSON."""
        try:
            return cast("N", self._decoder(kind).decode(text))
        except ValidationError as error:
            raise ShapeError(str(error)) from error
        except DecodeError:
            # a lone surrogate, as of a file name that is not UTF-8: msgspec reads none
            return self.read(kind, loads(text))

    def read_fields(self, kind: Any, table: Mapping[str, Any]) -> dict[str, Any]:
        """Decode the fields of a noun that a table contains. Raises ShapeError."""
        hints = self.hints(kind)
        return {name: self.read(hints[name], value) for name, value in table.items()}

    def hints(self, kind: Any) -> dict[str, Any]:
        """Return the types of a noun's fields."""
        if kind not in self._hints:
            own = vars(sys.modules[kind.__module__])
            named = {name: one for name, one in self._vocabulary().items() if name not in own}
            hints = get_type_hints(kind, localns=named)
            self._hints[kind] = {name: hints[name] for name in names_of(kind) or ()}
        return self._hints[kind]

    def _decoder(self, kind: Any) -> Decoder[Any]:
        if kind not in self._decoders:
            with self._lock:  # another thread must not see half of its types
                self._decoders[kind] = Decoder(self._known(kind), dec_hook=_read_other)
        return self._decoders[kind]

    def _known(self, hint: Any) -> Any:
        """Return a type after resolving names that modules import for type checkers only."""
        if isinstance(hint, type) and issubclass(hint, Struct) and hint not in self._resolved:
            self._resolved.add(hint)
            hints = self.hints(hint)
            hint.__annotations__ = {name: _bounded(one) for name, one in hints.items()}
            for one in hints.values():
                self._known(one)
        for inner in get_args(hint):
            self._known(inner)
        return hint


def _bounded(hint: Any) -> Any:
    """Return a type whose integers have 64 bits."""
    if hint is int:
        return _INT
    origin, inner = get_origin(hint), tuple(map(_bounded, get_args(hint)))
    if not inner:
        return hint
    return reduce(or_, inner) if origin in (Union, UnionType) else origin[inner]


def loads(text: bytes) -> Any:
    """Parse as `json.loads` does, except NaN and infinity. Raises ValueError."""
    return json.loads(text, parse_constant=_refuse, parse_float=_finite)


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")


def _finite(digits: str) -> float:
    return number if isfinite(number := float(digits)) else _refuse(digits)


def _read_other(kind: type, value: Any) -> object:
    """Decode the only noun that has no fields."""
    if kind is Spec and type(value) is str:
        return Spec.of_bytes(bytes.fromhex(value))
    if kind is not Spec or type(value) is not dict:
        raise TypeError(f"not a valid {kind.__name__}")
    what, proof = value.get("what"), value.get("proof")
    if type(what) is not str or type(proof) is not str:
        raise TypeError("a digest is not a string")
    return Spec(what, proof)


def _require_same_fields(noun: object, value: Any) -> None:
    """Raise ShapeError unless each table in `value` has the fields of its noun and no other.

    A noun that is encoded without its defaults may lack those.
    """
    names = names_of(type(noun))
    if names is not None and type(value) is dict:
        sparse = isinstance(noun, Struct) and noun.__struct_config__.omit_defaults
        if odd := value.keys() - set(names) if sparse else value.keys() ^ set(names):
            listed = ", ".join(sorted(map(str, odd))[:3])
            raise ShapeError(f"missing or unknown fields of {type(noun).__name__}: {listed}")
        for name in value:
            _require_same_fields(getattr(noun, name), value[name])
    elif isinstance(noun, abc.Mapping):
        for name in value:
            _require_same_fields(noun[name], value[name])
    elif isinstance(noun, tuple):
        for one, item in zip(noun, value, strict=True):
            _require_same_fields(one, item)


def encode_json(value: object) -> bytes:
    """Encode nouns as JSON text for caches and messages, whose bytes may change with msgspec."""
    try:
        return encode(value, enc_hook=_write_other)
    except UnicodeEncodeError:  # a lone surrogate: as an escape
        plain = to_builtins(value, enc_hook=_write_other)
        return json.dumps(plain, separators=(",", ":")).encode()


def _write_other(value: Any) -> object:
    if isinstance(value, str):  # a kind of text
        return str(value)
    if not isinstance(value, Spec):
        raise TypeError(f"{type(value).__name__} is neither a noun nor a plain value")
    return {"what": value.what, "proof": value.proof} if value.packed is None else value.hex()


def to_json(value: object) -> Any:
    """Convert a value to plain JSON values; bytes become base64."""
    kind: Any = type(value)
    if kind in _AS_IT_IS:
        return value
    names = names_of(kind)
    if names is not None:
        usual = usual_values(kind)
        return {
            name: to_json(one)
            for name in names
            if (one := getattr(value, name)) != usual.get(name, _MISSING)
        }
    if isinstance(value, str | int):  # members of enums
        return value
    if isinstance(value, bytes):
        return b64encode(value).decode()
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, abc.Mapping):
        return {key: to_json(item) for key, item in value.items()}
    if isinstance(value, abc.Sequence):
        return [to_json(item) for item in value]
    if isinstance(value, frozenset):
        return [to_json(item) for item in sorted(value)]
    raise TypeError(f"{kind.__name__} is neither a noun nor a plain value")


def table(noun: object) -> dict[str, Any]:
    """Return all fields of a noun by name; within them, fields with their default are left out."""
    return {name: to_json(getattr(noun, name)) for name in names_of(type(noun)) or ()}


def names_of(kind: Any) -> tuple[str, ...] | None:
    """Return the field names of a Struct or named tuple; None for other types."""
    names = "__struct_fields__" if issubclass(kind, Struct) else "_fields"
    return cast("tuple[str, ...] | None", getattr(kind, names, None))


@cache
def usual_values(kind: Any) -> dict[str, object]:
    """Return the default values of the fields of a Struct or named tuple."""
    if not issubclass(kind, Struct):
        return cast("dict[str, object]", kind._field_defaults)
    values = kind.__struct_defaults__
    names = kind.__struct_fields__[len(kind.__struct_fields__) - len(values) :]
    return {
        name: value.factory() if hasattr(value, "factory") else value
        for name, value in zip(names, values, strict=True)
    }


T = TypeVar("T")

new_tuple = tuple.__new__
"""Makes a named tuple from all its values: `new_tuple(Kind, values)`, in a third of the time."""


def write_once(column: Sequence[T]) -> Sequence[T]:
    """Return a column for storage, with one value if all are equal."""
    return column[:1] if column.count(column[0]) == len(column) else column


def read_each(column: list[Any], count: int, most: int) -> list[Any]:
    """Expand a column to `count` values. Raises ValueError if the number differs."""
    values = column * count if len(column) == 1 and count <= most else column
    if len(values) != count:
        raise ValueError(f"a column has {len(values)} values, not {count}")
    return values
