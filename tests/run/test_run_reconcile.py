"""Every pair of what the file says and what the journal knows, and whose hand is seen in it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from run_build import SPEC, a_ledger, a_task

from runner.journal.events import (
    AttemptFinished,
    AttemptStarted,
    StatusesPublished,
    TaskAdopted,
    TaskApproved,
    TaskBlocked,
    TaskDone,
    TaskReopened,
    TaskStaled,
)
from runner.model import Ending, Reason, Spec, Status
from runner.run.reconcile import Facts, LandedTask, readings

HERE = Facts(descends=True, landed={})
OTHER_WHAT = Spec("sha256:other", SPEC.proof)
OTHER_PROOF = Spec(SPEC.what, "sha256:other")

HISTORIES = {
    "nothing": [],
    "done": [TaskDone(spec=SPEC, commit="c1")],
    "done by word": [TaskAdopted(spec=None)],
    "stale": [TaskDone(spec=SPEC, commit="c1"), TaskStaled(note="old")],
    "blocked": [
        AttemptStarted(base="", implementer="x", spec=SPEC),
        AttemptFinished(ending=Ending.FAILED, tree="t", seconds=1.0),
        TaskBlocked(reason=Reason.CHECKS, note="TC-001 failed"),
    ],
    "at work": [AttemptStarted(base="", implementer="x", spec=SPEC)],
}


def known_after(history):
    """The state after these events, published as a run does at its end."""
    journal = a_ledger()
    for event in HISTORIES[history]:
        journal.note(event, task="TASK-001", attempt=1)
    status = journal.state.task("TASK-001").status
    if HISTORIES[history]:
        journal.note(StatusesPublished({"TASK-001": status}, "h", "p"))
    return journal


def read(history, status, spec=SPEC, facts=HERE):
    journal = known_after(history)
    task = a_task("TASK-001", status=status, spec=spec)
    return [event for _, _, event in readings([task], journal.state, facts)]


S = Status


@pytest.mark.parametrize(
    ("history", "says", "spec", "events"),
    [
        ("nothing", S.PENDING, SPEC, []),
        ("nothing", S.DONE, SPEC, [TaskAdopted]),
        ("nothing", S.IN_PROGRESS, SPEC, []),
        ("nothing", S.BLOCKED, SPEC, [TaskBlocked]),
        ("nothing", S.STALE, SPEC, [TaskStaled]),
        ("done", S.DONE, SPEC, []),
        ("done", S.DONE, OTHER_WHAT, [TaskStaled]),
        ("done", S.DONE, OTHER_PROOF, [TaskReopened]),
        ("done", S.PENDING, SPEC, [TaskReopened]),
        ("done", S.BLOCKED, SPEC, [TaskBlocked]),
        ("done", S.STALE, SPEC, [TaskStaled]),
        ("done by word", S.DONE, SPEC, []),
        ("stale", S.STALE, SPEC, []),
        ("stale", S.PENDING, SPEC, [TaskApproved]),
        ("stale", S.DONE, SPEC, [TaskAdopted]),
        ("stale", S.DONE, OTHER_WHAT, [TaskStaled]),
        ("blocked", S.BLOCKED, SPEC, []),
        ("blocked", S.BLOCKED, OTHER_WHAT, [TaskReopened]),
        ("blocked", S.BLOCKED, OTHER_PROOF, [TaskReopened]),
        ("blocked", S.PENDING, SPEC, [TaskApproved]),
        ("blocked", S.DONE, SPEC, [TaskAdopted]),
        ("at work", S.IN_PROGRESS, SPEC, [AttemptFinished]),
        ("at work", S.PENDING, SPEC, [AttemptFinished]),
    ],
)
def test_what_is_read_of_file_and_journal(history, says, spec, events):
    assert [type(event) for event in read(history, says, spec)] == events


def test_a_word_against_the_evidence_is_marked_unverified():
    (event,) = read("nothing", S.DONE)
    assert (event.verified, event.source, event.spec) == (False, "person", None)


def test_on_another_branch_the_commits_within_reach_count():
    within = Facts(descends=False, landed={"TASK-001": LandedTask("c9", 4, SPEC)})
    (event,) = read("nothing", S.DONE, facts=within)
    assert (event.verified, event.source, event.commit) == (True, "trailers", "c9")
    beyond = Facts(descends=False, landed={})
    assert [type(event) for event in read("done", S.DONE, facts=beyond)] == [TaskReopened]
    assert [type(event) for event in read("done", S.PENDING, facts=beyond)] == [TaskReopened]
    stale = Facts(descends=False, landed={"TASK-001": LandedTask("c9", 4, OTHER_WHAT)})
    assert [type(event) for event in read("nothing", S.DONE, facts=stale)] == [
        TaskAdopted,
        TaskStaled,
    ]


@given(
    st.sampled_from(sorted(HISTORIES)),
    st.sampled_from(list(Status)),
    st.sampled_from([SPEC, OTHER_WHAT, OTHER_PROOF]),
    st.booleans(),
    st.sampled_from([{}, {"TASK-001": LandedTask("c1", 1, SPEC)}]),
)
def test_reading_twice_says_nothing_new(history, says, spec, descends, landed):
    journal = known_after(history)
    task = a_task("TASK-001", status=says, spec=spec)
    facts = Facts(descends=descends, landed=landed)
    for id_, attempt, event in tuple(readings([task], journal.state, facts)):
        journal.note(event, task=id_, attempt=attempt)
    status = journal.state.task("TASK-001").status
    journal.note(StatusesPublished({"TASK-001": status}, "h", "p"))
    settled = a_task("TASK-001", status=status, spec=spec)
    assert status is not Status.IN_PROGRESS
    assert [event for _, _, event in readings([settled], journal.state, facts)] == []
