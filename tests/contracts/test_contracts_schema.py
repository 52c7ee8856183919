"""A JSON Schema is held against a type, against instances, or against a Zod schema."""

import json
import shutil

import pytest

from runner.model import Verdict

SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 9},
        "size": {"type": ["integer", "null"]},
        "tags": {"type": "array", "items": {"enum": ["a", "b"]}},
        "next": {"anyOf": [{"$ref": "#"}, {"type": "null"}]},
    },
    "required": ["name", "tags"],
}
DATACLASS = """\
from __future__ import annotations
from dataclasses import dataclass, field
from typing import Literal
@dataclass
class Thing:
    name: str
    tags: list[Literal["a", "b"]]
    size: int | None = None
    next: Thing | None = None
"""
TYPED_DICT = """\
from typing import Literal, NotRequired, Optional, TypedDict
class Thing(TypedDict):
    name: str
    tags: list[Literal["a", "b"]]
    size: NotRequired[Optional[int]]
    next: NotRequired["Optional[Thing]"]
"""
PYDANTIC = """\
from __future__ import annotations
from typing import Literal
from pydantic import BaseModel, Field
class Thing(BaseModel):
    name: str = Field(max_length=9)
    tags: list[Literal["a", "b"]]
    size: int | None = None
    next: Thing | None = None
"""
NO_PYDANTIC = "import sys; sys.modules['pydantic'] = None\n"
CONTRACT = "thing.json = things:Thing"


@pytest.fixture
def things(project):
    return project.write("thing.json", json.dumps(SCHEMA))


@pytest.mark.parametrize("source", [DATACLASS, TYPED_DICT, PYDANTIC])
def test_a_type_may_be_written_in_three_ways(things, source):
    proved = things.write("things.py", source).prove("schema", CONTRACT)
    assert proved.findings == ()
    assert (proved.proof.id, proved.proof.verdict) == ("contract:schema", Verdict.PASS)


@pytest.mark.parametrize("source", [DATACLASS, TYPED_DICT])
def test_without_pydantic_annotations_are_read(things, source):
    future = "from __future__ import annotations\n"
    start, rest = (
        (future, source.removeprefix(future)) if source.startswith(future) else ("", source)
    )
    assert things.write("src/things.py", start + NO_PYDANTIC + rest).said("schema", CONTRACT) == []


def test_every_difference_is_named(things):
    source = DATACLASS.replace("    name: str\n", "    name: int\n    extra: bool\n")
    source = source.replace('"b"', '"c"').replace("list[", "set[")
    assert things.write("things.py", source).said("schema", CONTRACT) == [
        "field name: type string in the contract, integer in the model",
        "field tags: uniqueItems none in the contract, True in the model",
        'field tags[]: values "a", "b" in the contract, "a", "c" in the model',
        "field extra is missing in the contract",
    ]


def test_a_pydantic_model_has_words_for_bounds_and_must_use_them(things):
    source = PYDANTIC.replace(" = Field(max_length=9)", "")
    assert things.write("things.py", source).said("schema", CONTRACT) == [
        "field name: maxLength 9 in the contract, none in the model"
    ]


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("import sys; sys.exit(0)", "it called sys.exit(0)"),
        ("x = 1", "AttributeError: module 'things' has no attribute 'Thing'"),
        (
            "class Thing: pass",
            "TypeError: things:Thing is not a pydantic model, dataclass or TypedDict",
        ),
        ("import nothing_here", "ModuleNotFoundError: No module named 'nothing_here'"),
    ],
)
def test_a_type_that_cannot_be_had_is_told(things, source, why):
    proved = things.write("things.py", source).prove("schema", CONTRACT)
    (finding,) = proved.findings
    assert finding.message == f"thing.json cannot be compared: things:Thing: {why}"
    assert "describe.py" not in finding.detail
    assert "importlib" not in finding.detail
    printed = "things.py" in finding.detail
    hint = (
        "read the output of the import"
        if printed
        else "give the import path of a type: MODULE:TYPE"
    )
    assert (printed, finding.hint) == (source.startswith("import"), hint)
    assert proved.proof.verdict is Verdict.FAIL


def test_a_module_that_ends_the_process_proves_nothing(things):
    proved = things.write("things.py", "import os; os._exit(0)").prove("schema", CONTRACT)
    assert proved.proof.verdict is Verdict.FAIL
    assert "left no report" in proved.findings[0].message


def test_without_any_python_the_type_cannot_be_said(things, tmp_path):
    things.on(environment={**things.context.environment, "PATH": str(tmp_path)})
    (message,) = things.write("things.py", DATACLASS).said("schema", CONTRACT)
    assert message == "no Python found to run the project's code"


# --- instances ------------------------------------------------------------------------


