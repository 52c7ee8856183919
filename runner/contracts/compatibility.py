"""Compare two versions of a contract, and find the changes that break its users.

A removed or renamed operation, parameter, field, status code or media type breaks; so does a new
required input, less allowed in what goes in, and more allowed in what comes out. New operations,
optional inputs, fields in answers and status codes are additive. A JSON Schema on its own counts
as input: what was valid must stay valid. (No Python library of this kind is kept up: the known
ones, such as oasdiff, are programs in Go.)
"""

from __future__ import annotations

from enum import Enum
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from runner.contracts.document import bundle_document
from runner.contracts.entries import Refused
from runner.contracts.inside.operations import operations_of, parameter_names, path_shape
from runner.contracts.json_schemas import (
    SchemaShape,
    Side,
    differences,
    format_value,
    key_of,
    resolve_reference,
    shape,
    to_object,
    without_null,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.contracts.document import Json


__all__ = ["Narrowing", "compare", "compare_documents", "is_breaking"]

_HOPS = 20
_MOST = 1000


def compare(kind: str, before: bytes, after: bytes) -> tuple[Narrowing, ...]:
    """Return every change between two `openapi` or `schema` contracts; raises Refused.

    The bytes are JSON or YAML; parts in other files are not looked into.
    """
    return compare_documents(kind, _parse(before), _parse(after))


def compare_documents(kind: str, before: Json, after: Json) -> tuple[Narrowing, ...]:
    """Return the narrowings between two parsed and bundled documents."""
    return tuple(dict.fromkeys(_first(kind, before, after)[:_MOST]))


def _first(kind: str, before: Json, after: Json) -> list[Narrowing]:
    """Return at most one more narrowing than the limit for display."""
    if kind == "openapi":
        found = _compare_apis(to_object(before), to_object(after))
    else:
        found = changes("", Side(before, before), Side(after, after), Direction.INPUT)
    return list(islice(found, _MOST + 1))


def is_breaking(path: str, before: bytes | None, after: bytes | None) -> bool | None:
    """Return whether a contract change breaks its users; None if unknown.

    A new file breaks nobody; a removed one everybody.
    """
    if before is None or before == after:
        return False
    if after is None:
        return True
    try:
        old, new = _parse(before, path), _parse(after, path)
        kinds = {kind_of(old), kind_of(new)}
        if len(kinds) != 1 or "" in kinds:
            return None
        found = _first(kinds.pop(), old, new)
        breaks = any(change.breaking for change in found)
        return None if len(found) > _MOST and not breaks else breaks
    except (Refused, RecursionError):
        return None


def kind_of(document: Json) -> str:
    """Return `openapi` or `schema` by the document's content; empty for neither."""
    if not isinstance(document, dict):
        return ""
    if isinstance(document.get("openapi"), str):
        return "openapi"
    marks = ("$schema", "type", "properties", "$ref", "$defs", "anyOf", "oneOf", "allOf", "enum")
    return "schema" if any(mark in document for mark in marks) else ""


def _parse(content: bytes, name: str = "") -> Json:
    """Parse a document; references to other files resolve to an empty object."""
    if not name:
        name = "contract.json" if content.lstrip()[:1] in (b"{", b"[") else "contract.yaml"

    return bundle_document(name, lambda path: content if path == name else b"{}")


# --- OpenAPI --------------------------------------------------------------------------


def _compare_apis(before: dict[str, Json], after: dict[str, Json]) -> Iterator[Narrowing]:
    old = {(method, path_shape(path)): path for method, path in operations_of(before)}
    new = {(method, path_shape(path)): path for method, path in operations_of(after)}
    for (method, whole), path in old.items():
        label = f"{method} {path}"
        if (method, whole) not in new:
            yield Narrowing(label, "operation was removed", breaking=True)
            continue
        one = _Operation(before, method, path)
        yield from _compare_operation(label, one, _Operation(after, method, new[method, whole]))
    for method, whole in sorted(new.keys() - old.keys()):
        label = f"{method} {new[method, whole]}"
        yield Narrowing(label, "operation was added", breaking=False)


class _Operation:
    """One operation of a document, its references followed."""

    def __init__(self, root: dict[str, Json], method: str, path: str) -> None:
        self.root = root
        item = self.follow(to_object(root.get("paths")).get(path))
        own = self.follow(item.get(method.lower()))
        self.body = self.follow(own.get("requestBody"))
        self.responses = {
            status: self.follow(answer)
            for status, answer in to_object(own.get("responses")).items()
        }
        self.parameters = self._parameters(path, item, own)
        secured = own.get("security", root.get("security"))
        # An empty requirement in the list makes security optional, an empty list removes it
        # (OpenAPI 3, Operation Object, `security`).
        self.secured = isinstance(secured, list) and bool(secured) and {} not in secured

    def follow(self, node: Json) -> dict[str, Json]:
        for _ in range(_HOPS):
            reference = node.get("$ref") if isinstance(node, dict) else None
            if not isinstance(reference, str):
                break
            node = resolve_reference(reference, self.root)
        return to_object(node)

    def _parameters(
        self, path: str, item: dict[str, Json], own: dict[str, Json]
    ) -> dict[str, dict[str, Json]]:
        """Return parameters by place and name; path parameters by position."""
        names = parameter_names(path)
        found = {}
        for holder in (item, own):
            listed = holder.get("parameters")
            for one in map(self.follow, listed if isinstance(listed, list) else ()):
                place, name = str(one.get("in")), str(one.get("name"))
                if place == "path" and name in names:
                    found[f"path parameter {names.index(name) + 1}"] = one
                else:
                    found[f"{place} parameter {name}"] = one
        return found


def _compare_operation(label: str, old: _Operation, new: _Operation) -> Iterator[Narrowing]:
    if new.secured and not old.secured:
        yield Narrowing(label, "authentication became required", breaking=True)
    yield from _compare_parameters(label, old, new)
    yield from _compare_bodies(label, old, new)
    for status in sorted(old.responses.keys() - new.responses.keys()):
        yield Narrowing(f"{label} {status}", "status code was removed", breaking=True)
    for status in sorted(new.responses.keys() - old.responses.keys()):
        yield Narrowing(f"{label} {status}", "status code was added", breaking=False)
    for status in sorted(old.responses.keys() & new.responses.keys()):
        at = f"{label} {status}"
        one, other = old.responses[status], new.responses[status]
        yield from _compare_headers(at, one, other)
        yield from _compare_contents(at, (old, one), (new, other), Direction.OUTPUT)


def _compare_parameters(label: str, old: _Operation, new: _Operation) -> Iterator[Narrowing]:
    for name, one in old.parameters.items():
        at = f"{label} {name}"
        if name not in new.parameters:
            yield Narrowing(at, "was removed", breaking=True)
            continue
        other = new.parameters[name]
        if other.get("required") is True and one.get("required") is not True:
            yield Narrowing(at, "became required", breaking=True)
        sides = Side(one.get("schema", True), old.root), Side(other.get("schema", True), new.root)
        yield from changes(at, *sides, Direction.INPUT)
    for name in sorted(new.parameters.keys() - old.parameters.keys()):
        needed = new.parameters[name].get("required") is True
        text = "was added and is required" if needed else "was added"
        yield Narrowing(f"{label} {name}", text, breaking=needed)


def _compare_bodies(label: str, old: _Operation, new: _Operation) -> Iterator[Narrowing]:
    at = f"{label} body"
    if old.body and not new.body:
        yield Narrowing(at, "was removed", breaking=True)
    elif new.body.get("required") is True and old.body.get("required") is not True:
        yield Narrowing(at, "became required", breaking=True)
    if old.body and new.body:
        yield from _compare_contents(at, (old, old.body), (new, new.body), Direction.INPUT)


def _compare_headers(at: str, old: dict[str, Json], new: dict[str, Json]) -> Iterator[Narrowing]:
    # Header names are case-insensitive (RFC 9110, 5.1).
    was, now = (set(map(str.lower, to_object(one.get("headers")))) for one in (old, new))
    for name in sorted(was - now):
        yield Narrowing(f"{at} header {name}", "was removed", breaking=True)
    for name in sorted(now - was):
        yield Narrowing(f"{at} header {name}", "was added", breaking=False)


def _compare_contents(
    at: str,
    one: tuple[_Operation, dict[str, Json]],
    other: tuple[_Operation, dict[str, Json]],
    way: Direction,
) -> Iterator[Narrowing]:
    old, new = (to_object(body.get("content")) for _, body in (one, other))
    for kind in sorted(old.keys() - new.keys()):
        yield Narrowing(at, f"{kind} was removed", breaking=True)
    for kind in sorted(new.keys() - old.keys()):
        yield Narrowing(at, f"{kind} was added", breaking=False)
    for kind in sorted(old.keys() & new.keys()):
        schemas = (to_object(content[kind]).get("schema", True) for content in (old, new))
        left, right = (Side(s, side[0].root) for s, side in zip(schemas, (one, other), strict=True))
        yield from changes(at, left, right, way)


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
        text = f"{name} {format_value(was)} became {format_value(now)}"
        if was is None or now is None:
            yield (_narrower if was is None else _wider)(where, text, way)
        elif isinstance(was, (int, float)) and isinstance(now, (int, float)) and _is_ordered(name):
            narrower = (now > was) if name in _LOWER else (now < was)
            yield (_narrower if narrower else _wider)(where, text, way)
        else:
            yield Narrowing(where, text, breaking=True)


def _is_ordered(name: str) -> bool:
    return name in _LOWER or name in _UPPER


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
