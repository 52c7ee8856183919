"""The board: statuses reach the plan, and a person's save always wins."""

import pytest

from runner import effects
from runner.errors import RunnerError
from runner.model import Status
from runner.run.landing.plan_documents import PlanDocument
from runner.run.landing.status_writer import TRIES, StatusWriter

PLAN = b"""# Shop

## TASK-001: One

- Status: DONE \xe2\x9c\x85

## TASK-002: Two

- Status: pending

## TASK-003: Three

Prose.
"""


@pytest.fixture
def plan(tmp_path):
    path = tmp_path / "TASK-GRAPH.md"
    path.write_bytes(PLAN)
    path.chmod(0o640)
    return path


def published(board):
    events = []
    board.publish(events.append, head="h")
    return events


def test_what_was_said_is_written_and_then_journaled(plan):
    board = StatusWriter(plan, ())
    board.say("TASK-002", Status.IN_PROGRESS)
    board.say("TASK-002", Status.BLOCKED, "no | key")
    (event,) = published(board)
    assert event.statuses == {"TASK-002": Status.BLOCKED}
    assert b"- Status: BLOCKED \xe2\x80\x94 no &#124; key\n" in plan.read_bytes()
    assert plan.stat().st_mode & 0o777 == 0o640
    assert not board.due(now=True)


def test_what_says_the_same_already_stays_as_it_was_written(plan):
    board = StatusWriter(plan, ())
    board.say("TASK-001", Status.DONE)
    board.say("TASK-003", Status.PENDING)
    before = plan.stat().st_mtime_ns
    published(board)
    assert plan.read_bytes() == PLAN
    assert plan.stat().st_mtime_ns == before


def test_a_missing_status_is_inserted_when_it_is_no_longer_pending(plan):
    board = StatusWriter(plan, ())
    board.say("TASK-003", Status.DONE)
    published(board)
    assert plan.read_bytes() == PLAN.replace(b"Three\n\n", b"Three\n\n- Status: DONE\n\n")


def test_a_save_at_the_very_last_instant_wins_and_gets_the_statuses(plan):
    saves = [PLAN.replace(b"Prose.", b"Prose, mended."), PLAN.replace(b"Prose.", b"Again.")]

    def somebody_saves(kind, target):
        if kind == "replace" and target == str(plan) and saves:
            plan.write_bytes(saves.pop())

    board = StatusWriter(plan, ())
    board.say("TASK-002", Status.DONE)
    effects.watch(somebody_saves)
    try:
        published(board)
    finally:
        effects.unwatch(somebody_saves)
    wanted = PLAN.replace(b"pending", b"DONE").replace(b"Prose.", b"Prose, mended.")
    assert plan.read_bytes() == wanted
    assert [path.name for path in plan.parent.iterdir()] == [plan.name]


def test_a_file_that_is_saved_over_and_over_is_given_up(plan):
    def somebody_saves(kind, target):
        if kind == "replace" and target == str(plan):
            plan.write_bytes(plan.read_bytes() + b"x")

    board = StatusWriter(plan, ())
    board.say("TASK-002", Status.DONE)
    effects.watch(somebody_saves)
    try:
        with pytest.raises(RunnerError, match="saved over and over"):
            published(board)
    finally:
        effects.unwatch(somebody_saves)
    assert plan.read_bytes() == PLAN + b"x" * TRIES


def test_a_task_that_a_person_took_out_is_left_out(plan):
    board = StatusWriter(plan, ())
    board.say("TASK-002", Status.DONE)
    board.say("TASK-009", Status.DONE)
    published(board)
    assert b"- Status: DONE\n" in plan.read_bytes()


def test_the_record_holds_the_committed_text_with_todays_statuses(plan):
    board = StatusWriter(plan, ())
    statuses = {
        "TASK-001": (Status.DONE, ""),
        "TASK-002": (Status.STALE, "old"),
        "TASK-003": (Status.PENDING, ""),
    }
    document = PlanDocument("TASK-GRAPH.md", lambda: statuses, board.edit)
    recorded = document.content_to_commit(PLAN, PLAN + b"unsaved")
    assert recorded == PLAN.replace(b"pending", b"STALE \xe2\x80\x94 old")
