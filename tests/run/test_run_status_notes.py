"""What stands behind a status in the plan, and whether the plan has to be written for it."""

import pytest
from run_build import a_ledger, a_task

from runner.journal.task_state import TaskState
from runner.model import Action, Change, Proof, Status, Verdict, digest_of
from runner.run.landing.status_notes import find_differing, format_note, says_other, why_unproven

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
    assert says_other(task, status, note) is writes


def test_a_blocked_task_whose_reason_changed_is_no_reason_to_write_the_plan():
    assert not says_other(a_task(status=Status.BLOCKED, note="a"), Status.BLOCKED, "b")


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
