import pytest

from runner.errors import ExitCode
from runner.model import Reason, Status
from runner.report.summary import MEANING, BlockedTask, Summary, duration, summary


def test_when_all_is_done_one_line_says_so():
    said = Summary(ExitCode.OK, {Status.DONE: 8}, 12.34, landed=8)
    assert summary(said) == "8 tasks: 8 DONE; 8 commits, 12.3 s\n"


def test_what_waits_for_a_person_is_said_with_the_next_command():
    said = Summary(
        ExitCode.FAILED,
        {Status.DONE: 1, Status.BLOCKED: 2, Status.STALE: 1, Status.PENDING: 1},
        187.0,
        landed=1,
        blocked=(
            BlockedTask(
                *("TASK-003", "TC-003 failed 5 times", Reason.CHECKS, "draft/TASK-003-x"),
                next="mend it",
                findings=("TC-003: it failed", "  tests/test_a.py:5: 3 != 2  (test_a)"),
            ),
            BlockedTask(
                *("TASK-004", "secret STRIPE_KEY is not set", Reason.SECRET), next="give it"
            ),
        ),
        stale=(("TASK-002", "CHANGE-001: other\x1bfields"),),
        waiting=(("TASK-005", ("TASK-003", "TASK-004")),),
        notes=("2 untracked files are not seen by tasks",),
    )
    assert summary(said) == (
        "5 tasks: 1 DONE, 1 PENDING, 2 BLOCKED, 1 STALE; 1 commit, 3 min 07 s\n"
        "BLOCKED TASK-003 (checks): TC-003 failed 5 times\n"
        "  TC-003: it failed\n"
        "    tests/test_a.py:5: 3 != 2  (test_a)\n"
        "  work kept on draft/TASK-003-x\n"
        "  next: mend it\n"
        "BLOCKED TASK-004 (secret): secret STRIPE_KEY is not set\n"
        "  next: give it\n"
        "STALE TASK-002: CHANGE-001: other\\x1bfields\n"
        "  next: `runner --rebuild` rebuilds it; `runner review TASK-002` shows what was built\n"
        "waiting TASK-005: needs TASK-003, TASK-004\n"
        "note: 2 untracked files are not seen by tasks\n"
        "exit 1: a task failed its checks (runner help blocked)\n"
    )


def test_every_exit_code_has_a_meaning():
    assert set(MEANING) == set(ExitCode)


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0, "0.0 s"),
        (59.4, "59.4 s"),
        (60, "1 min 00 s"),
        (3599.6, "1 h 00 min"),
        (7500, "2 h 05 min"),
    ],
)
def test_durations_are_read_at_a_glance(seconds, said):
    assert duration(seconds) == said


def test_a_ready_task_that_the_run_did_not_reach_waits_for_nobody():
    said = Summary(
        ExitCode.INTERRUPTED,
        {Status.PENDING: 2},
        1.0,
        waiting=(("TASK-001", ()), ("TASK-002", ("TASK-001",))),
    )
    lines = summary(said).splitlines()
    assert "TASK-001 is ready: run `runner`" in lines
    assert "waiting TASK-002: needs TASK-001" in lines
