"""Find the values that a changed JSON Schema no longer allows, or allows now.

Whose side it is decides what breaks: what goes in breaks where less is allowed than before, what
comes out where more is allowed than a reader was promised.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from runner.contracts.schema_equality import Side, differences
from runner.contracts.schema_normal_form import SchemaShape, key_of, shape, without_null

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.contracts.document import Json

_LOWER = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")
_UPPER = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")


class Direction(Enum):
    """The direction of the data that a schema describes."""

    INPUT = "input"
    OUTPUT = "output"


class Narrowing(NamedTuple):
    """One change of a contract."""

    path: str
    """Place in the contract: `POST /bookings input room`."""
    text: str
    breaking: bool
    """Whether a user of the old contract may now fail."""


class _Look(NamedTuple):
    way: Direction
    met: set[tuple[str, str]]
    """Compared pairs of schemas, so that recursive schemas end."""


def changes(where: str, before: Side, after: Side, way: Direction) -> Iterator[Narrowing]:
    """Yield every change from one schema to another."""
    yield from _find_changes(where, before, after, _Look(way, set()))


def _find_changes(where: str, before: Side, after: Side, look: _Look) -> Iterator[Narrowing]:
    inner = without_null(*before), without_null(*after)
    if inner[0] is not None and inner[1] is not None:
        sides = Side(inner[0], before.root), Side(inner[1], after.root)
        yield from _find_changes(where, *sides, look)
        return
    pair = (key_of(*before), key_of(*after))
    if pair in look.met:
        return
    look.met.add(pair)
    different = False
    for change in _find_changes_once(where, before, after, look):
        different = True
        yield change
    if different:  # where the same stands again, it is a finding again
        look.met.discard(pair)


def _find_changes_once(where: str, before: Side, after: Side, look: _Look) -> Iterator[Narrowing]:
    old, new = shape(before.schema, before.root), shape(after.schema, after.root)
    if old.variants or new.variants:
        yield from _variants(where, (old, before), (new, after), look.way)
        return
    types = list(_types(where, old, new, look.way))
    yield from types
    if types and not old.types & new.types:
        return
    yield from _values(where, old, new, look.way)
    yield from _bounds(where, old, new, look.way)
    yield from _fields(where, (old, before.root), (new, after.root), look)
    if "array" in old.types & new.types:
        items = Side(old.items, before.root), Side(new.items, after.root)
        yield from _find_changes(f"{where}[]", *items, look)


def _narrower(where: str, text: str, way: Direction) -> Narrowing:
    return Narrowing(where, text, way is Direction.INPUT)


def _wider(where: str, text: str, way: Direction) -> Narrowing:
    return Narrowing(where, text, way is Direction.OUTPUT)


def _types(where: str, old: SchemaShape, new: SchemaShape, way: Direction) -> Iterator[Narrowing]:
    gone, come = old.types - new.types, new.types - old.types
    text = f"type {old.text} became {new.text}"
    if gone and come:
        yield Narrowing(where, text, breaking=True)
    elif gone:
        yield _narrower(where, text, way)
    elif come:
        yield _wider(where, text, way)


def _values(where: str, old: SchemaShape, new: SchemaShape, way: Direction) -> Iterator[Narrowing]:
    if old.values == new.values:
        return
    if old.values is None or new.values is None:
        # If the types also differ, that is already a finding.
        if old.types == new.types:
            narrower = old.values is None
            word = "only some values are allowed now" if narrower else "every value is allowed now"
            yield (_narrower if narrower else _wider)(where, word, way)
        return
    for value in sorted(old.values - new.values):
        yield _narrower(where, f"value {value} was removed", way)
    for value in sorted(new.values - old.values):
        yield _wider(where, f"value {value} was added", way)


def _bounds(where: str, old: SchemaShape, new: SchemaShape, way: Direction) -> Iterator[Narrowing]:
    earlier = {**old.bounds, **({"format": old.format} if old.format else {})}
    later = {**new.bounds, **({"format": new.format} if new.format else {})}
    for name in sorted(earlier.keys() | later.keys()):
        was, now = earlier.get(name), later.get(name)
        if was == now:
            continue
        text = f"{name} {_format_value(was)} became {_format_value(now)}"
        if was is None or now is None:
            yield (_narrower if was is None else _wider)(where, text, way)
        elif isinstance(was, (int, float)) and isinstance(now, (int, float)) and _is_ordered(name):
            narrower = (now > was) if name in _LOWER else (now < was)
            yield (_narrower if narrower else _wider)(where, text, way)
        else:
            yield Narrowing(where, text, breaking=True)


def _is_ordered(name: str) -> bool:
    return name in _LOWER or name in _UPPER


def _format_value(value: Json) -> str:
    return "none" if value is None else str(value)


def _fields(
    where: str, one: tuple[SchemaShape, Json], other: tuple[SchemaShape, Json], look: _Look
) -> Iterator[Narrowing]:
    (old, root), (new, new_root) = one, other
    for name, schema in old.properties.items():
        at = f"{where}.{name}".lstrip(".")
        if name not in new.properties:
            yield Narrowing(at, "field was removed", breaking=True)
            continue
        yield from _need(at, name, old, new, look.way)
        yield from _find_changes(at, Side(schema, root), Side(new.properties[name], new_root), look)
    for name in sorted(new.properties.keys() - old.properties.keys()):
        needed = name in new.required
        text = "required field was added" if needed else "optional field was added"
        at = f"{where}.{name}".lstrip(".")
        yield Narrowing(at, text, needed and look.way is Direction.INPUT)
    nowhere = new.required - old.required - old.properties.keys() - new.properties.keys()
    for name in sorted(nowhere):  # asked for without being described
        yield _narrower(f"{where}.{name}".lstrip("."), "became required", look.way)
    if (old.extra is False) != (new.extra is False):
        narrower = new.extra is False
        text = f"other fields are {'refused' if narrower else 'allowed'} now"
        closes = narrower and look.way is Direction.INPUT
        yield Narrowing(where, text, closes)  # a reader bears fields it does not know


def _need(
    at: str, name: str, old: SchemaShape, new: SchemaShape, way: Direction
) -> Iterator[Narrowing]:
    if name in new.required and name not in old.required:
        yield _narrower(at, "became required", way)
    elif name in old.required and name not in new.required:
        yield _wider(at, "became optional", way)


def _variants(
    where: str, one: tuple[SchemaShape, Side], other: tuple[SchemaShape, Side], way: Direction
) -> Iterator[Narrowing]:
    """Yield removed and added alternatives; a changed one counts as both."""
    (old, before), (new, after) = one, other
    earlier = [Side(v, before.root) for v in old.variants] or [before]
    later = [Side(v, after.root) for v in new.variants] or [after]
    for side in earlier:
        if not any(_same(side, each) for each in later):
            yield _narrower(where, f"alternative {shape(*side).text} was removed or changed", way)
    for side in later:
        if not any(_same(each, side) for each in earlier):
            yield _wider(where, f"alternative {shape(*side).text} is new or changed", way)


def _same(one: Side, other: Side) -> bool:
    return not differences(one.schema, other.schema, roots=(one.root, other.root))
