"""A crash at each effect of writing a draft into its plan: it stands there once, or not yet."""

import os

import pytest
from workplace import a_task

from runner import effects
from runner.app.draft.draft_answers import approve_draft
from runner.app.draft.drafting import propose
from runner.journal.session_events import DraftProposed
from runner.model import digest_of
from runner.project import Project

TEXT = a_task("TASK-002", "Two", outputs=["two.md"])
MOST = 60


def opened(workplace):
    return Project.open(workplace.root, os.environ)


def approve_in_a_process(workplace, last):
    """Whether an approval came to its end that dies before effect number `last`."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    count = 0

    def die(_kind, _target):
        nonlocal count
        count += 1
        if count == last:
            os._exit(9)

    try:
        effects.watch(die)
        approve_draft(opened(workplace), "DRAFT-1")
        os._exit(0)
    finally:
        os._exit(8)


@pytest.fixture
def waiting(workplace):
    """A plan of one task, and a draft of a second."""
    workplace.plan(a_task("TASK-001", "One", blocks={"one.md": "1\n"}))
    event = DraftProposed(
        0, "TASK-GRAPH.md", TEXT, digest_of(TEXT.encode()), ("TASK-002",), "a wish"
    )
    propose(opened(workplace), event)
    return workplace


def test_wherever_it_dies_the_next_approval_writes_it_once(waiting):
    plan = waiting.root / "TASK-GRAPH.md"
    journal = waiting.root / "artifacts/build/journal.jsonl"
    before, said = plan.read_bytes(), journal.read_bytes()
    whole = before + b"\n" + TEXT.encode()
    seen = set()
    for last in range(1, MOST):
        plan.write_bytes(before)
        journal.write_bytes(said)
        ended = approve_in_a_process(waiting, last)
        now = plan.read_bytes()
        assert now in (before, whole)
        state = opened(waiting).state()
        seen.add((now == whole, bool(state.approved_drafts), bool(state.open_drafts)))
        assert (now == before) or state.approved_drafts or not state.open_drafts
        if ended:
            break
        if state.open_drafts:
            approve_draft(opened(waiting), "DRAFT-1")
        assert plan.read_bytes() == whole
        assert opened(waiting).state().open_drafts == ()
    assert ended, "fewer effects than are tried"
    assert {(False, False, True), (False, True, True), (True, True, True)} <= seen
