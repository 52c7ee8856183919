"""What a person asked of contracts: each row is a contract, its code, and the exact verdict.

The documents of Zod are those that zod 4.1 writes; the stand-in only hands them over.
"""

import json
import shutil

import pytest

from runner.model import Verdict

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
