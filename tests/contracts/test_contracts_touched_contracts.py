"""Which contracts a change touches, what it breaks, and what keeps contracts from being checked."""

import json

from gates_bench import a_task

from runner.config.settings import Settings
from runner.contracts import entries
from runner.contracts.touched_contracts import Held
from runner.gates.contract_checks import checks
from runner.model import Action, Change, Contract, Network, Severity, Verdict


def a_change(path, content=b"x"):
    return Change(path, Action.MODIFY, 0o100644, "sha256:a", "sha256:b", content)


API = Contract("openapi", "contracts/api.yaml app=booking.api:app")
MODEL = Contract("schema", "contracts/booking.json = booking.models:Booking")
DATA = Contract("schema", "contracts/booking.json = data/**/*.json")
OWN = Contract("command", "make contracts")
WRONG = Contract("openapi", "nothing that can be read")


def touched(path):
    held = Held([a_task(contracts=(API, MODEL, DATA, OWN, WRONG))])
    return [(one.name, one.is_document) for one in held.of(path)]


def test_a_contract_is_touched_with_its_document_its_module_and_its_instances():
    assert touched("contracts/api.yaml") == [("contract:openapi", True)]
    assert touched("booking/api.py") == [("contract:openapi", False)]
    assert touched("src/booking/api/__init__.py") == [("contract:openapi", False)]
    both = [("contract:schema", True), ("contract:schema-2", True)]
    assert touched("contracts/booking.json") == both
    assert touched("booking/models.py") == [("contract:schema", False)]
    assert touched("data/a/b.json") == [("contract:schema-2", False)]
    assert touched("booking/other.py") == touched("README.md") == []


def test_each_contract_is_a_check_with_a_name_of_its_own():
    task = a_task(contracts=(API, MODEL, OWN, DATA))
    assert [(one.id, one.command, one.network) for one in checks(task, Settings())] == [
        ("contract:openapi", f"openapi: {API.value}", Network.LOOPBACK),
        ("contract:schema", f"schema: {MODEL.value}", Network.NO),
        ("contract:command-1", "make contracts", Network.NO),
        ("contract:schema-2", f"schema: {DATA.value}", Network.NO),
    ]


def test_a_breaking_change_is_a_warning_beside_the_proof(project):
    before = {"type": "object", "properties": {"a": {"type": "string"}, "b": {}}}
    after = json.dumps({"type": "object", "properties": {"a": {"type": "integer"}}})
    project.write("thing.json", after).on(
        before={"thing.json": json.dumps(before).encode()}.get,
        changes=(a_change("thing.json", after.encode()),),
    )
    proved = project.prove("schema", "thing.json")
    assert proved.proof.verdict is Verdict.PASS
    assert [(one.severity, one.message) for one in proved.findings] == [
        (Severity.WARNING, "breaking change of thing.json: a: type string became integer"),
        (Severity.WARNING, "breaking change of thing.json: b: field was removed"),
    ]


def test_an_entry_that_cannot_be_read_is_not_proven(project):
    proved = project.prove("openapi", "api.yaml")
    assert proved.proof.verdict is Verdict.FAIL
    assert proved.proof.note == "the contract check did not run"
    assert proved.findings[0].message == "an openapi contract needs either app= or url="


def test_a_command_is_run_as_it_is(project):
    assert project.prove("command", "echo fine").proof.verdict is Verdict.PASS
    assert project.prove("command", "exit 3").proof.verdict is Verdict.FAIL


def test_missing_tools_are_known_before_anything_runs(monkeypatch, tmp_path):
    zod = Contract("schema", "a.json = src/a.ts:A")
    task = a_task(contracts=(API, zod, WRONG))
    monkeypatch.setattr(entries, "_PACKAGES", {"openapi": ("a_package_nobody_has",)})
    assert entries.find_missing_tools(task, {"PATH": str(tmp_path)}) == (
        (
            "a-package-nobody-has, required by its openapi contract: "
            "pip install 'task-graph-runner[contracts]'"
        ),
        "node, required by its Zod contract, is not on PATH",
    )
    assert entries.find_missing_tools(a_task(contracts=(MODEL, OWN)), {}) == ()
