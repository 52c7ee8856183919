"""What a person looks at first is what could do harm: told by signs, never by chance."""

from runner.app.answer.waiting import Waiting, assess, find_contract_documents, in_order
from runner.journal.state import RunState
from runner.model import Action, Change

CONTRACTS = ("contracts/api.yaml", "data/*.json")


def writes(task, *paths):
    changes = tuple(Change(path, Action.MODIFY, 0o100644, None, None, b"x") for path in paths)
    return Waiting(task, "", "writes", "", changes)


def test_a_change_of_a_contract_s_document_is_told_and_comes_before_a_regression():
    state = RunState()
    for path in ("contracts/api.yaml", "data/one.json"):
        assert "changes a contract" in assess(state, writes("T-1", path), CONTRACTS).signs
    assert "changes a contract" not in assess(state, writes("T-1", "src/api.yaml"), CONTRACTS).signs
    assert "changes a contract" not in assess(state, writes("T-1", "contracts/api.yaml")).signs


def test_what_nothing_proved_is_unproven_and_comes_first():
    state = RunState()
    known = [
        Waiting("T-1", "", "draft", ""),
        Waiting("T-2", "", "stale", ""),
        Waiting("T-3", "", "regression", ""),
        Waiting("T-4", "", "plan", ""),
        writes("T-5", "a.py"),
        Waiting("T-6", "", "permission", ""),
        Waiting("T-7", "", "blocked", ""),
    ]
    ordered = in_order(state, known, CONTRACTS)
    assert [one.task for one, _ in ordered] == ["T-5", "T-3", "T-6", "T-4", "T-2", "T-7", "T-1"]
    assert ordered[0][1].signs == ("writes", "unproven")
    assert ordered[0][1].tone == "bad"


def test_documents_of_all_contracts_of_a_plan_are_known(workplace):
    from runner.project import Project

    workplace.plan(
        "## TASK-001: Api\n- Status: PENDING\n- Output files: `a.py`\n- Contracts:\n"
        "  - openapi: `contracts/api.yaml` app=`a:app`\n"
        "  - schema: `contracts/order.json` = `data/*.json`\n"
    )
    project = Project.open(workplace.root, {})
    assert find_contract_documents(project) == (
        "contracts/api.yaml",
        "contracts/order.json",
        "data/*.json",
    )
