"""What the journal makes of a task's own plan: proposed, reviewed, built phase by phase."""

from itertools import count

import pytest

from runner.journal import events
from runner.journal.events import NAMES, Record
from runner.journal.snapshot import read_state, write_state
from runner.journal.state import RunState, fold
from runner.model import Ending, Finding, Phase, Reason, Spec, Status, TaskPlan

ID = "TASK-001"
SPEC = Spec("sha256:what", "sha256:proof")
PLAN = TaskPlan(
    steps=("Write it",), files=("a.py",), phases=(Phase("One", ("x",), ("a.py",)), Phase("Two"))
)
BAD = Finding("plan", "the plan has no steps")


def told(*happened, spec=SPEC):
    """The state after these events, each (attempt, event)."""
    seq = count(1)
    return fold(
        Record(f"id{n}", n, "", "run", NAMES[type(event)], ID, attempt, "", f"id{n}", "test", event)
        for (attempt, event), n in zip(happened, seq, strict=False)
    )


def started(attempt, mode, spec=SPEC):
    return attempt, events.AttemptStarted("base", "agent", spec, mode=mode)


def ended(attempt, ending=Ending.PASSED, **fields):
    return attempt, events.AttemptFinished(ending, "tree", 2.0, **fields)


def proposed(attempt=1, digest="sha256:plan"):
    return attempt, events.PlanProposed(PLAN, "plans/1.md", digest, what=SPEC.what)


def reviewed(*, approved, digest="sha256:plan", **fields):
    return 1, events.PlanReviewed(digest, approved, **fields)


PLANNED = (started(1, "plan"), proposed(), ended(1))
BLOCKED = (1, events.TaskBlocked(Reason.REVIEW, "its plan waits"))


def test_a_session_leaves_the_task_where_it_stood_with_its_plan_on_the_table():
    known = told(*PLANNED).task(ID)
    assert (known.status, known.tries, known.passed) == (Status.PENDING, (), None)
    assert (known.planned.plan, known.planned.approved) == (PLAN, False)
    assert known.seconds_in_row == 2.0, "it counts for the minutes of the task"


def test_an_approval_is_of_one_digest_and_lets_a_waiting_task_go_on():
    assert not told(*PLANNED, reviewed(approved=True, digest="sha256:x")).task(ID).planned.approved
    known = told(*PLANNED, BLOCKED, reviewed(approved=True, review="applied")).task(ID)
    assert (known.status, known.planned.review) == (Status.PENDING, "applied")


def test_a_plan_that_is_sent_back_is_off_the_table_and_counted():
    known = told(*PLANNED, BLOCKED, reviewed(approved=False, reason="smaller")).task(ID)
    assert (known.status, known.planned, known.plans_refused) == (Status.PENDING, None, 1)
    assert known.findings[0].message == "the plan was rejected: smaller"


def test_a_refused_plan_is_no_failed_attempt_and_another_failure_is():
    refused = told(started(1, "plan"), ended(1, Ending.FAILED, findings=(BAD,))).task(ID)
    assert (refused.tries, refused.plans_refused) == ((), 1)
    other = Finding("implementer", "the agent ended with exit 1")
    failed = told(started(1, "plan"), ended(1, Ending.FAILED, findings=(other,))).task(ID)
    assert (len(failed.tries), failed.plans_refused) == (1, 0)


def test_a_waiting_plan_is_no_persons_hand_and_an_edit_of_the_task_is_heard():
    assert told(*PLANNED, BLOCKED).task(ID).tried == SPEC


APPROVED = (*PLANNED, reviewed(approved=True, review="off"))
KEPT = (*APPROVED, started(2, "phase"), ended(2, ref="phases/TASK-001"))


def test_a_phase_is_kept_and_the_next_one_counts_on():
    known = told(*KEPT).task(ID)
    assert (known.status, known.kept.phases, known.kept.ref) == (
        *(Status.PENDING, 1),
        "phases/TASK-001",
    )
    failed = ended(3, Ending.FAILED, findings=(Finding("compile", "no"),))
    again = told(*KEPT, started(3, "phase"), failed).task(ID)
    assert (again.kept.phases, len(again.tries), again.seconds_in_row) == (1, 1, 6.0)
    assert told(*KEPT, started(3, "phase"), ended(3, ref="r")).task(ID).kept.phases == 2


@pytest.mark.parametrize(
    "last",
    [
        proposed(3, "sha256:other"),
        reviewed(approved=False, reason="no"),
        started(3, "build", Spec("sha256:else", "sha256:proof")),
        (3, events.TaskDone(SPEC)),
        (3, events.TaskReopened()),
    ],
)
def test_another_plan_other_words_and_the_end_let_go_of_kept_phases(last):
    assert told(*KEPT, last).task(ID).kept is None


def test_a_killed_session_and_a_killed_phase_lose_nothing_that_was_accepted():
    killed = ended(1, Ending.INTERRUPTED)
    assert told(started(1, "plan"), killed).task(ID).planned is None
    assert told(started(1, "plan"), proposed(), killed).task(ID).planned.plan == PLAN
    known = told(*KEPT, started(3, "build"), ended(3, Ending.INTERRUPTED)).task(ID)
    assert (known.kept.phases, known.planned.approved) == (1, True)


@pytest.mark.parametrize("happened", [PLANNED, APPROVED, KEPT])
def test_a_snapshot_has_all_of_it(happened):
    state = told(*happened)
    assert read_state(write_state(state)) == state
    assert isinstance(state, RunState)
