"""What waited for a person: begun and ended by the journal's own records."""

import itertools

import pytest
from journal_story import FINDING, SPEC

from runner.journal.events import (
    CUT_OFF,
    NAMES,
    AttemptFinished,
    AttemptStarted,
    Record,
    TaskApproved,
    TaskBlocked,
    TaskDone,
    TaskStaled,
    WriteRejected,
    WriteReviewed,
)
from runner.journal.person_waits import PersonWaits, seconds_between
from runner.journal.session_events import (
    DraftProposed,
    DraftReviewed,
    PermissionAnswered,
    PermissionAsked,
)
from runner.model import Ending, Reason

HELD = AttemptFinished(ending=Ending.PASSED, tree="", seconds=1.0, held="review")
PASSED = AttemptFinished(ending=Ending.PASSED, tree="", seconds=1.0)
BLOCKED = TaskBlocked(reason=Reason.CHECKS, note="", findings=(FINDING,))
AGAIN = AttemptStarted(base="", implementer="blocks", spec=SPEC)


def hear(*happened, times=None):
    """Records of TASK-001, a minute apart; the waits that ended, and the tracker."""
    minutes = itertools.count()
    waits, ended = PersonWaits(), []
    for place, event in enumerate(happened):
        time = times[place] if times else f"2026-01-02T03:{next(minutes):02}:00.000000Z"
        name = NAMES[type(event)]
        task = "" if name.startswith("draft.") else "TASK-001"
        record = Record(f"id{place}", place + 1, time, "run", name, task, 1, "", "", "", event)
        if (one := waits.hear(record)) is not None:
            ended.append((one.kind, one.seconds))
    return ended, waits


@pytest.mark.parametrize(
    ("begins", "ends", "kind"),
    [
        (HELD, WriteReviewed("a", None, None, "applied", "ada"), "review"),
        (HELD, WriteRejected("a", None, None, "no", "ada"), "review"),
        (BLOCKED, TaskApproved(by="ada"), "checks"),
        (BLOCKED, AGAIN, "checks"),
        (TaskStaled(note="x"), TaskApproved(by="ada"), "stale"),
        (PermissionAsked("run", "ls"), PermissionAnswered("run", "ls", allowed=True), "permission"),
        (
            DraftProposed(1, "sha256:0", "w", "p", ("T",), "wish"),
            DraftReviewed(1, "sha256:0", approved=True),
            "draft",
        ),
    ],
)
def test_what_a_person_ends_counts_with_its_time(begins, ends, kind):
    ended, waits = hear(begins, ends)
    assert (ended, waits.open) == ([(kind, 60.0)], {})


def test_what_nobody_waited_for_does_not_count():
    assert hear(HELD, WriteReviewed("a", None, None, "off"))[0] == []
    assert hear(TaskStaled(note="x"), TaskApproved(by=CUT_OFF))[0] == []
    assert hear(PASSED, WriteReviewed("a", None, None, "applied"), TaskDone(spec=SPEC))[0] == []


def test_one_task_waits_once_from_its_first_question():
    ended, waits = hear(PermissionAsked("run", "ls"), BLOCKED, TaskApproved(by="ada"), BLOCKED)
    assert ended == [("permission", 120.0)]
    assert waits.open["TASK-001"].kind == "checks"


@pytest.mark.parametrize("odd", ["", "soon", "2026-99-99T00:00:00Z", "2026-01-02"])
def test_times_that_are_none_last_no_time(odd):
    assert seconds_between(odd, "2026-01-02T03:00:00.000000Z") == 0.0
    assert hear(BLOCKED, AGAIN, times=[odd, "2026-01-02T03:00:00Z"])[0] == [("checks", 0.0)]


def test_a_clock_that_was_set_back_makes_no_wait_negative():
    assert seconds_between("2026-01-02T03:00:00Z", "2026-01-02T02:00:00Z") == 0.0