def test_instances_are_validated_all_of_a_glob(things):
    things.write("data/a.json", '{"name": "x", "tags": []}')
    things.write("data/b.json", '{"name": "much too long", "tags": ["c"]}')
    things.write("data/deep/c.json", "no JSON, and not meant")
    proved = things.prove("schema", "thing.json = data/*.json")
    assert [(one.message, one.path) for one in proved.findings] == [
        (
            "the instance does not match thing.json: 'much too long' is too long (at $.name)",
            "data/b.json",
        ),
        (
            "the instance does not match thing.json: 'c' is not one of ['a', 'b'] (at $.tags[0])",
            "data/b.json",
        ),
    ]
    assert proved.proof.verdict is Verdict.FAIL
    assert proved.proof.counts == (("instances", 2),)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("thing.json = data/*.json", "data/*.json matches no file"),
        ("thing.json = one.json", "the file does not exist"),
        ("thing.json = bad.json", "the file is not JSON: Expecting value"),
        ("none.json = bad.json", "the file does not exist"),
        ("../x.json = bad.json", "'../x.json' is not a path inside the repository"),
        ("thing.json = /etc/passwd", "'/etc/passwd' is not a path inside the repository"),
        ("out.json = bad.json", "the file is outside the repository"),
    ],
)
def test_what_is_not_there_or_not_ours_is_told(things, tmp_path, value, message):
    things.write("bad.json", "nonsense")
    (tmp_path / "secret.json").write_text("{}")
    (things.tree / "out.json").symlink_to(tmp_path / "secret.json")
    proved = things.prove("schema", value)
    assert [finding.message for finding in proved.findings] == [message]
    assert proved.proof.verdict is Verdict.FAIL


def test_a_pattern_that_takes_for_ever_is_ended(project):
    project.write("thing.json", '{"pattern": "^(a+)+$"}')
    project.write("one.json", json.dumps("a" * 40 + "!"))
    (message,) = project.said("schema", "thing.json = one.json", timeout=2)
    assert "ran longer than 2 s" in message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '{"type": 7}',
            (
                "the file is not a valid JSON Schema: 7 is not valid under any of the given "
                "schemas (at $.type)"
            ),
        ),
        ("[]", "the file is not a JSON Schema: a schema is an object or a boolean"),
    ],
)
def test_a_schema_must_be_one(project, text, message):
    project.write("thing.json", text)
    assert project.said("schema", "thing.json") == [message]


def test_a_schema_may_stand_alone(things):
    assert things.prove("schema", "thing.json").proof.verdict is Verdict.PASS


# --- Zod ------------------------------------------------------------------------------

ZOD_STAND_IN = """\
exports.toJSONSchema = (schema, { io }) => ({ ...schema.json, title: io });
"""
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="no node on this machine")


@needs_node
@pytest.mark.parametrize(
    ("length", "said"),
    [(9, []), (8, ["field name: maxLength 9 in the contract, 8 in the model"])],
)
def test_a_zod_schema_is_said_by_the_projects_own_zod(things, length, said):
    # A stand-in for zod: the real one is not on every machine that runs these tests.
    model = json.loads(json.dumps(SCHEMA).replace('"maxLength": 9', f'"maxLength": {length}'))
    things.write("node_modules/zod/index.js", ZOD_STAND_IN)
    things.write("thing.mjs", f"export const Thing = {{ _zod: 1, json: {json.dumps(model)} }};")
    assert things.said("schema", "thing.json = thing.mjs:Thing") == said


@needs_node
@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("export const Other = 1;", "thing.mjs exports no Thing"),
        ("export const Thing = {};", "the project has no zod: npm install zod"),
        ("throw new Error('broken')", "broken"),
    ],
)
def test_a_zod_schema_that_cannot_be_had_is_told(things, source, why):
    things.write("thing.mjs", source)
    (finding,) = things.prove("schema", "thing.json = thing.mjs:Thing").findings
    assert finding.message == f"thing.json cannot be compared: thing.mjs:Thing: {why}"
    assert "zod.mjs" not in finding.detail
    assert ("thing.mjs:1" in finding.detail) == ("throw" in source)


def test_zod_without_node_is_a_missing_tool(things, tmp_path):
    things.on(environment={**things.context.environment, "PATH": str(tmp_path)})
    (finding,) = things.prove("schema", "thing.json = src/thing.ts:Thing").findings
    assert finding.message == "tool missing: node, which runs Zod"


def test_an_instance_of_a_schema_that_is_only_itself_is_told(things):
    things.write("loop.json", '{"$ref": "#"}').write("data/a.json", "{}")
    assert things.said("schema", "loop.json = data/*.json")[0].endswith(
        "the references of the schema form an endless loop (at $)"
    )
