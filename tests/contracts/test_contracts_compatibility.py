"""A changed contract: what breaks those who keep to the old one, and what only adds."""

import json

import pytest

from runner.contracts.compatibility import compare, compare_documents, is_breaking
from runner.contracts.document import bundle_document

TEXT = {"type": "string"}
INTEGER = {"type": "integer"}
THING = {
    "type": "object",
    "properties": {"name": TEXT, "size": INTEGER, "kind": {"enum": ["a", "b"]}},
    "required": ["name"],
}


def body(schema):
    return {"content": {"application/json": {"schema": schema}}}


BEFORE = {
    "openapi": "3.1.0",
    "info": {"title": "T", "version": "1"},
    "paths": {
        "/things/{id}": {
            "parameters": [{"name": "id", "in": "path", "required": True, "schema": TEXT}],
            "get": {
                "parameters": [{"name": "q", "in": "query", "schema": TEXT}],
                "responses": {
                    "200": {"description": "", **body({"$ref": "#/components/schemas/Out"})}
                },
            },
        },
        "/things": {
            "post": {
                "requestBody": {"required": True, **body({"$ref": "#/components/schemas/In"})},
                "responses": {"201": {"description": ""}, "400": {"description": ""}},
            },
        },
    },
    "components": {"schemas": {"In": THING, "Out": THING}},
}
GET = BEFORE["paths"]["/things/{id}"]["get"]
IN, OUT = ("components", "schemas", "In"), ("components", "schemas", "Out")


def changed(path, value):
    """The document with another value at a path; a value of None takes it out."""
    after = json.loads(json.dumps(BEFORE))
    node = after
    for step in path[:-1]:
        node = node[step]
    if value is None:
        del node[path[-1]]
    else:
        node[path[-1]] = value
    return after


def compared(after):
    found = compare("openapi", json.dumps(BEFORE).encode(), json.dumps(after).encode())
    return [(change.path, change.text, change.breaking) for change in found]


POST, SHOW = "POST /things", "GET /things/{id}"


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        (("paths", "/things", "post"), None, (POST, "operation was removed", True)),
        (("paths", "/new"), {"get": GET}, ("GET /new", "operation was added", False)),
        (
            ("paths", "/things/{id}", "get", "responses"),
            {"202": GET["responses"]["200"]},
            (f"{SHOW} 200", "status code was removed", True),
        ),
        (
            ("paths", "/things", "post", "responses", "409"),
            {"description": ""},
            (f"{POST} 409", "status code was added", False),
        ),
        (
            ("paths", "/things/{id}", "get", "parameters"),
            [],
            (f"{SHOW} query parameter q", "was removed", True),
        ),
        (
            ("paths", "/things/{id}", "get", "parameters", 0, "required"),
            True,
            (f"{SHOW} query parameter q", "became required", True),
        ),
        (
            ("paths", "/things/{id}", "get", "parameters", 0, "schema"),
            INTEGER,
            (f"{SHOW} query parameter q", "type string became integer", True),
        ),
        (
            ("paths", "/things", "post", "parameters"),
            [{"name": "n", "in": "query", "required": True}],
            (f"{POST} query parameter n", "was added and is required", True),
        ),
        (
            ("paths", "/things", "post", "parameters"),
            [{"name": "n", "in": "query"}],
            (f"{POST} query parameter n", "was added", False),
        ),
        (
            ("paths", "/things", "post", "requestBody", "content"),
            {"text/plain": {}},
            (f"{POST} body", "application/json was removed", True),
        ),
        (
            ("paths", "/things", "post", "security"),
            [{"key": []}],
            (POST, "authentication became required", True),
        ),
        # what goes in breaks where less is allowed
        ((*IN, "required"), ["name", "size"], (f"{POST} body.size", "became required", True)),
        (
            (*IN, "required"),
            ["name", "nowhere"],
            (f"{POST} body.nowhere", "became required", True),
        ),
        ((*IN, "required"), [], (f"{POST} body.name", "became optional", False)),
        ((*IN, "properties", "new"), TEXT, (f"{POST} body.new", "optional field was added", False)),
        ((*IN, "properties", "size"), None, (f"{POST} body.size", "field was removed", True)),
        (
            (*IN, "properties", "size"),
            {"type": ["integer", "string"]},
            (f"{POST} body.size", "type integer became integer or string", False),
        ),
        (
            (*IN, "properties", "kind"),
            {"enum": ["a"]},
            (f"{POST} body.kind", 'value "b" was removed', True),
        ),
        (
            (*IN, "properties", "kind"),
            {"enum": ["a", "b", "c"]},
            (f"{POST} body.kind", 'value "c" was added', False),
        ),
        (
            (*IN, "properties", "name"),
            {"type": "string", "maxLength": 5},
            (f"{POST} body.name", "maxLength none became 5", True),
        ),
        (
            (*IN, "additionalProperties"),
            False,
            (f"{POST} body", "other fields are refused now", True),
        ),
        # what comes out breaks where more is allowed
        ((*OUT, "required"), ["name", "size"], (f"{SHOW} 200.size", "became required", False)),
        ((*OUT, "required"), [], (f"{SHOW} 200.name", "became optional", True)),
        ((*OUT, "properties", "new"), TEXT, (f"{SHOW} 200.new", "optional field was added", False)),
        ((*OUT, "properties", "size"), None, (f"{SHOW} 200.size", "field was removed", True)),
        (
            (*OUT, "properties", "size"),
            {"type": ["integer", "null"]},
            (f"{SHOW} 200.size", "type integer became integer or null", True),
        ),
        (
            (*OUT, "properties", "kind"),
            {"enum": ["a", "b", "c"]},
            (f"{SHOW} 200.kind", 'value "c" was added', True),
        ),
        (
            (*OUT, "properties", "kind"),
            {"enum": ["a"]},
            (f"{SHOW} 200.kind", 'value "b" was removed', False),
        ),
    ],
)
def test_one_change_is_named_and_judged_by_the_way_the_data_goes(path, value, expected):
    assert expected in compared(changed(path, value))


