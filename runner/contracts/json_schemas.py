"""Normalize JSON Schemas, and check whether two of them allow the same values.

References are followed, what only annotates (title, description, default …) is dropped, `const`
is an `enum` of one, `nullable` and `anyOf` with null are types, an `allOf` of objects is one.
Draft 2020-12 and the dialects of OpenAPI 3.0 and 3.1 are read alike.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from runner.contracts.entries import Refused
from runner.contracts.inside import operations

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from runner.contracts.document import Json


ANY = frozenset({"null", "boolean", "integer", "number", "string", "array", "object"})
_BOUNDS = (
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    *("minLength", "maxLength", "pattern", "minItems", "maxItems", "uniqueItems"),
    *("minProperties", "maxProperties"),
)
_NOTHING = {"minLength": 0, "minItems": 0, "minProperties": 0, "uniqueItems": False}
"""Bounds without effect."""
_SAFE: dict[str, Json] = {"minimum": 1 - 2**53, "maximum": 2**53 - 1}
"""Bounds that Zod 4 gives every integer: JavaScript's `Number.MAX_SAFE_INTEGER`."""
_SAYS_NOTHING = frozenset(
    (
        *("title", "description", "default", "deprecated", "example", "examples", "readOnly"),
        *("writeOnly", "$comment", "$schema", "$id", "$defs", "definitions", "$anchor"),
    )
)
"""Keywords that neither allow nor reject a value."""
_OF = {
    "string": frozenset({"minLength", "maxLength", "pattern", "format"}),
    "number": frozenset(_BOUNDS[:5]),
    "integer": frozenset(_BOUNDS[:5]),
    "boolean": frozenset[str](),
    "array": frozenset({"items", "prefixItems", "minItems", "maxItems", "uniqueItems"}),
}
"""By type, keywords that bound only its values (JSON Schema 2020-12, Validation, 6)."""
_PARTS = 200
"""Maximum number of schemas merged into one by references and `allOf`."""


class SchemaShape(Struct, frozen=True):
    """The values that one schema allows; its children stay schemas."""

    types: frozenset[str]
    values: frozenset[str] | None = None
    """Allowed values, each as JSON text; None: all values of the types."""
    format: str = ""
    bounds: Mapping[str, Json] = field(default_factory=dict)
    properties: Mapping[str, Json] = field(default_factory=dict)
    required: frozenset[str] = frozenset()
    extra: Json = True
    """Value of `additionalProperties`."""
    items: Json = True
    first: tuple[Json, ...] = ()
    """Value of `prefixItems`."""
    variants: tuple[Json, ...] = ()
    """Schemas of `anyOf` or `oneOf`, without null."""

    @property
    def text(self) -> str:
        """The types in a word or two."""
        names = self.types - {"integer"} if "number" in self.types else self.types
        return "anything" if self.types == ANY else " or ".join(sorted(names)) or "nothing"


def shape(schema: Json, root: Json) -> SchemaShape:
    """Return the normalised shape of a schema in the document `root`."""
    plain = _follow_references(schema, root, [_PARTS])
    if plain is False:
        return SchemaShape(frozenset())
    if not isinstance(plain, dict):
        return SchemaShape(ANY)
    variants, nullable = _variants(plain, root)
    if len(variants) > 1 and "type" not in plain and (one := _as_one(variants, root)):
        variants = (one,)
    if len(variants) == 1:  # `X or null` is X, with null among its types
        inner = shape(_merge({**plain, "anyOf": [], "oneOf": []}, variants[0]), root)
        return _with_null(inner) if nullable else inner
    values = _values(plain)
    types = _types(plain, values)
    null = frozenset({"null"}) if nullable else frozenset[str]()
    return SchemaShape(
        types=types | null,
        values=values,
        format=_text(plain.get("format")),
        bounds=_bounds(plain),
        properties=to_object(plain.get("properties")),
        required=frozenset(_strings(plain.get("required"))),
        extra=plain.get("additionalProperties", True),
        # Drafts before 2020-12 used a list here for `prefixItems`.
        items=plain.get("items", True) if not isinstance(plain.get("items"), list) else True,
        first=tuple(_array(plain.get("prefixItems", plain.get("items")))),
        variants=variants,
    )


