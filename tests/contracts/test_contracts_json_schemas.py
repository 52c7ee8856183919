"""Two JSON Schemas that allow the same are alike, however they are spelled."""

import pytest

from runner.contracts.entries import Refused
from runner.contracts.json_schemas import differences

TEXT = {"type": "string"}


def an_object(**properties):
    return {"type": "object", "properties": properties, "required": list(properties)}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"type": "string", "title": "T", "description": "D"}, TEXT),
        ({"const": 1}, {"enum": [1], "type": "integer"}),
        ({"enum": ["a", "b"]}, {"enum": ["b", "a"], "type": "string"}),
        ({"type": ["string", "null"]}, {"anyOf": [TEXT, {"type": "null"}]}),
        ({"type": "string", "nullable": True}, {"type": ["null", "string"]}),
        ({"type": "number"}, {"type": ["integer", "number"]}),
        ({"type": "string", "minLength": 0}, TEXT),
        (an_object(a=TEXT), {"properties": {"a": TEXT}, "required": ["a"]}),
        ({"$ref": "#/$defs/A", "$defs": {"A": TEXT}}, {"$ref": "#/x/B", "x": {"B": TEXT}}),
        ({"allOf": [an_object(a=TEXT), an_object(b=TEXT)]}, an_object(b=TEXT, a=TEXT)),
        ({"anyOf": [TEXT, {"type": "integer"}]}, {"oneOf": [{"type": "integer"}, TEXT]}),
        ({"anyOf": [TEXT, {"type": "number"}]}, {"type": ["string", "number"]}),
        (
            {"type": ["string", "integer", "null"]},
            {"anyOf": [{"type": "integer"}, TEXT, {"type": "null"}]},
        ),
        (
            {"type": ["string", "array"], "minLength": 1, "items": TEXT},
            {"anyOf": [{"type": "string", "minLength": 1}, {"type": "array", "items": TEXT}]},
        ),
        (
            an_object(a={"type": ["string", "number"]}),
            an_object(a={"oneOf": [{"$ref": "#/$defs/N"}, TEXT]})
            | {"$defs": {"N": {"type": "number"}}},
        ),
        ({"type": "array", "items": {}}, {"type": "array"}),
        ({"type": "array", "items": TEXT}, {"type": "array", "prefixItems": [TEXT], "items": TEXT}),
        ({"type": "array"}, {"type": "array", "prefixItems": [True]}),
        ({"type": "object", "additionalProperties": True}, {"type": "object"}),
        (True, {}),
    ],
)
def test_alike(one, other):
    assert differences(one, other) == ()
    assert differences(other, one) == ()


@pytest.mark.parametrize(
    ("contract", "model", "text"),
    [
        (
            an_object(end=TEXT),
            an_object(end={"type": "integer"}),
            "field end: type string in the contract, integer in the model",
        ),
        (
            an_object(end={"type": ["string", "integer"]}),
            an_object(end=TEXT),
            "field end: type integer or string in the contract, string in the model",
        ),
        (
            an_object(end={"type": ["string", "integer"], "minLength": 2}),
            an_object(end={"anyOf": [TEXT, {"type": "integer"}]}),
            "field end: minLength 2 in the contract, none in the model",
        ),
        (
            an_object(a=an_object(b=TEXT)),
            an_object(a=an_object()),
            "field a.b is missing in the model",
        ),
        (an_object(), an_object(a=TEXT), "field a is missing in the contract"),
        (
            an_object(a=TEXT),
            {**an_object(a=TEXT), "required": []},
            "field a: required in the contract, optional in the model",
        ),
        (
            {"type": "string", "format": "date-time"},
            TEXT,
            "top level: format date-time in the contract, none in the model",
        ),
        (
            {"enum": ["a", "b"]},
            {"enum": ["a"]},
            'top level: values "a", "b" in the contract, "a" in the model',
        ),
        (
            {"type": "object", "additionalProperties": False},
            {"type": "object"},
            "top level: other fields refused in the contract, any in the model",
        ),
        (
            {"type": "array", "items": TEXT},
            {"type": "array", "items": {"type": "null"}},
            "field []: type string in the contract, null in the model",
        ),
        (
            {"anyOf": [TEXT, {"type": "integer"}]},
            {"anyOf": [TEXT, {"type": "boolean"}]},
            "top level: type integer or string in the contract, boolean or string in the model",
        ),
        (
            {"anyOf": [TEXT, an_object(a=TEXT)]},
            {"anyOf": [TEXT, {"type": "boolean"}]},
            "top level: the model has no alternative like the contract's object",
        ),
        ({}, TEXT, "top level: type anything in the contract, string in the model"),
    ],
)
def test_different(contract, model, text):
    assert text in differences(contract, model)


def test_what_a_loose_model_does_not_say_is_no_difference_but_what_it_says_counts():
    contract = {**an_object(a={"type": "string", "maxLength": 3}), "additionalProperties": False}
    assert differences(contract, an_object(a=TEXT), loose=True) == ()
    other = an_object(a={"type": "string", "maxLength": 4})
    assert differences(contract, other, loose=True) == (
        "field a: maxLength 3 in the contract, 4 in the model",
    )


def test_recursive_schemas_end():
    tree = {"type": "object", "properties": {"below": {"type": "array", "items": {"$ref": "#"}}}}
    named = {
        "$ref": "#/$defs/T",
        "$defs": {
            "T": {
                "type": "object",
                "properties": {"below": {"type": "array", "items": {"$ref": "#/$defs/T"}}},
            }
        },
    }
    assert differences(tree, named) == ()
    changed = {**tree, "required": ["below"]}
    assert differences(changed, named) == (
        "field below: required in the contract, optional in the model",
    )


@pytest.mark.parametrize(
    "schema",
    [
        {"allOf": [{"$ref": "#"}, {"$ref": "#"}]},
        {"$ref": "#"},
        {"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}}},
    ],
)
def test_a_schema_that_is_only_itself_is_refused(schema):
    with pytest.raises(Refused):
        differences(schema, TEXT)


@pytest.mark.no_cover
def test_alternatives_within_alternatives_have_a_bound():
    def nested(depth, leaf):
        if not depth:
            return {"type": leaf}
        return {
            "anyOf": [an_object(**{f"p{n}": nested(depth - 1, leaf)}) for n in range(1)]
            + [
                an_object(p0=nested(depth - 1, leaf), q=TEXT),
                an_object(p0=nested(depth - 1, leaf), r=TEXT),
            ]
        }

    one, other = nested(7, "string"), nested(7, "integer")
    try:
        assert differences(one, other)
    except Refused as refused:
        assert "steps" in refused.message  # noqa: PT017 - either is an end


def test_bounds_that_every_integer_of_javascript_has_are_none():
    safe = {"type": "integer", "minimum": 1 - 2**53, "maximum": 2**53 - 1}
    assert differences({"type": "integer"}, safe) == ()
    assert differences(safe, {"type": "integer"}) == ()
    assert differences({"type": "integer"}, {**safe, "minimum": 0}) != ()
    assert differences({"type": "number"}, {**safe, "type": "number"}) != ()


def test_a_place_that_one_side_leaves_to_items_is_held_against_them():
    whole = {"type": "array", "items": TEXT}
    first = {"type": "array", "prefixItems": [{"type": "integer"}], "items": TEXT}
    assert any("[0]" in said for said in differences(whole, first))
    assert any("[0]" in said for said in differences(first, whole))
