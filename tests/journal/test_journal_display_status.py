"""What is shown behind the stored status, in its order of precedence."""

import pytest

from runner.journal.display_status import Display, display_of, format_status
from runner.journal.task_state import HeldWork, TaskState
from runner.model import Finding, Reason, Severity, Status

HELD = HeldWork("review", "refs/x", "0" * 40, "1" * 40, None)
QUESTION = Finding(check="stub", message="which?", severity=Severity.QUESTION)


def a_task(status, reason=None, **more):
    return TaskState(id="TASK-001", status=status, reason=reason, **more)


@pytest.mark.parametrize(
    ("task", "word", "reason"),
    [
        (a_task(Status.STALE), Display.WAITING, "stale"),
        (a_task(Status.BLOCKED, Reason.REVIEW), Display.WAITING, "review"),
        (
            a_task(Status.BLOCKED, Reason.REVIEW, held=HELD, findings=(QUESTION,)),
            Display.WAITING,
            "question",
        ),
        (a_task(Status.BLOCKED, Reason.REGRESSION), Display.WAITING, "question"),
        (a_task(Status.BLOCKED, Reason.HELD_OUT), Display.WAITING, "held-out"),
        (a_task(Status.BLOCKED, Reason.TEST_AUTHOR), Display.WAITING, "test-author"),
        (a_task(Status.BLOCKED, Reason.CHECKS), Display.FAILED, "checks"),
        (a_task(Status.BLOCKED, Reason.STUCK), Display.FAILED, "stuck"),
        (a_task(Status.BLOCKED, Reason.TOOL), Display.BLOCKED, "tool"),
        (a_task(Status.BLOCKED), Display.BLOCKED, ""),
    ],
)
def test_a_task_waits_for_a_person_or_failed_or_is_blocked(task, word, reason):
    assert display_of(task) == (word, reason)


@pytest.mark.parametrize("status", [Status.PENDING, Status.IN_PROGRESS, Status.DONE])
def test_other_statuses_need_no_words_behind_them(status):
    assert display_of(a_task(status)) is None
    assert format_status(a_task(status)) == str(status)


@pytest.mark.parametrize(
    ("task", "text"),
    [
        (a_task(Status.STALE), "STALE — waiting for you"),
        (a_task(Status.BLOCKED, Reason.REVIEW), "BLOCKED — waiting for you (review)"),
        (a_task(Status.BLOCKED, Reason.CHECKS), "BLOCKED — failed (checks)"),
        (a_task(Status.BLOCKED, Reason.TOOL), "BLOCKED (tool)"),
        (a_task(Status.BLOCKED), "BLOCKED"),
    ],
)
def test_the_status_as_it_is_shown(task, text):
    assert format_status(task) == text