def without_null(schema: Json, root: Json) -> Json:
    """Return the X of a schema that is only "X or null"; None for any other schema."""
    if not isinstance(schema, dict) or not {"anyOf", "oneOf"} & schema.keys():
        return None
    variants, nullable = _variants(schema, root)
    alone = {key for key in schema if key not in _SAYS_NOTHING} <= {"anyOf", "oneOf"}
    return variants[0] if alone and nullable and len(variants) == 1 else None


def key_of(schema: Json, root: Json) -> str:
    """Return the key of a schema; a mere reference has the key of its target."""
    for _ in range(_PARTS):
        reference = schema.get("$ref") if isinstance(schema, dict) else None
        if not isinstance(reference, str) or not isinstance(schema, dict):
            break
        if schema.keys() - _SAYS_NOTHING - {"$ref"}:
            break
        schema = resolve_reference(reference, root)
    return json.dumps(schema, sort_keys=True)


def _with_null(inner: SchemaShape) -> SchemaShape:
    values = None if inner.values is None else inner.values | {"null"}
    return replace(inner, types=inner.types | {"null"}, values=values)


def resolve_reference(reference: str, root: Json) -> Json:
    """Return what a reference into the same document leads to; True where nothing is there."""
    found: Json = operations.resolve_reference(root, reference)
    return True if found is None else found


def _follow_references(schema: Json, root: Json, left: list[int]) -> Json:
    """Resolve a schema's references and merge it with its `allOf` parts.

    `left` counts the parts down: what is put together of itself would never end.
    """
    found = schema
    while True:
        left[0] -= 1
        if left[0] < 0:
            raise Refused(f"a schema has more than {_PARTS} parts")
        if not isinstance(found, dict):
            return found
        reference = found.get("$ref")
        parts = _array(found.get("allOf"))
        if isinstance(reference, str):
            beside = {key: value for key, value in found.items() if key != "$ref"}
            found = _merge(beside, resolve_reference(reference, root))
        elif parts:
            found = {key: value for key, value in found.items() if key != "allOf"}
            for part in parts:
                found = _merge(found, _follow_references(part, root, left))
        else:
            return found


def _merge(one: dict[str, Json], other: Json) -> dict[str, Json]:
    """Merge two schemas: their properties are united and their required names add up."""
    if not isinstance(other, dict):
        return one
    found = {**other, **{key: value for key, value in one.items() if value not in ([], {})}}
    for key in ("properties", "$defs", "definitions"):
        if key in one and key in other:
            found[key] = {**to_object(other[key]), **to_object(one[key])}
    if "required" in one or "required" in other:
        needed = {*_strings(one.get("required")), *_strings(other.get("required"))}
        found["required"] = [*sorted(needed)]
    return found


def _variants(plain: dict[str, Json], root: Json) -> tuple[tuple[Json, ...], bool]:
    """Return the alternatives without null, and whether null is permitted."""
    every = [*_array(plain.get("anyOf")), *_array(plain.get("oneOf"))]
    rest = [one for one in every if _follow_references(one, root, [_PARTS]) != {"type": "null"}]
    nullable = plain.get("nullable") is True or len(rest) < len(every)
    return tuple(rest), nullable


def _as_one(variants: Iterable[Json], root: Json) -> Json:
    """Return one schema with several types that is equal to these alternatives, or None."""
    types: dict[str, None] = {}
    found: dict[str, Json] = {}
    for one in (_follow_references(each, root, [_PARTS]) for each in variants):
        kind = one.get("type") if isinstance(one, dict) else None
        if not isinstance(one, dict) or not isinstance(kind, str) or kind not in _OF:
            return None
        bounds = {name: one[name] for name in one.keys() - _SAYS_NOTHING - {"type"}}
        if kind in types or bounds.keys() - _OF[kind] or bounds.keys() & found.keys():
            return None
        types[kind] = None
        found |= bounds
    if {"integer", "number"} <= types.keys() and found.keys() & _OF["number"]:
        return None
    return {**found, "type": [*types]}


