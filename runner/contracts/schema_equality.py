"""Check whether two JSON Schemas allow the same values."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from runner.contracts.entries import Refused
from runner.contracts.schema_normal_form import SchemaShape, key_of, shape, without_null

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.contracts.document import Json

_MOST = 50
_STEPS = 20_000


class Side(NamedTuple):
    """A schema and the document it refers into."""

    schema: Json
    root: Json


class _Comparison:
    """The shared inputs of one comparison."""

    def __init__(self, *, loose: bool) -> None:
        self.loose = loose
        """The model's language can't express bounds: bounds only in the contract are fine."""
        self.alike: set[tuple[str, str]] = set()
        """Pairs of schemas already compared or assumed equal."""
        self._left = [_STEPS]

    def spend(self) -> None:
        """Count one step of work. Raises Refused when the limit is exceeded."""
        self._left[0] -= 1
        if self._left[0] < 0:
            raise Refused(f"the schemas are too complex to compare within {_STEPS} steps")

    def trial(self) -> _Comparison:
        """Return a comparison for a trial, whose assumptions do not affect this one."""
        other = _Comparison(loose=self.loose)
        # Assumptions are copied, the step counter is shared: nested trials use the same limit.
        other.alike, other._left = set(self.alike), self._left
        return other


def differences(
    contract: Json,
    model: Json,
    *,
    loose: bool = False,
    roots: tuple[Json, Json] | None = None,
) -> tuple[str, ...]:
    """Return every difference between two schemas as text. Raises Refused.

    They read `field end: type string in the contract, integer in the model`. Recursive schemas
    end. With `loose` the model may leave out bounds (lengths, patterns, what is refused beside the
    fields), as annotations of a dataclass do, but not state other ones. `roots` are the documents
    that the two refer into, where they are not whole ones themselves.
    """
    how = _Comparison(loose=loose)
    one, other = roots or (contract, model)
    found = _compare("", Side(contract, one), Side(model, other), how)
    return tuple(text for text, _ in zip(found, range(_MOST), strict=False))


def _compare(where: str, one: Side, other: Side, how: _Comparison) -> Iterator[str]:
    """Yield the differences; pairs that are being compared or were found equal count as equal."""
    inner = without_null(*one), without_null(*other)
    if inner[0] is not None and inner[1] is not None:
        yield from _compare(where, Side(inner[0], one.root), Side(inner[1], other.root), how)
        return
    pair = (key_of(*one), key_of(*other))
    if pair in how.alike:
        return
    how.spend()
    how.alike.add(pair)
    different = False
    for text in _compare_once(where, one, other, how):
        different = True
        yield text
    if different:  # where the same stands again, it is a finding again
        how.alike.discard(pair)


def _compare_once(where: str, one: Side, other: Side, how: _Comparison) -> Iterator[str]:
    ours, theirs = shape(one.schema, one.root), shape(other.schema, other.root)
    if ours.variants or theirs.variants:
        yield from _variants(where, (ours, one), (theirs, other), how)
    elif ours.types != theirs.types:
        yield _differs(where, "type", ours.text, theirs.text)
    else:
        yield from _values(where, ours, theirs)
        yield from _bounds(where, ours, theirs, how)
        yield from _fields(where, (ours, one.root), (theirs, other.root), how)
        yield from _items(where, (ours, one.root), (theirs, other.root), how)


def _differs(where: str, what: str, contract: str, model: str) -> str:
    return f"{_format_field(where)}: {what} {contract} in the contract, {model} in the model"


def _format_field(where: str) -> str:
    return f"field {where}" if where else "top level"


def _values(where: str, ours: SchemaShape, theirs: SchemaShape) -> Iterator[str]:
    if ours.values != theirs.values:
        mine, other = (
            "any" if side.values is None else ", ".join(sorted(side.values))
            for side in (ours, theirs)
        )
        yield _differs(where, "values", mine, other)


def _bounds(where: str, ours: SchemaShape, theirs: SchemaShape, how: _Comparison) -> Iterator[str]:
    if ours.format != theirs.format and (theirs.format or not how.loose):
        yield _differs(where, "format", ours.format or "none", theirs.format or "none")
    for name in sorted(ours.bounds.keys() | theirs.bounds.keys()):
        mine, other = ours.bounds.get(name), theirs.bounds.get(name)
        if mine != other and (other is not None or not how.loose):
            yield _differs(where, name, _format_value(mine), _format_value(other))


def _format_value(value: Json) -> str:
    return "none" if value is None else str(value)


def _fields(
    where: str, one: tuple[SchemaShape, Json], other: tuple[SchemaShape, Json], how: _Comparison
) -> Iterator[str]:
    (ours, root), (theirs, other_root) = one, other
    for name in (*ours.properties, *(n for n in theirs.properties if n not in ours.properties)):
        at = f"{where}.{name}" if where else name
        if name not in theirs.properties:
            yield f"field {at} is missing in the model"
        elif name not in ours.properties:
            yield f"field {at} is missing in the contract"
        else:
            if (name in ours.required) != (name in theirs.required):
                needs = [_need(name, side) for side in (ours, theirs)]
                yield f"field {at}: {needs[0]} in the contract, {needs[1]} in the model"
            left = Side(ours.properties[name], root)
            yield from _compare(at, left, Side(theirs.properties[name], other_root), how)
    yield from _extra(where, one, other, how)


def _need(name: str, side: SchemaShape) -> str:
    return "required" if name in side.required else "optional"


def _extra(
    where: str, one: tuple[SchemaShape, Json], other: tuple[SchemaShape, Json], how: _Comparison
) -> Iterator[str]:
    """Yield the differences in which additional fields are allowed."""
    (ours, root), (theirs, other_root) = one, other
    if "object" not in ours.types or (how.loose and theirs.extra is True):
        return
    # `true` allows everything, like `{}` (JSON Schema 2020-12, Core, 4.3.2).
    mine, model = (None if s.extra in (True, {}) else s.extra for s in (ours, theirs))
    if isinstance(mine, dict) and isinstance(model, dict):
        at = f"{where}.*" if where else "*"
        yield from _compare(at, Side(mine, root), Side(model, other_root), how)
    elif mine != model:
        words = [
            "refused" if s is False else "any" if s is None else "typed" for s in (mine, model)
        ]
        yield _differs(where, "other fields", words[0], words[1])


def _items(
    where: str, one: tuple[SchemaShape, Json], other: tuple[SchemaShape, Json], how: _Comparison
) -> Iterator[str]:
    (ours, root), (theirs, other_root) = one, other
    if "array" not in ours.types:
        return
    yield from _compare(f"{where}[]", Side(ours.items, root), Side(theirs.items, other_root), how)
    for number in range(max(len(ours.first), len(theirs.first))):
        mine, model = _at(ours, number), _at(theirs, number)
        at = f"{where}[{number}]"
        yield from _compare(at, Side(mine, root), Side(model, other_root), how)


def _at(side: SchemaShape, number: int) -> Json:
    """Return the schema of an element: after the prefix items that of `items` (10.3.1.2)."""
    return side.first[number] if number < len(side.first) else side.items


def _variants(
    where: str, one: tuple[SchemaShape, Side], other: tuple[SchemaShape, Side], how: _Comparison
) -> Iterator[str]:
    """Yield differences between the alternatives of two schemas."""
    (ours, left), (theirs, right) = one, other
    mine = [Side(v, left.root) for v in ours.variants] or [left]
    model = [Side(v, right.root) for v in theirs.variants] or [right]
    if ("null" in ours.types) != ("null" in theirs.types) and ours.variants and theirs.variants:
        yield _differs(where, "null", *(_format_null(side) for side in (ours, theirs)))
    for side in mine:
        if not any(_equal(side, each, how) for each in model):
            text = shape(side.schema, side.root).text
            yield f"{_format_field(where)}: the model has no alternative like the contract's {text}"
    for side in model:
        if not any(_equal(each, side, how) for each in mine):
            text = shape(side.schema, side.root).text
            yield f"{_format_field(where)}: the contract has no alternative like the model's {text}"


def _format_null(side: SchemaShape) -> str:
    return "allowed" if "null" in side.types else "refused"


def _equal(one: Side, other: Side, how: _Comparison) -> bool:
    """Return whether two alternatives are equal."""
    return next(_compare("", one, other, how.trial()), None) is None
