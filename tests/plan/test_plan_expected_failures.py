"""A test contract that says of itself that its tests fail: read, digested, kept."""

from runner.plan.document import read_plan

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