def test_what_only_reads_differently_is_no_change():
    after = json.loads(json.dumps(BEFORE))
    after["info"]["version"] = "2"
    item = after["paths"].pop("/things/{id}")
    item["parameters"][0]["name"] = "thing"
    after["paths"]["/things/{thing}"] = item
    after["components"]["schemas"]["Out"] = {**THING, "description": "better said"}
    assert compared(after) == []


def test_a_renamed_field_is_one_removed_and_one_added():
    properties = {
        ("title" if name == "name" else name): s for name, s in THING["properties"].items()
    }
    after = changed((*OUT, "properties"), properties)
    after["components"]["schemas"]["Out"]["required"] = ["title"]
    assert compared(after) == [
        (f"{SHOW} 200.name", "field was removed", True),
        (f"{SHOW} 200.title", "required field was added", False),
    ]


def test_a_schema_alone_counts_as_input_and_recursive_ones_end():
    before = {"type": "object", "properties": {"next": {"$ref": "#"}, "n": INTEGER}}
    after = {"type": "object", "properties": {"next": {"$ref": "#"}, "n": TEXT}}
    found = compare("schema", json.dumps(before).encode(), json.dumps(after).encode())
    assert [(change.path, change.breaking) for change in found] == [("n", True)]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (None, b"{}", False),
        (b"{}", None, True),
        (b"x", b"x", False),
        (b'{"type": "string"}', b'{"type": "integer"}', True),
        (b'{"type": "string"}', b'{"type": ["string", "null"]}', False),
        (b"{", b'{"type": "integer"}', None),
        (b'{"some": "thing"}', b'{"some": "other"}', None),
        (b'{"openapi": "3.1.0"}', b'{"type": "integer"}', None),
        (b'{"$ref": "http://x/y"}', b'{"type": "integer"}', None),
        (b'{"$ref": "#"}', b'{"type": "integer"}', None),
    ],
)
def test_whether_a_change_breaks_may_be_unknown(before, after, expected):
    assert is_breaking("contracts/x.json", before, after) is expected


def test_of_more_changes_than_are_looked_at_nobody_knows_whether_one_breaks():
    def shaped(count, kind):
        many = {"type": "object", "properties": {f"a{number}": {} for number in range(count)}}
        return {"type": "object", "properties": {"many": many, "z": {"type": kind}}}

    before, after = shaped(0, "string"), shaped(2000, "integer")
    texts = (json.dumps(before).encode(), json.dumps(after).encode())
    assert is_breaking("x.json", *texts) is None
    assert is_breaking("x.json", json.dumps(shaped(0, "integer")).encode(), texts[0]) is True


def test_yaml_documents_are_compared_too():
    before, after = b"type: object\nproperties: {a: {}}", b"type: object\nproperties: {}"
    assert is_breaking("x.yaml", before, after) is True


def test_a_part_in_another_file_is_compared_where_it_is_bound_in():
    main = {"type": "object", "properties": {"a": {"$ref": "part.json"}}}

    def whole(part):
        contents = {"main.json": main, "part.json": part}
        return bundle_document("main.json", lambda path: json.dumps(contents[path]).encode())

    found = compare_documents("schema", whole(TEXT), whole(INTEGER))
    assert [(change.path, change.text) for change in found] == [("a", "type string became integer")]


@pytest.mark.parametrize(
    ("before", "after", "text", "breaks"),
    [
        ({"minimum": 1}, {"minimum": 2}, "minimum 1 became 2", True),
        ({"minimum": 2}, {"minimum": 1}, "minimum 2 became 1", False),
        ({"maxLength": 2}, {"maxLength": 1}, "maxLength 2 became 1", True),
        ({"maxLength": 2}, {}, "maxLength 2 became none", False),
        ({"pattern": "a"}, {"pattern": "b"}, "pattern a became b", True),
        ({}, {"format": "uuid"}, "format none became uuid", True),
        ({"enum": ["a"]}, {"type": "string"}, "every value is allowed now", False),
        ({"type": "string"}, {"enum": ["a"]}, "only some values are allowed now", True),
        ({"type": ["string", "null"]}, TEXT, "type null or string became string", True),
        ({"anyOf": [TEXT, INTEGER]}, TEXT, "type integer or string became string", True),
        (TEXT, {"anyOf": [TEXT, INTEGER]}, "type string became integer or string", False),
        ({"anyOf": [TEXT, THING]}, TEXT, "alternative object was removed or changed", True),
        (TEXT, {"anyOf": [TEXT, THING]}, "alternative object is new or changed", False),
        (
            {"type": "array", "items": TEXT},
            {"type": "array", "items": INTEGER},
            "type string became integer",
            True,
        ),
        (
            {"type": "object", "additionalProperties": False},
            {"type": "object"},
            "other fields are allowed now",
            False,
        ),
    ],
)
def test_what_a_schema_allows_grows_or_shrinks(before, after, text, breaks):
    found = compare("schema", json.dumps(before).encode(), json.dumps(after).encode())
    assert (text, breaks) in [(change.text, change.breaking) for change in found]
