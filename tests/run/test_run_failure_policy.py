"""What follows a failed attempt, row by row of the one table; and who goes in circles."""

import pytest

from runner.journal.task_state import Try
from runner.model import Failure, Reason
from runner.run.limits.budget import Backoff, chance
from runner.run.limits.failure_policy import (
    COURSES,
    Again,
    Over,
    Pause,
    after,
    gave_the_same,
    has_looped,
    loops,
    warning,
)

TRANSIENT, DETERMINISTIC = Failure.TRANSIENT, Failure.DETERMINISTIC
SEMANTIC, INFRASTRUCTURE = Failure.SEMANTIC, Failure.INFRASTRUCTURE


def tries(*kinds):
    """Attempts of these classes, each with a tree and a failing check of its own."""
    found = enumerate(kinds, start=1)
    return tuple(Try(n, f"tree-{n}", (f"TC-{n}",), 1.0, kind) for n, kind in found)


def test_the_table_has_a_row_for_every_class():
    assert set(COURSES) == set(Failure)


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        ([TRANSIENT], Again(1)),
        ([TRANSIENT] * 2, Again(2)),
        ([TRANSIENT] * 3, Again(4)),
        ([TRANSIENT] * 4, Again(8)),
        ([TRANSIENT] * 5, Over(Reason.TOOL, 5)),
        ([DETERMINISTIC], Over(Reason.TOOL, 1)),
        ([SEMANTIC], Again(5)),
        ([SEMANTIC] * 2, Again(7.5)),
        ([SEMANTIC] * 3, Over(Reason.CHECKS, 3)),
        ([None, None], Again(7.5)),
        ([None, SEMANTIC, None], Over(Reason.CHECKS, 3)),
        ([INFRASTRUCTURE], Again(0)),
        ([INFRASTRUCTURE] * 4, Again(0)),
        ([INFRASTRUCTURE] * 5, Over(Reason.CHECKS, 5)),
        ([TRANSIENT, SEMANTIC], Again(5)),
        ([SEMANTIC, TRANSIENT], Again(1)),
        ([SEMANTIC, TRANSIENT, SEMANTIC, TRANSIENT], Again(2)),
        ([SEMANTIC, TRANSIENT, SEMANTIC, TRANSIENT, TRANSIENT], Over(Reason.TOOL, 3)),
        ([SEMANTIC, TRANSIENT, DETERMINISTIC], Over(Reason.TOOL, 1)),
    ],
)
def test_what_follows_the_last_attempt(kinds, expected):
    assert after(tries(*kinds), 5) == expected


def test_a_task_may_have_fewer_attempts_of_all_classes_than_the_table():
    assert after(tries(TRANSIENT, SEMANTIC), 2) == Over(Reason.CHECKS, 1)


def test_no_pause_is_longer_than_its_longest():
    patient = COURSES[TRANSIENT].pause
    assert [patient.seconds(n, 0.5) for n in (6, 7, 8, 20)] == [32, 60, 60, 60]
    repair = COURSES[SEMANTIC].pause
    assert [round(repair.seconds(n, 0.5), 3) for n in (3, 4, 5, 6, 9)] == [
        *(11.25, 16.875, 25.312),
        *(30, 30),
    ]


@pytest.mark.parametrize(("kind", "share"), [(TRANSIENT, 0.2), (SEMANTIC, 0.1)])
def test_pauses_are_spread_by_a_share_of_them(kind, share):
    pause = COURSES[kind].pause
    even = pause.seconds(2, 0.5)
    assert pause.seconds(2, 0.0) == pytest.approx(even * (1 - share))
    assert pause.seconds(2, 0.999999) == pytest.approx(even * (1 + share), rel=1e-5)
    assert Pause(4, 2, 60, 0.0).seconds(1, 0.9) == 4


