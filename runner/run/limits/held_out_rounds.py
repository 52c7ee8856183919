"""Count failed held-out rounds: some go back to the implementer, then a person decides."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from runner.model import Ending, Finding, Reason, Severity, Verdict
from runner.model.words import HELD_OUT, HELD_OUT_FAILED
from runner.model.work import Doubt, ItemVerdict, rows_of, with_rows

if TYPE_CHECKING:
    from collections.abc import Iterable

    from runner.model import Outcome

_PRIVATE = (HELD_OUT, HELD_OUT_FAILED)


def as_question(outcome: Outcome) -> Outcome:
    """Return the outcome with failed held-out tests as a question for a person.

    It is the same object where no such test failed, or where another check refuses, too.
    """
    failed = {one.id for one in outcome.proofs if one.held_out and one.verdict is Verdict.FAIL}
    refusals = [one for one in outcome.findings if one.refuses and not one.asks]
    known = {one.check for one in refusals}
    if outcome.ending is not Ending.FAILED or not known or not known <= failed:
        return outcome
    findings = tuple(_ask(one) if one in refusals else one for one in outcome.findings)
    return replace(outcome, findings=findings)


def _ask(failure: Finding) -> Finding:
    return replace(
        failure,
        check=HELD_OUT_FAILED,
        message=f"{failure.check}: {failure.message}",
        severity=Severity.QUESTION,
    )


def waive(outcome: Outcome, reason: str) -> Outcome:
    """Return the outcome with its failed held-out contracts as waived by a person."""
    failed = {one.id for one in outcome.proofs if one.held_out and one.verdict is Verdict.FAIL}
    rows = tuple(
        replace(row, verdict=ItemVerdict.CANNOT_TELL, doubt=Doubt.WAIVED)
        if row.by in failed
        else row
        for row in rows_of(outcome.proofs)
    )
    note = f"waived by a person: {reason}"
    proofs = tuple(
        replace(one, verdict=Verdict.KNOWN, note=note) if one.id in failed else one
        for one in outcome.proofs
        if one.row is None
    )
    items = {row.item for row in rows}
    return replace(outcome, proofs=with_rows(proofs, rows, items)) if failed else outcome


def needs_reason(questions: Iterable[Finding]) -> bool:
    """Return whether a person must say why they let these questions pass."""
    return any(one.check in _PRIVATE for one in questions)


def reason_of(questions: Iterable[Finding]) -> Reason:
    """Return why a task waits that asks these questions."""
    return Reason.HELD_OUT if needs_reason(questions) else Reason.REVIEW


def without_private(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the findings that an implementer may read."""
    return tuple(one for one in findings if one.check != HELD_OUT)
