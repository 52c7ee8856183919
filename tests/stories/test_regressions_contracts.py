"""A change of what lies under another task's contract: it runs before the change lands."""

import json

from workplace import a_task

SCHEMA = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}
STRICTER = {**SCHEMA, "required": ["id", "name"]}
WIDER = {**SCHEMA, "properties": {**SCHEMA["properties"], "note": {"type": "string"}}}


def first(schema=SCHEMA, data='{"id": 1}'):
    return (
        a_task("TASK-001", "Schema", blocks={"thing.json": json.dumps(schema)}),
        a_task(
            "TASK-002",
            "Data",
            needs=["TASK-001"],
            blocks={"data/a.json": data},
            fields=["Contracts:\n  - schema: `thing.json` = `data/*.json`"],
        ),
    )


def changes(**files):
    named = {
        path.replace("__", "/").replace("_json", ".json"): text for path, text in files.items()
    }
    return a_task("TASK-003", "Change", needs=["TASK-001"], blocks=named)


def begun(workplace, last, tasks=None):
    tasks = tasks or first()
    workplace.plan(*tasks)
    assert workplace.run("--no-sandbox").code == 0
    workplace.plan(*(task.replace("PENDING", "DONE") for task in tasks), last)
    return workplace.run("--no-sandbox")


HALTED = {"TASK-001": "DONE", "TASK-002": "STALE", "TASK-003": "BLOCKED"}


def assert_held(workplace, ended, place):
    assert ended.code == 4, ended.said
    assert workplace.statuses == HALTED
    noted = f"TASK-003 changed {place}; contract:schema fails"
    assert noted in workplace.status_line("TASK-002")
    (finding, *_) = workplace.happened("attempt.finished", "TASK-003")[-1]["findings"]
    assert finding["check"] == "regression:TASK-002/contract:schema"
    assert finding["message"].startswith("this change breaks TASK-002's contract:schema: ")


def test_a_stricter_schema_is_held_and_lands_with_data_that_fits(workplace):
    ended = begun(workplace, changes(thing_json=json.dumps(STRICTER)))
    assert_held(workplace, ended, "thing.json:1")
    assert workplace.runner("approve", "TASK-002").code == 0
    workplace.edit_plan('{"id": 1}', '{"id": 1, "name": "a"}')
    ended = workplace.run("--no-sandbox")
    assert ended.code == 0, ended.said
    assert set(workplace.statuses.values()) == {"DONE"}
    assert workplace.landings == ["TASK-001", "TASK-002", "TASK-003", "TASK-002"]


def test_data_that_breaks_a_contract_is_held_and_a_no_leaves_the_contract_as_it_was(workplace):
    ended = begun(workplace, changes(data__b_json='{"id": "one"}'))
    assert_held(workplace, ended, "data/b.json")
    assert workplace.runner("reject", "TASK-003", "--reason", "keep it").code == 0
    assert workplace.statuses == {"TASK-001": "DONE", "TASK-002": "DONE", "TASK-003": "PENDING"}
    assert json.loads(workplace.read("thing.json")) == SCHEMA
    assert not workplace.has("data/b.json")


def test_an_additive_change_and_data_that_fits_land_with_the_proof_of_it(workplace):
    data = changes(data__b_json='{"id": 2}').replace("TASK-003", "TASK-004")
    ended = begun(workplace, changes(thing_json=json.dumps(WIDER)) + "\n" + data)
    assert ended.code == 0, ended.said
    for task in ("TASK-003", "TASK-004"):
        started = {one["gate"] for one in workplace.happened("gate.started", task)}
        assert started == {"regression:TASK-002/contract:schema"}, task
        (done,) = workplace.happened("task.done", task)
        assert [(one["kind"], one["verdict"]) for one in done["proofs"]] == [("regression", "pass")]


def test_a_contract_that_did_not_hold_before_is_not_the_changes_fault(workplace):
    tasks = first()
    workplace.plan(*tasks)
    assert workplace.run("--no-sandbox").code == 0
    workplace.commit({"data/hand.json": "{}"}, "by hand")
    done = (task.replace("PENDING", "DONE") for task in tasks)
    workplace.plan(*done, changes(data__b_json='{"id": 2}'))
    ended = workplace.run("--no-sandbox", "--no-verify-at-end")
    assert ended.code == 0, ended.said
    (done,) = workplace.happened("task.done", "TASK-003")
    assert [one["verdict"] for one in done["proofs"]] == ["known"]


def test_code_beneath_the_type_of_a_contract_is_traced_through_its_imports(workplace):
    models = (
        "from dataclasses import dataclass\n\nfrom base import Id\n\n\n"
        "@dataclass\nclass Thing:\n    id: Id\n"
    )
    tasks = (
        a_task("TASK-001", "Base", blocks={"base.py": "Id = int\n"}),
        a_task(
            "TASK-002",
            "Model",
            needs=["TASK-001"],
            blocks={"models.py": models, "thing.json": json.dumps(SCHEMA)},
            fields=["Contracts:\n  - schema: `thing.json` = `models:Thing`"],
        ),
    )
    last = a_task("TASK-003", "Change", needs=["TASK-001"], blocks={"base.py": "Id = str\n"})
    ended = begun(workplace, last, tasks)
    assert ended.code == 4, ended.said
    assert workplace.statuses == HALTED
    assert "TASK-003 changed base.py:1; contract:schema fails" in ended.said
