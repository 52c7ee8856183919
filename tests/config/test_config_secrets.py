"""Which secrets a task's commands get: what it requires, is set, and a person lets it have."""

import pytest
from settings_of import settings_of

from runner.config.settings import Settings
from runner.model import Requirement, Spec, Task

SET = {"STRIPE": "s", "MAIL": "m", "OTHER": "o"}
TASK = Task(
    id="TASK-001",
    title="Pay",
    line=1,
    spec=Spec("what", "proof"),
    requires=(
        Requirement("secret", "STRIPE"),
        Requirement("secret", "MAIL"),
        Requirement("secret", "UNSET"),
        Requirement("tool", "OTHER"),
    ),
)


@pytest.mark.parametrize(
    ("permitted", "given"),
    [
        (None, {"STRIPE": "s", "MAIL": "m"}),
        (("MAIL", "OTHER"), {"MAIL": "m"}),
        ((), {}),
    ],
)
def test_a_task_gets_what_it_requires_as_far_as_the_person_lets_it(permitted, given):
    assert settings_of(secrets=permitted).secrets_for(TASK, SET) == given


def test_a_task_that_requires_none_gets_none():
    plain = Task(id="TASK-002", title="Plain", line=1, spec=Spec("what", "proof"))
    assert Settings().secrets_for(plain, SET) == {}
