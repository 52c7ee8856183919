"""The review of a task's changes: who is asked, in which order, and what an answer comes to."""

from dataclasses import replace

import pytest
from run_build import SPEC, a_ledger, a_task

from runner.journal.events import (
    AttemptFinished,
    AttemptStarted,
    TaskBlocked,
    WriteRejected,
    WriteReviewed,
)
from runner.journal.task_fold import APPROVED, REJECTED
from runner.model import Action, Change, Ending, Finding, Reason, ReviewMode, Status, digest_of
from runner.run.review import (
    WHOLE,
    Answer,
    ChangeReview,
    Reply,
    is_approved,
    note_answer,
    proposal_digest,
    question_digest,
    what_follows,
)

ONE = "TASK-001"
YES, NO, LATER = Reply(Answer.APPROVED), Reply(Answer.REJECTED, "no"), Reply(Answer.WAITS)
NEXT, PREVIOUS = Reply(Answer.NEXT), Reply(Answer.PREVIOUS)


class Person:
    """Says what is given, and remembers what was shown."""

    def __init__(self, *said):
        self.said = list(said)
        self.shown = []

    def ask(self, task, change, before, spot):
        assert (task.id, before) == (ONE, None)
        told = f" {spot.note}" if spot.note else ""
        self.shown.append(f"{change.path} {spot.number}/{spot.count} left {spot.left}{told}")
        return self.said.pop(0)


def changes(*paths):
    return [
        Change(path, Action.CREATE, 0o100644, None, digest_of(path.encode()), path.encode())
        for path in paths
    ]


def ruled(journal, person, *paths, mode=ReviewMode.PROMPT, insisted=False):
    review = ChangeReview(journal, person, insisted)
    return review.rule(a_task(ONE), 1, changes(*paths), mode, lambda _: None)


def held(journal, *paths):
    """Work that waits for a review before it was proven."""
    started = AttemptStarted(base="", implementer="command", spec=SPEC, patterns=(), slot=0)
    ended = AttemptFinished(
        ending=Ending.WAITS, tree="t", seconds=1.0, held="review", ref="held/TASK-001"
    )
    for event in (started, ended, TaskBlocked(reason=Reason.REVIEW, note="waits")):
        journal.note(event, task=ONE, attempt=1)
    return changes(*paths)


def answered(journal, change, said):
    note_answer(journal, ONE, 1, change, said)


# --- who is asked ---------------------------------------------------------------------


@pytest.mark.parametrize("mode", [ReviewMode.AUTO, ReviewMode.OFF])
def test_a_control_file_is_shown_to_a_person(mode):
    person = Person(LATER)
    assert ruled(a_ledger(), person, "a.txt", ".envrc", mode=mode).answer is Answer.WAITS
    assert len(person.shown) == 1


def test_only_a_persons_own_off_lets_control_files_land_unseen():
    journal = a_ledger()
    assert (
        ruled(journal, None, ".envrc", mode=ReviewMode.AUTO, insisted=True).answer is Answer.WAITS
    )
    ruling = ruled(journal, None, ".envrc", mode=ReviewMode.OFF, insisted=True)
    assert (ruling.answer, ruling.how) == (Answer.APPROVED, "off")


def test_files_that_steer_nothing_land_by_the_commands_word():
    ruling = ruled(a_ledger(), None, "a.txt", mode=ReviewMode.AUTO, insisted=True)
    assert (ruling.answer, ruling.how) == (Answer.APPROVED, "auto")


def test_a_change_that_is_proven_twice_in_one_attempt_is_recorded_once():
    journal = a_ledger()
    review = ChangeReview(journal, None, insisted=False)

    def rule(attempt, *paths):
        before = journal.state.seq
        review.rule(a_task(ONE), attempt, changes(*paths), ReviewMode.OFF, lambda _: None)
        return journal.state.seq - before

    assert [rule(1, "a.txt"), rule(1, "a.txt", "b.txt"), rule(2, "a.txt")] == [1, 1, 1]


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
    person = Person(YES, Reply(Answer.APPROVED, for_all=True))
    assert ruled(a_ledger(), person, "a", "b", "c").answer is Answer.APPROVED


# --- what an answer given later comes to ----------------------------------------------


def test_what_waits_before_its_proof_is_held():
    journal = a_ledger()
    held(journal, "a")
    known = journal.state.task(ONE)
    assert (known.status, known.held.kind, known.held.attempt) == (Status.BLOCKED, "review", 1)
    assert known.passed is None


def test_nothing_follows_before_every_file_is_answered():
    journal = a_ledger()
    proposed = held(journal, "a", "b")
    answered(journal, proposed[0], YES)
    assert what_follows(journal.state, ONE, proposed) == ()


@pytest.mark.parametrize(("said", "note"), [(YES, APPROVED), (NO, REJECTED)])
def test_once_all_is_said_the_task_stands_as_it_was_said(said, note):
    journal = a_ledger()
    (proposed,) = held(journal, "a")
    answered(journal, proposed, said)
    for event in what_follows(journal.state, ONE, [proposed]):
        journal.note(event, task=ONE, attempt=1)
    known = journal.state.task(ONE)
    assert (known.status, known.note, known.tries) == (Status.PENDING, note, ())
    assert (known.held is None) == (said is NO)
    assert what_follows(journal.state, ONE, [proposed]) == ()


def test_a_no_after_a_yes_is_heard():
    journal = a_ledger()
    (proposed,) = held(journal, "a")
    for said in (YES, NO):
        answered(journal, proposed, said)
        for event in what_follows(journal.state, ONE, [proposed]):
            journal.note(event, task=ONE, attempt=1)
    known = journal.state.task(ONE)
    assert (known.note, known.held) == (REJECTED, None)
    assert isinstance(journal.state.review(ONE, "a", None, proposed.after), WriteRejected)


def test_an_approval_is_of_these_files_and_of_the_questions_that_were_shown():
    journal, files = a_ledger(), changes("a.txt", "b.txt")
    asked = Finding("integrity", "`test_price` fails in its earlier version on this code", line=3)
    answer = WriteReviewed(WHOLE, question_digest(asked), proposal_digest(files), "applied")
    journal.note(answer, task=ONE, attempt=1)
    assert is_approved(journal.state, ONE, files, [asked])
    assert is_approved(journal.state, ONE, files, [replace(asked, line=99)])
    assert not is_approved(journal.state, ONE, files, [asked, replace(asked, message="another")])
    assert not is_approved(journal.state, ONE, files[:1], [asked])
    assert not is_approved(journal.state, "TASK-002", files, [asked])
