"""What an implementer may ask in the middle of its work: a check, and the pipeline's word."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from runner.gates.base import failures_of, proof_of
from runner.gates.registry import checks_of
from runner.model import Ending, Finding, Outcome, Severity
from runner.repo.proposal_bounds import ProposalError
from runner.run.proof.prove import bench_of
from runner.text.wording import did_you_mean
from runner.writes.pipeline import WriteContext as WriteBench
from runner.writes.pipeline import admit_writes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.gates.base import Check
    from runner.journal.events import Event as Happening
    from runner.model import Change
    from runner.run.assignment import Assignment, WorkerContext

_CHECK = "run_gate"
_KINDS = ("test", "gate")
"""Checks that are one command; the others compare with the base, and run at the proof alone."""


def try_check(assignment: Assignment, site: WorkerContext, name: str) -> tuple[Finding, ...]:
    """Run one test contract or gate of the task by its name, on the tree as it is.

    It proves nothing: the same check runs again on exactly what would land. Within that check's
    own limits; findings where it fails. What the check itself leaves behind is taken away: it is
    not the implementer's.
    """
    checks = [one for one in checks_of(assignment.task, site.settings) if one.kind in _KINDS]
    found = next((one for one in checks if _is_named(one, name)), None)
    if found is None:
        known = [one.id for one in checks]
        hint = did_you_mean(name, known) or f"one of {', '.join(known) or 'none: it has no checks'}"
        return (Finding(_CHECK, f"this task has no check {name!a}", hint=hint),)
    try:
        with _put_back(assignment, site):
            return _findings_of(found, assignment, site)
    except ProposalError as error:
        return (Finding(_CHECK, error.message, path=error.path, hint=error.hint),)


def _findings_of(check: Check, assignment: Assignment, site: WorkerContext) -> tuple[Finding, ...]:
    task, attempt, base = assignment.task.id, assignment.attempt, assignment.base
    unproven = Outcome(task, attempt, Ending.FAILED, base, tree="")
    bench = bench_of(assignment, site, unproven)
    bench = replace(bench, logs=bench.logs / "tried", logs_shown=f"{bench.logs_shown}/tried")
    ran = bench.run(check)
    failed = failures_of(check, ran, proof_of(check, ran, bench, ()), bench)
    return failed or (Finding(check.id, "passed", severity=Severity.NOTE, detail=ran.tail),)


@contextmanager
def _put_back(assignment: Assignment, site: WorkerContext) -> Iterator[None]:
    """Afterwards the tree holds what it held before. Raises ProposalError."""
    before = site.scratch.snapshot()
    try:
        yield
    finally:
        if site.scratch.snapshot().tree != before.tree:
            site.reset(assignment.base)
            site.scratch.apply(before.changes)


def word_of_pipeline(
    assignment: Assignment, site: WorkerContext, change: Change
) -> tuple[Finding, ...]:
    """What the first steps of the pipeline say of one write: path, scope, plan, secrets."""
    bench = WriteBench(
        tree=site.scratch.project, before=lambda path: site.before(assignment.base, path)
    )
    return admit_writes((change,), assignment.rules, bench).findings


def tell_journal(assignment: Assignment, site: WorkerContext, event: Happening) -> None:
    """Hand an event of the implementer's to the coordinator, which alone writes the journal."""
    site.crew.report(assignment.task.id, assignment.attempt, event)


def _is_named(check: Check, name: str) -> bool:
    wanted = name.strip().casefold()
    return wanted in (check.id.casefold(), check.id.casefold().removeprefix("gate:"))
