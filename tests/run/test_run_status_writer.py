"""The board: statuses reach the plan, and a person's save always wins.

What stands behind a status in the plan, and whether the plan has to be written for it.
"""

from __future__ import annotations

import tracemalloc

import pytest
from run_build import a_ledger, a_task

from runner import effects
from runner.errors import RunnerError
from runner.journal.task_state import TaskState
from runner.model import Action, Change, Proof, Status, Verdict, digest_of
from runner.plan.edit import find_spans
from runner.run.landing.status_writer import (
    TRIES,
    PlanDocument,
    StatusWriter,
    find_differing,
    format_note,
    needs_write,
    why_unproven,
)

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
        with pytest.raises(RunnerError, match="keeps changing"):
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


def test_what_is_remembered_of_four_texts_is_less_than_half_of_one(tmp_path):
    """Where statuses stand in each is a few numbers a task; the texts themselves are not held."""
    ids = [f"TASK-{n:03}" for n in range(1, 1001)]
    said = "A line of prose that a section of some length may have.\n" * 4
    text = "".join(f"## {id_}: Do it\n\n- Status: PENDING\n\n{said}\n" for id_ in ids).encode()
    board = StatusWriter(tmp_path / "TASK-GRAPH.md", (), {text: find_spans(text)})

    def edit_four_times():
        made = text
        for number, status in enumerate((Status.DONE, Status.STALE, Status.DONE, Status.BLOCKED)):
            made = board.edit(made, dict.fromkeys(ids[number::7], (status, "")))
        return made

    edit_four_times()  # what is made once, such as patterns, is no text
    board = StatusWriter(tmp_path / "TASK-GRAPH.md", (), {text: find_spans(text)})
    tracemalloc.start()
    made = edit_four_times()
    held, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held - len(made) < len(text) / 2
    assert peak < 4 * len(text)
    assert board.edit(made, {ids[0]: (Status.STALE, "why")}) == made.replace(
        b"Status: DONE", "Status: STALE — why".encode(), 1
    )


def test_a_large_plan_is_written_while_one_text_of_it_is_in_memory(tmp_path):
    parts = ["# Shop\n", *(f"## TASK-{n:03d}: One\n\n{'prose ' * 4000}\n" for n in range(1, 301))]
    path = tmp_path / "TASK-GRAPH.md"
    path.write_text("\n".join(parts))
    old = path.read_bytes()
    said = {f"TASK-{n:03d}": (Status.DONE, "") for n in range(1, 301, 2)}
    board = StatusWriter(path, (), {old: find_spans(old)})
    for id_, one in said.items():
        board.say(id_, *one)
    wanted = board.edit(old, said)
    size = len(old)
    del old
    tracemalloc.start()
    try:
        (event,) = published(board)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert path.read_bytes() == wanted
    assert event.plan == digest_of(wanted)
    assert peak < 1.6 * size  # the text, and pieces of a megabyte of its edit


def test_the_record_holds_the_committed_text_with_todays_statuses(plan):
    board = StatusWriter(plan, ())
    statuses = {
        "TASK-001": (Status.DONE, ""),
        "TASK-002": (Status.STALE, "old"),
        "TASK-003": (Status.PENDING, ""),
    }
    document = PlanDocument("TASK-GRAPH.md", lambda: statuses, board.edit)
    recorded = document.content_to_commit(PLAN, lambda: PLAN + b"unsaved")
    assert recorded == PLAN.replace(b"pending", b"STALE \xe2\x80\x94 old")


UNPROVEN = "unproven: nothing proves it"
TESTS = Proof("TC-1", "test", "pytest", Verdict.PASS, 0, 0.1, "sha256:0", counts=(("passed", 1),))


def known(status, **fields):
    return TaskState("TASK-001", status, **fields)


def test_a_status_that_needs_a_person_says_why_and_one_that_does_not_says_nothing():
    assert format_note(known(Status.BLOCKED, note="TC-001 failed")) == "TC-001 failed"
    assert format_note(known(Status.STALE, note="old")) == "old"
    assert format_note(known(Status.PENDING, note="old"), "typed by hand") == ""


def test_a_done_says_what_it_is_worth_and_an_old_one_keeps_its_line():
    assert format_note(known(Status.DONE, unproven="nothing proves it")) == UNPROVEN
    assert format_note(known(Status.DONE), UNPROVEN) == UNPROVEN
    assert format_note(known(Status.DONE), "my own words") == ""


@pytest.mark.parametrize(
    ("there", "note", "status", "writes"),
    [
        ("", "", Status.DONE, False),
        ("", UNPROVEN, Status.DONE, True),
        (UNPROVEN, UNPROVEN, Status.DONE, False),
        (UNPROVEN, "", Status.DONE, True),
        ("my own words", "", Status.DONE, False),
        ("", "", Status.STALE, True),
    ],
)
def test_the_plan_is_written_only_where_it_says_another_status_or_worth(
    there, note, status, writes
):
    task = a_task(status=Status.DONE, note=there)
    assert needs_write(task, status, note) is writes


def test_a_blocked_task_whose_reason_changed_is_no_reason_to_write_the_plan():
    assert not needs_write(a_task(status=Status.BLOCKED, note="a"), Status.BLOCKED, "b")


def test_only_tasks_that_differ_are_written():
    tasks = [a_task("TASK-001", status=Status.DONE), a_task("TASK-002")]
    assert find_differing(tasks, a_ledger()) == {"TASK-001": (Status.PENDING, "")}


def test_a_task_is_as_good_as_its_proofs_and_a_milestone_as_what_it_depends_on():
    code = a_task(outputs=("shop.py",))
    assert why_unproven(code, [TESTS]) == ""
    assert why_unproven(code, []) == "nothing proves it"
    assert why_unproven(a_task(outputs=("README.md",)), []) == "only documents"
    milestone = a_task("TASK-003", type="milestone", depends_on=("TASK-001", "TASK-002"))
    assert why_unproven(milestone, []) == ""  # nothing is known of what it depends on
    worth = {"TASK-001": known(Status.DONE, verified=True)}
    assert why_unproven(milestone, [], states=worth) == ""
    worth["TASK-002"] = known(Status.DONE, unproven="nothing proves it")
    assert why_unproven(milestone, [], states=worth) == "TASK-002 is unproven"


def test_what_was_written_decides_and_not_all_that_might_have_been():
    code = a_task(outputs=("src/shop.py", "README.md"))
    page = Change("README.md", Action.CREATE, 0o100644, None, digest_of(b"x"), b"x")
    assert why_unproven(code, [], [page]) == "only documents"
    assert why_unproven(code, []) == "nothing proves it"
