"""Contracts with their code and the exact verdict; the API task of examples/bookings.

The documents of Zod are those that zod 4.1 writes; the stand-in only hands them over.
"""

import json
import shutil
from pathlib import Path

import pytest

from runner.model import BlockKind, Verdict
from runner.plan.document import read_plan

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="no node on this machine")

ROOM = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 9},
        "seats": {"type": "integer", "minimum": 1},
        "floor": {"type": "integer"},
    },
    "required": ["name", "seats", "floor"],
}
PYDANTIC = """\
from pydantic import BaseModel, Field
class Room(BaseModel):
    name: str = Field(max_length=9)
    seats: int = Field(ge=1)
    floor: int
"""
SAFE = 2**53 - 1
ZOD_ROOM = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 9},
        "seats": {"type": "integer", "minimum": 1, "maximum": SAFE},
        "floor": {"type": "integer", "minimum": -SAFE, "maximum": SAFE},
    },
    "required": ["name", "seats", "floor"],
    "additionalProperties": False,
}
ZOD = "exports.toJSONSchema = (schema, { io }) => ({ ...schema.json, title: io });\n"
TYPESCRIPT = """\
exports.transpileModule = (text) => ({
  outputText: text.replace(/ as unknown/g, "").replace(/export const (\\w+) =/g, "exports.$1 ="),
});
"""


@pytest.mark.parametrize(
    ("old", "new", "messages"),
    [
        ("", "", []),
        ("max_length=9", "max_length=8", ["maxLength 9 in the contract, 8 in the model"]),
        (
            "seats: int = Field(ge=1)",
            "seats: int",
            ["minimum 1 in the contract, none in the model"],
        ),
        ("    floor: int\n", "", ["is missing in the model"]),
        ("floor: int", "floor: str", ["type integer in the contract, string in the model"]),
        ("floor: int", "floor: int = 0", ["required in the contract, optional in the model"]),
    ],
)
def test_a_pydantic_model(project, old, new, messages):
    project.write("room.json", json.dumps(ROOM)).write("rooms.py", PYDANTIC.replace(old, new))
    proved = project.prove("schema", "room.json = rooms:Room")
    assert [one.message.split(" ", 2)[2] for one in proved.findings] == messages
    assert proved.proof.verdict is (Verdict.FAIL if messages else Verdict.PASS)
    assert all(one.hint == "make room.json and rooms:Room equal" for one in proved.findings)


@needs_node
@pytest.mark.parametrize("file", ["room.mjs", "room.ts"])
@pytest.mark.parametrize(
    ("field", "change", "messages"),
    [
        # Zod bounds each integer by what JavaScript can hold: that is no difference.
        ("floor", {}, []),
        ("seats", {"maximum": 90}, ["field seats: maximum none in the contract, 90 in the model"]),
        ("floor", {"minimum": 0}, ["field floor: minimum none in the contract, 0 in the model"]),
        ("name", {"maxLength": 8}, ["field name: maxLength 9 in the contract, 8 in the model"]),
    ],
)
def test_a_zod_schema(project, file, field, change, messages):
    model = json.loads(json.dumps(ZOD_ROOM))
    model["properties"][field] |= change
    kept = " as unknown" if file.endswith(".ts") else ""
    project.write("node_modules/zod/index.js", ZOD)
    project.write("node_modules/typescript/index.js", TYPESCRIPT)
    project.write("room.json", json.dumps({**ROOM, "additionalProperties": False}))
    project.write(file, f"export const Room = {{ _zod: 1, json: {json.dumps(model)} }}{kept};\n")
    proved = project.prove("schema", f"room.json = {file}:Room")
    assert [one.message for one in proved.findings] == messages
    assert proved.proof.verdict is (Verdict.FAIL if messages else Verdict.PASS)


FASTAPI = """\
from fastapi import FastAPI
from pydantic import BaseModel
app = FastAPI()
class Room(BaseModel):
    name: str
@app.get("/rooms", response_model=list[Room])
def rooms():
    return [Room(name="red")]
"""


