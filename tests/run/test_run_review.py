"""The review of a task's changes: who is asked, in which order, and what an answer comes to."""

import pytest
from run_build import SPEC, a_ledger, a_task

from runner.journal.events import AttemptFinished, AttemptStarted, TaskBlocked, WriteRejected
from runner.journal.task_fold import APPROVED, REJECTED
from runner.model import Action, Change, Ending, Reason, ReviewMode, Status, digest_of
from runner.run.review import Answer, Review, Said, note_answer, what_follows

ONE = "TASK-001"
YES, NO, LATER = Said(Answer.APPROVED), Said(Answer.REJECTED, "no"), Said(Answer.WAITS)
NEXT, PREVIOUS = Said(Answer.NEXT), Said(Answer.PREVIOUS)


class Person:
    """Says what is given, and remembers what was shown."""

    def __init__(self, *said):
        self.said = list(said)
        self.shown = []

    def ask(self, task, change, before, spot):
        assert (task.id, before) == (ONE, None)
        told = f" {spot.said}" if spot.said else ""
        self.shown.append(f"{change.path} {spot.number}/{spot.count} left {spot.left}{told}")
        return self.said.pop(0)


def changes(*paths):
    return [
        Change(path, Action.CREATE, 0o100644, None, digest_of(path.encode()), path.encode())
        for path in paths
    ]


def ruled(ledger, person, *paths, mode=ReviewMode.PROMPT, insisted=False):
    review = Review(ledger, person, insisted)
    return review.rule(a_task(ONE), 1, changes(*paths), mode, lambda _: None)


def held(ledger, *paths):
    """Work that waits for a review before it was proven."""
    started = AttemptStarted(base="", implementer="command", spec=SPEC, patterns=(), slot=0)
    ended = AttemptFinished(
        ending=Ending.WAITS, tree="t", seconds=1.0, held="review", ref="held/TASK-001"
    )
    for event in (started, ended, TaskBlocked(reason=Reason.REVIEW, note="waits")):
        ledger.note(event, task=ONE, attempt=1)
    return changes(*paths)


def answered(ledger, change, said):
    note_answer(ledger, ONE, 1, change, said)


# --- who is asked ---------------------------------------------------------------------


@pytest.mark.parametrize("mode", [ReviewMode.AUTO, ReviewMode.OFF])
def test_a_control_file_is_shown_to_a_person(mode):
    person = Person(LATER)
    assert ruled(a_ledger(), person, "a.txt", ".envrc", mode=mode).answer is Answer.WAITS
    assert len(person.shown) == 1


def test_only_a_persons_own_off_lets_control_files_land_unseen():
    ledger = a_ledger()
    assert ruled(ledger, None, ".envrc", mode=ReviewMode.AUTO, insisted=True).answer is Answer.WAITS
    ruling = ruled(ledger, None, ".envrc", mode=ReviewMode.OFF, insisted=True)
    assert (ruling.answer, ruling.how) == (Answer.APPROVED, "off")


def test_files_that_steer_nothing_land_by_the_commands_word():
    ruling = ruled(a_ledger(), None, "a.txt", mode=ReviewMode.AUTO, insisted=True)
    assert (ruling.answer, ruling.how) == (Answer.APPROVED, "auto")


# --- in which order -------------------------------------------------------------------


def test_one_goes_through_all_files_and_answers_where_one_likes():
    person = Person(NEXT, NEXT, NEXT, PREVIOUS, YES, PREVIOUS, NEXT, YES, YES)
    assert ruled(a_ledger(), person, "a", "b", "c").answer is Answer.APPROVED
    assert person.shown == [
        "a 1/3 left 3",
        "b 2/3 left 3",
        "c 3/3 left 3",
        "a 1/3 left 3",
        "c 3/3 left 3",
        "a 1/3 left 2",
        "c 3/3 left 2 applied",
        "a 1/3 left 2",
        "b 2/3 left 1",
    ]


def test_a_file_that_was_applied_can_be_looked_at_again_and_refused():
    person = Person(YES, PREVIOUS, NO)
    ruling = ruled(a_ledger(), person, "a", "b")
    assert person.shown == ["a 1/2 left 2", "b 2/2 left 1", "a 1/2 left 1 applied"]
    assert ruling.answer is Answer.REJECTED
    assert [finding.path for finding in ruling.findings] == ["a"]


def test_one_yes_for_all_that_are_left_is_heard():
    person = Person(YES, Said(Answer.APPROVED, for_all=True))
    assert ruled(a_ledger(), person, "a", "b", "c").answer is Answer.APPROVED


# --- what an answer given later comes to ----------------------------------------------


def test_what_waits_before_its_proof_is_held():
    ledger = a_ledger()
    held(ledger, "a")
    known = ledger.state.task(ONE)
    assert (known.status, known.held.kind, known.held.attempt) == (Status.BLOCKED, "review", 1)
    assert known.passed is None


def test_nothing_follows_before_every_file_is_answered():
    ledger = a_ledger()
    proposed = held(ledger, "a", "b")
    answered(ledger, proposed[0], YES)
    assert what_follows(ledger.state, ONE, proposed) == ()


@pytest.mark.parametrize(("said", "note"), [(YES, APPROVED), (NO, REJECTED)])
def test_once_all_is_said_the_task_stands_as_it_was_said(said, note):
    ledger = a_ledger()
    (proposed,) = held(ledger, "a")
    answered(ledger, proposed, said)
    for event in what_follows(ledger.state, ONE, [proposed]):
        ledger.note(event, task=ONE, attempt=1)
    known = ledger.state.task(ONE)
    assert (known.status, known.note, known.tries) == (Status.PENDING, note, ())
    assert (known.held is None) == (said is NO)
    assert what_follows(ledger.state, ONE, [proposed]) == ()


def test_a_no_after_a_yes_is_heard():
    ledger = a_ledger()
    (proposed,) = held(ledger, "a")
    for said in (YES, NO):
        answered(ledger, proposed, said)
        for event in what_follows(ledger.state, ONE, [proposed]):
            ledger.note(event, task=ONE, attempt=1)
    known = ledger.state.task(ONE)
    assert (known.note, known.held) == (REJECTED, None)
    assert isinstance(ledger.state.review(ONE, "a", None, proposed.after), WriteRejected)
