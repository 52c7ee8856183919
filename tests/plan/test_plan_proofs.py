"""A plan says what has no proof, what has no contracts, and what only waits for others."""

import pytest

from runner.plan.cache import load_plan
from runner.plan.document import read_plan

NAME = "TASK-GRAPH.md"


def a_task(*fields, title="Notes"):
    lines = "".join(f"- {field}\n" for field in fields)
    return f"# Plan\n\n## TASK-001: {title}\n\n{lines}\nProse.\n".encode()


def the_task(*fields):
    plan = read_plan(a_task(*fields), NAME)
    assert not [problem for problem in plan.problems if problem.severity == "error"]
    return plan.tasks[0]


@pytest.mark.parametrize(
    "written",
    [
        "Proof: none — a person reads it",
        "Proof: None - a person reads it",
        "**Proof:** none: a person reads it",
        "proof: none;  a person   reads it",
    ],
)
def test_the_reason_for_no_proof_is_read(written):
    assert the_task("Output files: `a.txt`", written).no_proof == "a person reads it"


@pytest.mark.parametrize("written", ["Proof: none", "Proof:", "Proof: —"])
def test_no_proof_without_a_reason_is_a_mistake(written):
    (problem,) = read_plan(a_task(written), NAME).problems
    assert problem.message == "Proof: none has no reason"
    assert problem.hint == "add why nothing can prove it: Proof: none — reason"


def test_a_command_under_proof_is_told_where_it_belongs():
    (problem,) = read_plan(a_task("Proof: `pytest -q`"), NAME).problems
    assert problem.severity == "error"
    assert problem.message == 'bad Proof "pytest -q"'
    assert "Test contracts" in problem.hint


def test_the_reason_for_no_contracts_is_read():
    task = the_task("Type: api", "Contracts: none — internal only")
    assert task.no_contracts == "internal only"
    assert task.contracts == ()


def test_contracts_that_are_there_need_no_reason():
    task = the_task("Contracts: schema: `a.schema.json`")
    assert task.no_contracts == ""
    assert [one.kind for one in task.contracts] == ["schema"]
    assert the_task("Contracts: none").no_contracts == ""


def test_what_is_said_of_the_proof_is_part_of_its_digest_alone():
    plain = the_task("Output files: `a.txt`")
    said = the_task("Output files: `a.txt`", "Proof: none — a person reads it")
    other = the_task("Output files: `a.txt`", "Contracts: none — a person reads it")
    assert plain.spec.what == said.spec.what == other.spec.what
    assert len({plain.spec.proof, said.spec.proof, other.spec.proof}) == 3


def test_what_was_proven_before_there_was_such_a_field_keeps_its_digest():
    assert the_task("Output files: `a.txt`").spec.proof == (
        "sha256:5e04998b7a20007f2187db6a329e5c098360b694eaa3b2a96839c7cfc7cbe5dc"
    )


def test_a_second_reading_from_the_cache_equals_the_first(tmp_path):
    data = a_task("Type: api", "Proof: none — words", "Contracts: none — internal only")
    first = load_plan(data, NAME, tmp_path)
    again = load_plan(data, NAME, tmp_path)
    assert first == again == read_plan(data, NAME)
    assert again.tasks[0].no_proof == "words"
    assert again.tasks[0].no_contracts == "internal only"


def test_prose_alone_is_a_wish():
    assert the_task("Status: PENDING").has_nothing_to_build
    assert the_task(
        "Acceptance: it is pretty", "Type: ui", "Implementer: check"
    ).has_nothing_to_build


@pytest.mark.parametrize(
    "field",
    [
        "Output files: `a.txt`",
        "Test contracts: TC-001 (unit): `true`",
        "Contracts: command: `true`",
        "Gates: check: `true`",
        "Command: `true`",
        "Implementer: claude",
    ],
)
def test_what_can_be_done_or_checked_is_no_wish(field):
    assert not the_task(field).has_nothing_to_build


def test_a_milestone_only_waits_for_others():
    text = b"## TASK-001: One\n\n- Command: `true`\n\n## TASK-002: All\n\n- Type: milestone\n"
    milestone = read_plan(text + b"- Depends on: TASK-001\n", NAME).tasks[1]
    assert milestone.is_milestone
    assert not milestone.has_nothing_to_build
    alone = read_plan(text, NAME).tasks[1]
    assert alone.has_nothing_to_build
    assert not alone.is_milestone


PLAN = """\
## TASK-001: Known bug

- Output files: `a.py`
- Test contracts:
  - TC-001 (integration, fails): `pytest tests/bug.py`
  - TC-002 (fails): `pytest tests/other.py`
  - TC-003 (unit): `pytest`
"""


def test_it_stands_behind_the_level():
    plan = read_plan(PLAN.encode(), "p")
    (task,) = plan.tasks
    assert not plan.problems
    said = [(str(one.level), one.fails, one.shown_level) for one in task.test_contracts]
    assert said == [
        ("integration", True, "integration, fails"),
        ("unit", True, "unit, fails"),
        ("unit", False, "unit"),
    ]


def test_it_is_part_of_how_a_task_is_proven():
    plain = PLAN.replace(", fails", "")
    old, new = (read_plan(text.encode(), "p").tasks[0].spec for text in (plain, PLAN))
    assert old.what == new.what
    assert old.proof != new.proof


def test_the_second_reading_equals_the_first(tmp_path):
    from runner.plan.cache import load_plan

    first = load_plan(PLAN.encode(), "p", tmp_path)
    assert load_plan(PLAN.encode(), "p", tmp_path).tasks == first.tasks
    changed = PLAN.replace("Known bug", "Known bugs").encode()
    assert load_plan(changed, "p", tmp_path).tasks[0].test_contracts == (
        first.tasks[0].test_contracts
    )


def test_an_unknown_level_is_told():
    (problem,) = read_plan(PLAN.replace("(unit)", "(unit, sometimes)").encode(), "p").problems
    assert problem.message == 'unknown level "unit, sometimes" of TC-003'