@pytest.mark.nightly(
    sibling="tests/contracts/test_contracts_openapi.py::test_differences_are_named_with_the_request_that_shows_them"
)
@pytest.mark.parametrize(
    ("old", "new", "messages"),
    [
        ("", "", []),
        (
            'name="red")]',
            'name="red")][0:0] or 1 / 0',
            ["GET /rooms answers 500: the application failed"],
        ),
        (
            'response_model=list[Room])\ndef rooms():\n    return [Room(name="red")]',
            "response_model=None)\ndef rooms():\n    return [{}]",
            [
                (
                    "GET /rooms answers with a body that differs from the document: "
                    '"name" is a required property (at 0)'
                )
            ],
        ),
        (
            '@app.get("/rooms"',
            '@app.get("/more")\ndef more():\n    return 1\n@app.get("/rooms"',
            ["GET /more is served, but is not in the document"],
        ),
        (
            '@app.get("/rooms"',
            '@app.get("/halls"',
            [
                "GET /halls is served, but is not in the document",
                "GET /rooms answers 404; documented: 200",
                "GET /rooms has no route in the application",
            ],
        ),
    ],
)
def test_a_fastapi_application(project, old, new, messages):
    fastapi = pytest.importorskip("fastapi")
    space = {}
    exec(FASTAPI, space)
    assert isinstance(space["app"], fastapi.FastAPI)
    project.write("api.json", json.dumps(space["app"].openapi()))
    project.write("web.py", FASTAPI.replace(old, new))
    proved = project.prove("openapi", "api.json app=web:app")
    assert sorted(one.message for one in proved.findings if one.refuses) == messages
    assert proved.proof.verdict is (Verdict.FAIL if messages else Verdict.PASS)


PLAN = Path(__file__).parents[2] / "examples" / "bookings" / "TASK-GRAPH.md"
GOOD_STATUS = "return _problem(HTTPStatus.BAD_REQUEST, str(error))"
GOOD_BODY = "return Answer(HTTPStatus.CREATED, to_json(booking), (location,))"


@pytest.fixture
def bookings(project):
    project.tasks = {task.id: task for task in read_plan(PLAN.read_bytes(), PLAN.name).tasks}
    for task in project.tasks.values():
        for block in task.blocks:
            if block.kind is BlockKind.FILE:
                project.write(block.path, block.text)
    return project


def contract_of(project, task):
    (contract,) = project.tasks[task].contracts
    return contract.kind, contract.value


def change(project, path, old, new):
    text = (project.tree / path).read_text()
    assert old in text
    project.write(path, text.replace(old, new))


def test_the_api_conforms_as_it_is(bookings):
    proved = bookings.prove(*contract_of(bookings, "TASK-008"))
    assert proved.findings == ()
    assert proved.proof.verdict is Verdict.PASS
    assert dict(proved.proof.counts)["operations"] == 4


def test_the_api_is_told_of_a_lost_field_and_a_new_status_code_and_passes_when_mended(bookings):
    entry = contract_of(bookings, "TASK-008")
    lossy = GOOD_BODY.replace(
        "to_json(booking)", '{k: v for k, v in to_json(booking).items() if k != "end"}'
    )
    change(bookings, "booking/api.py", GOOD_BODY, lossy)
    change(bookings, "booking/api.py", GOOD_STATUS, GOOD_STATUS.replace("BAD_REQUEST", "GONE"))

    proved = bookings.prove(*entry)

    assert proved.proof.verdict is Verdict.FAIL
    assert [finding.message for finding in proved.findings] == [
        (
            "POST /bookings answers with a body that differs from the document: "
            '"end" is a required property'
        ),
        "POST /bookings answers 410; documented: 201, 400, 409",
    ]
    for finding in proved.findings:
        assert finding.refuses
        assert finding.path == "contracts/openapi.json"
        assert "curl -X POST" in finding.detail
        assert "http://127.0.0.1:8000/bookings" in finding.detail

    change(bookings, "booking/api.py", lossy, GOOD_BODY)
    change(bookings, "booking/api.py", "HTTPStatus.GONE", "HTTPStatus.BAD_REQUEST")
    assert bookings.said(*entry) == []


def test_an_operation_that_is_not_served_is_missed(bookings):
    change(bookings, "booking/api.py", 'case "DELETE", ["bookings", id]', 'case "DROP", [id]')
    assert bookings.said(*contract_of(bookings, "TASK-008")) == [
        "DELETE /bookings/{id} answers 405; documented: 204, 404",
        "DELETE /bookings/{id} answers 405 to every request",
    ]


@pytest.mark.parametrize("task", ["TASK-002", "TASK-005"])
def test_the_model_is_as_its_schema_says(bookings, task):
    assert bookings.said(*contract_of(bookings, task)) == []


def test_a_model_that_loses_a_field_or_changes_its_type_is_told(bookings):
    change(bookings, "booking/models.py", "    guest: str\n", "")
    change(bookings, "booking/models.py", "    id: str\n", "    id: int\n")
    assert bookings.said(*contract_of(bookings, "TASK-002")) == [
        "field id: type string in the contract, integer in the model",
        "field guest is missing in the model",
    ]
