"""What `/api/v1` offers, as an OpenAPI 3.1 document made from the table of operations."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runner import __version__
from runner.operations.json_schema import choose_fields, describe_field, describe_input
from runner.operations.table import TABLE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from runner.operations.row import Api, Field, Operation

_TEXT: dict[str, object] = {"type": "string"}
_RESULT: dict[str, object] = {
    "type": "object",
    "required": ["text", "next", "tone"],
    "properties": {"text": _TEXT, "next": _TEXT, "tone": _TEXT},
}
_FAILED: dict[str, object] = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["message", "hint"],
            "properties": {"message": _TEXT, "hint": {"type": ["string", "null"]}},
        }
    },
}
_DOCUMENT: dict[str, object] = {
    "type": "object",
    "required": ["schemaVersion", "kind"],
    "properties": {"schemaVersion": {"type": "integer"}, "kind": _TEXT},
}
_OF_WRITES = ("409", "413", "415")
"""A conflict, a body that is too long, a body that is no JSON."""


def openapi_document(
    rows: Iterable[Operation] = TABLE.values(), cookie: str = "runner-INSTANCE"
) -> dict[str, object]:
    """Return the document of these operations' routes."""
    paths: dict[str, dict[str, object]] = {}
    for row in rows:
        for api in row.api:
            method, _, path = api.route.partition(" ")
            paths.setdefault(path, {})[method.lower()] = _describe(row, api, path, method)
    return {
        "openapi": "3.1.0",
        "info": {"title": "runner", "version": __version__},
        "servers": [{"url": "/api/v1"}],
        "security": [{"session": [], "secret": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "session": {"type": "apiKey", "in": "cookie", "name": cookie},
                "secret": {"type": "apiKey", "in": "header", "name": "X-Runner-Secret"},
            },
            "schemas": {"Said": _RESULT, "Failed": _FAILED},
        },
    }


def _describe(row: Operation, api: Api, path: str, method: str) -> dict[str, object]:
    """Return one way of a path."""
    fields = choose_fields(row, api.fields)
    places: list[object] = [
        {"name": name, "in": "path", "required": True, "schema": _TEXT}
        for name in re.findall(r"{(\w+)}", path)
    ]
    known: dict[str, object] = {"operationId": api.name, "summary": api.summary or row.summary}
    if method == "GET":
        answers = _answers("the document", _DOCUMENT)
        return {**known, "parameters": [*places, *_query(fields)], "responses": answers}
    schema: dict[str, object] = {"$ref": "#/components/schemas/Said"}
    body = {"required": True, "content": _json(describe_input(fields))}
    answers = _answers("the result", schema, *_OF_WRITES)
    return {**known, "parameters": places, "requestBody": body, "responses": answers}


def _query(fields: Mapping[str, Field]) -> list[object]:
    return [
        {"name": name, "in": "query", "schema": describe_field(one)} for name, one in fields.items()
    ]


def _answers(description: str, schema: dict[str, object], *more: str) -> dict[str, object]:
    failed: dict[str, object] = {"$ref": "#/components/schemas/Failed"}
    codes = sorted(("400", "401", "403", "404", "429", "503", *more))
    failures = {code: {"description": "the error", "content": _json(failed)} for code in codes}
    return {"200": {"description": description, "content": _json(schema)}, **failures}


def _json(schema: dict[str, object]) -> dict[str, object]:
    return {"application/json": {"schema": schema}}
