"""Seeded faults in the bookings service that its contracts must show."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bookings import (
    API,
    CONTRACT,
    DOCUMENT,
    JSON,
    MODEL_CONTRACT,
    MODELS,
    ONE_TEST,
    SCHEMA,
    bad,
    of,
)

if TYPE_CHECKING:
    from cases import Tree


@bad("contract:openapi", of("api"), fields=CONTRACT, type="api")
def wrong_status_with_its_test_edited(tree: Tree) -> None:
    tree.replace(API, "Answer(HTTPStatus.CREATED,", "Answer(HTTPStatus.OK,")
    tree.replace(
        "tests/test_api.py", "self.assertEqual(status, 201)", "self.assertEqual(status, 200)"
    )
    tree.replace("tests/test_api.py", "self.book(document)[0], 201", "self.book(document)[0], 200")


@bad("contract:openapi", ONE_TEST, fields=CONTRACT, type="api")
def response_field_missing(tree: Tree) -> None:
    tree.replace(JSON, '        "guest": booking.guest,\n', "")


@bad("contract:openapi", ONE_TEST, fields=CONTRACT, type="api")
def response_field_missing_from_the_schema(tree: Tree) -> None:
    tree.replace(
        JSON,
        '        "guest": booking.guest,\n',
        '        "guest": booking.guest,\n        "booked_by": booking.guest,\n',
    )


@bad("contract:openapi", of("api"), fields=CONTRACT, type="api")
def undocumented_status(tree: Tree) -> None:
    tree.replace(
        API,
        "_problem(HTTPStatus.BAD_REQUEST, str(error))",
        "_problem(HTTPStatus.UNPROCESSABLE_ENTITY, str(error))",
    )
    tree.everywhere("tests/test_api.py", "(400, {", "(422, {")
    tree.replace(
        "tests/test_api.py", "self.assertEqual(status, 400)", "self.assertEqual(status, 422)"
    )


@bad("contract:openapi", of("api"), fields=CONTRACT, type="api")
def undocumented_method(tree: Tree) -> None:
    tree.replace(
        API,
        '            case _, ["bookings"]:',
        '            case "DELETE", ["bookings"]:\n'
        "                return Answer(HTTPStatus.NO_CONTENT)\n"
        '            case _, ["bookings"]:',
    )
    tree.replace(
        "tests/test_api.py",
        "    def test_a_bad_booking_is",
        "    def test_all_can_be_forgotten(self) -> None:\n"
        '        self.assertEqual(self.call("DELETE", "/bookings")[0], 204)\n\n'
        "    def test_a_bad_booking_is",
    )


@bad("contract:openapi", of("api"), fields=CONTRACT, type="api")
def undocumented_path(tree: Tree) -> None:
    tree.replace(
        API,
        '            case _, ["bookings"]:',
        '            case "GET", ["rooms"]:\n'
        "                return Answer(HTTPStatus.OK, [])\n"
        '            case _, ["bookings"]:',
    )
    tree.replace(
        "tests/test_api.py",
        'self.assertEqual(self.call("GET", "/rooms")[0], 404)',
        'self.assertEqual(self.call("GET", "/rooms")[0], 200)\n'
        '        self.assertEqual(self.call("GET", "/guests")[0], 404)',
    )


@bad("contract:openapi", ONE_TEST, fields=CONTRACT, type="api")
def removed_endpoint(tree: Tree) -> None:
    tree.cut(
        API, '            case "DELETE", ["bookings", id]:', '            case _, ["bookings"]:'
    )


@bad("contract:openapi", ONE_TEST, fields=CONTRACT, type="api")
def wrong_content_type(tree: Tree) -> None:
    tree.replace(API, '("Content-Type", "application/json")', '("Content-Type", "text/plain")')


@bad("contract:openapi", ONE_TEST, fields=CONTRACT, type="api")
def crash_on_unusual_input(tree: Tree) -> None:
    tree.replace(
        API,
        "        return Answer(HTTPStatus.OK, [to_json(booking) for booking in",
        '        assert room != ""\n'
        "        return Answer(HTTPStatus.OK, [to_json(booking) for booking in",
    )


@bad("contract:openapi", of("json_form"), outputs=("contracts/openapi.json",), fields=CONTRACT)
def invalid_document(tree: Tree) -> None:
    tree.replace(DOCUMENT, '{"name": "room", "in": "query"', '{"name": "room", "in": "question"')


@bad("contract:openapi|regression:TASK-007", of("json_form"), outputs=("contracts/**",))
def narrowed_type_in_the_document(tree: Tree) -> None:
    tree.everywhere(
        DOCUMENT,
        '"start": {"type": "string", "format": "date-time"}',
        '"start": {"type": "integer"}',
    )


@bad("regression:TASK-00[27]|contract", of("json_form"), outputs=("contracts/**",))
def narrowed_length_in_the_schema(tree: Tree) -> None:
    tree.replace(
        SCHEMA,
        '"room": {"type": "string", "pattern": "\\\\S", "maxLength": 100}',
        '"room": {"type": "string", "pattern": "\\\\S", "maxLength": 50}',
    )


@bad("contract:schema", of("models"), fields=MODEL_CONTRACT, type="data")
def model_field_without_schema(tree: Tree) -> None:
    tree.replace(MODELS, "    end: datetime\n\n", '    end: datetime\n    note: str = ""\n\n')
    tree.cut("tests/test_models.py", "class SchemaTest", "    def test_the_schema_has")
    tree.append("tests/test_models.py", "\n")


@bad("contract:schema", of("models"), fields=MODEL_CONTRACT, type="data", outputs=("contracts/**",))
def required_field_dropped_from_schema(tree: Tree) -> None:
    tree.replace(SCHEMA, '"required": ["id", "room", "guest",', '"required": ["id", "room",')
