"""The API task of examples/bookings: what its contract says of a broken application."""

from pathlib import Path

import pytest

from runner.model import BlockKind, Verdict
from runner.plan.document import read_plan

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