def _values(plain: dict[str, Json]) -> frozenset[str] | None:
    if "const" in plain:
        return frozenset({_canonical_json(plain["const"])})
    if isinstance(plain.get("enum"), list):
        return frozenset(map(_canonical_json, _array(plain["enum"])))
    return None


def _types(plain: dict[str, Json], values: frozenset[str] | None) -> frozenset[str]:
    named = plain.get("type")
    types = frozenset(_strings(named) if isinstance(named, list) else _strings([named]))
    if values is not None:
        return frozenset(_type_of(json.loads(value)) for value in values)
    if not types:
        types = _imply_types(plain)
    # An integer is a number (JSON Schema 2020-12, Validation, 6.1.1).
    return types | {"integer"} if "number" in types else types


def _imply_types(plain: dict[str, Json]) -> frozenset[str]:
    """Return the types of a schema without `type`: `object` if it has properties, else any."""
    if "properties" in plain:
        return frozenset({"object"})
    return ANY


def _type_of(value: Json) -> str:
    names = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array"}
    return "null" if value is None else names.get(type(value), "object")


def _bounds(plain: dict[str, Json]) -> dict[str, Json]:
    found = {name: plain[name] for name in _BOUNDS if name in plain}
    return {
        name: value
        for name, value in found.items()
        if (name not in _NOTHING or value != _NOTHING[name])
        and (plain.get("type") != "integer" or value != _SAFE.get(name))
    }


def _canonical_json(value: Json) -> str:
    return json.dumps(value, sort_keys=True)


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""


def to_object(value: Json) -> dict[str, Json]:
    """Return a JSON object; an empty one for any other value."""
    return value if isinstance(value, dict) else {}


def _array(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _strings(value: Json) -> list[str]:
    return [one for one in _array(value) if isinstance(one, str)]


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
        yield from _compare_variants(where, (ours, one), (theirs, other), how)
    elif ours.types != theirs.types:
        yield _differs(where, "type", ours.text, theirs.text)
    else:
        yield from _compare_values(where, ours, theirs)
        yield from _compare_bounds(where, ours, theirs, how)
        yield from _compare_fields(where, (ours, one.root), (theirs, other.root), how)
        yield from _compare_items(where, (ours, one.root), (theirs, other.root), how)


def _differs(where: str, what: str, contract: str, model: str) -> str:
    return f"{_format_field(where)}: {what} {contract} in the contract, {model} in the model"


def _format_field(where: str) -> str:
    return f"field {where}" if where else "top level"


def _compare_values(where: str, ours: SchemaShape, theirs: SchemaShape) -> Iterator[str]:
    if ours.values != theirs.values:
        mine, other = (
            "any" if side.values is None else ", ".join(sorted(side.values))
            for side in (ours, theirs)
        )
        yield _differs(where, "values", mine, other)


def _compare_bounds(
    where: str, ours: SchemaShape, theirs: SchemaShape, how: _Comparison
) -> Iterator[str]:
    if ours.format != theirs.format and (theirs.format or not how.loose):
        yield _differs(where, "format", ours.format or "none", theirs.format or "none")
    for name in sorted(ours.bounds.keys() | theirs.bounds.keys()):
        mine, other = ours.bounds.get(name), theirs.bounds.get(name)
        if mine != other and (other is not None or not how.loose):
            yield _differs(where, name, format_value(mine), format_value(other))


def format_value(value: Json) -> str:
    """Return a bound as text."""
    return "none" if value is None else str(value)


def _compare_fields(
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


def _compare_items(
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


def _compare_variants(
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