def test_what_a_provider_asks_for_is_the_least_that_is_waited():
    assert after(tries(TRANSIENT), 5, asked=7) == Again(7)
    assert after(tries(*[TRANSIENT] * 4), 5, asked=7) == Again(8)
    assert after(tries(TRANSIENT), 5, asked=3601) == Over(Reason.TOOL, 1)


def test_the_same_attempt_of_the_same_run_waits_as_long_again():
    assert chance("run", "TASK-001", 2) == chance("run", "TASK-001", 2)
    many = [chance("run", f"TASK-{n}", 1) for n in range(200)]
    assert len(set(many)) == 200
    assert 0 <= min(many) < 0.1
    assert 0.9 < max(many) < 1


def test_tasks_come_back_in_the_order_of_their_times():
    backoff = Backoff()
    for task, at in (("B", 5.0), ("A", 2.0), ("C", 5.0)):
        backoff.put(task, at)
    assert (backoff.first, "B" in backoff, "D" in backoff) == (2.0, True, False)
    assert backoff.take(1.9) == ()
    assert backoff.take(2.0) == ("A",)
    assert backoff.take(9.0) == ("B", "C")
    assert (backoff.first, bool(backoff)) == (None, False)


# --- circles --------------------------------------------------------------------------


def a_try(number, tree, *checks, failure=None):
    return Try(number, tree, checks, 1.0, failure)


def test_the_same_files_twice_are_a_loop():
    again = (a_try(1, "t", "TC-1"), a_try(2, "t", "TC-2"))
    assert loops(again) == ("attempts 1 and 2 produced identical files",)
    assert has_looped(again)
    assert "start over" in warning(again).hint


def test_the_same_failing_checks_twice_are_a_loop():
    again = (a_try(1, "a", "TC-1", "gate:lint"), a_try(2, "b", "TC-1", "gate:lint"))
    assert loops(again) == ("attempts 1 and 2 failed the same checks: TC-1, gate:lint",)


def test_sessions_that_only_plan_are_called_plans():
    again = (a_try(-1, "", "plan"), a_try(-2, "", "plan"))
    assert loops(again) == ("plans 1 and 2 failed the same checks: plan",)
    mixed = (a_try(-2, "", "implementer"), a_try(1, "", "implementer"))
    assert loops(mixed) == ("plan 2 and attempt 1 failed the same checks: implementer",)


def test_other_checks_or_fewer_are_no_loop():
    fewer = (a_try(1, "a", "TC-1", "TC-2"), a_try(2, "b", "TC-1"), a_try(3, "c", "TC-2"))
    assert loops(fewer) == ()
    assert not has_looped(fewer)


def test_a_connection_that_breaks_twice_is_no_loop_and_hides_none():
    broken = [a_try(n, "", "implementer", failure=TRANSIENT) for n in (2, 3)]
    assert loops(broken) == ()
    assert len(loops((a_try(1, "t", "TC-1"), *broken, a_try(4, "t", "TC-1")))) == 1


def test_what_others_did_meanwhile_is_no_loop_of_the_task():
    assert loops((a_try(1, "a", "conflict"), a_try(2, "b", "conflict"))) == ()


def test_an_implementer_may_have_seen_the_circle_itself():
    seen = (a_try(1, "a", "loop"), a_try(2, "b", "loop"))
    assert len(loops(seen)) == 2
    told = (a_try(1, "a", "TC-1"), a_try(2, "a", "TC-1", "loop"), a_try(3, "b", "TC-1"))
    assert len(loops(told)) == 2  # that the second one was told of it makes it no third loop


def test_a_command_that_left_too_much_to_be_read_is_not_called_a_third_time():
    assert gave_the_same((a_try(1, "", "scope"), a_try(2, "", "scope")))


def test_attempts_of_which_no_tree_is_known_are_else_not_the_same():
    assert not gave_the_same((a_try(1, "", "scope"), a_try(2, "t", "scope")))
    assert not gave_the_same((a_try(1, "", "TC-1"), a_try(2, "", "TC-1")))
