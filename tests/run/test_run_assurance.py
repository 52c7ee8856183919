"""Assurance of the settings and of a task: the plan may only ask for more."""

import pytest
from settings_of import settings_of

from runner.plan.document import read_plan
from runner.run.assurance import lacks_items, wants_independence


def task_of(*fields):
    lines = "\n".join(f"- {one}" for one in ("Output files: `a.py`", *fields))
    plan = read_plan(f"## TASK-001: A\n\n{lines}\n".encode(), "P")
    assert not plan.problems
    return plan.tasks[0]


@pytest.mark.parametrize(
    ("setting", "field", "wanted"),
    [
        ("tests", (), False),
        ("independent", (), True),
        ("tests", ("Assurance: independent",), True),
        ("independent", ("Assurance: tests",), True),
        ("tests", ("Assurance: tests",), False),
    ],
)
def test_the_plan_only_asks_for_more(setting, field, wanted):
    task = task_of(*field)
    settings = settings_of(assurance=setting)
    assert wants_independence(task, settings) is wanted
    assert lacks_items(task, settings) is wanted


def test_another_word_is_a_mistake_of_the_plan():
    plan = read_plan(b"## TASK-001: A\n\n- Output files: `a.py`\n- Assurance: high\n", "P")
    (problem,) = plan.problems
    assert problem.message == 'unknown assurance "high"'
