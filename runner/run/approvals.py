"""Questions that a proof puts to a person: after one repair, answered for exactly these bytes.

A question (`Severity.QUESTION`) is no failed check. The answer is a review of the proposal as a
whole, by its digest and that of each question that was shown: it holds for no other bytes and no
other question (the same bytes may ask one on another base), and outlives runs and crashes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from runner.gates.base import INTEGRITY
from runner.gates.integrity import integrity_proof
from runner.journal.events import WriteRejected, WriteReviewed
from runner.model import Ending, Severity
from runner.run.review import WHOLE, proposal_digest, question_digest
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from runner.journal.task_state import TaskState
    from runner.model import Change, Finding, Outcome

APPROVED = "approved by a person"
MORE = " more ("
"""How a note goes on that names some of the questions that were answered."""
PROMPT = "let these bytes pass? [y]es, [r]eject, or [w]ait? "
_SHOWN = 3
_DETAIL = 12


def approvals(changes: Sequence[Change], questions: Iterable[Finding]) -> tuple[WriteReviewed, ...]:
    """A person's yes to each of the questions about a proposal that they were shown."""
    whole = proposal_digest(changes)
    digests = dict.fromkeys(map(question_digest, questions))
    return tuple(WriteReviewed(WHOLE, one, whole, "applied", "person") for one in digests)


def rejection(changes: Sequence[Change], reason: str) -> WriteRejected:
    """A person's no to a proposal."""
    return WriteRejected(WHOLE, None, proposal_digest(changes), reason, "person")


def was_told(known: TaskState, questions: Iterable[Finding]) -> bool:
    """Whether an attempt before this one failed by the same checks: it had its repair."""
    asked = {finding.check for finding in questions}
    return any(asked <= set(one.checks) for one in known.tries)


def with_approval(outcome: Outcome) -> Outcome:
    """An outcome whose questions were answered: it passed, and says what a person let pass."""
    questions = outcome.questions
    findings = tuple(
        replace(one, severity=Severity.WARNING, message=f"{one.message} ({APPROVED})", hint="")
        if one.asks
        else one
        for one in outcome.findings
    )
    note = f"{note_of(questions)} ({APPROVED})"
    others = tuple(one for one in outcome.proofs if one.kind != INTEGRITY)
    proofs = (*others, integrity_proof(note, len(questions)))
    return replace(outcome, ending=Ending.PASSED, findings=findings, proofs=proofs)


def was_answered(outcome: Outcome) -> bool:
    """Whether a person let what it asks pass: then the rest of the review is theirs, too."""
    ours = (one for one in outcome.proofs if one.kind == INTEGRITY)
    return any(one.note.endswith(f"({APPROVED})") for one in ours)


def note_on_done(outcome: Outcome) -> str:
    """What a DONE says of tests that were changed on purpose; empty where none were."""
    return next((one.note for one in outcome.proofs if one.kind == INTEGRITY), "")


def note_of(questions: Sequence[Finding]) -> str:
    """The questions in a line."""
    shown = "; ".join(one.message for one in questions[:_SHOWN])
    more = len(questions) - _SHOWN
    return f"{shown} … and {more} more" if more > 0 else shown


def format_questions(questions: Iterable[Finding]) -> Iterator[str]:
    """The questions for a person, one a line, with what they say more."""
    for one in questions:
        where = f"{one.path}:{one.line}: " if one.path and one.line else ""
        yield f"? {display(where + one.message)}"
        yield from (f"    {display(line)}" for line in one.detail.splitlines()[-_DETAIL:])
