"""Evaluate a proposal: write pipeline, review, proof, in this order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from runner.gates.base import command_limits
from runner.model import Ending, Reason, ReviewMode, Verdict
from runner.model.words import HELD_OUT_MISSING
from runner.model.work import WAITS_FOR_BATCH, items_of, with_rows
from runner.process.base import Command
from runner.process.supervise import run
from runner.process.tools import find_project_python
from runner.run.planned import phases
from runner.run.proof import held_out
from runner.run.proof.prove import make_gate_context, measure_stage, proof_of
from runner.run.proof_sufficiency import too_little
from runner.run.review import Answer
from runner.run.reviewers import UNABLE, review_of
from runner.writes.compile_check import lacks_only_tools
from runner.writes.pipeline import WriteContext, admit_writes, compile_writes
from runner.writes.scan_workspace import ScanWorkspace

if TYPE_CHECKING:
    from runner.gates.registry import TaskProof
    from runner.model import Finding, Outcome, Proof
    from runner.process.base import Ran
    from runner.run.assignment import Assignment, WorkerContext
    from runner.run.review import Ruling


def evaluate(assignment: Assignment, site: WorkerContext, outcome: Outcome) -> Outcome:
    """Run the write pipeline, review and proof on an outcome, and return the result."""
    if not outcome.changes or assignment.gates:
        return _prove(assignment, site, outcome)
    context = make_write_context(assignment, site, outcome)
    with measure_stage(assignment, site, "write pipeline"):
        admitted = admit_writes(outcome.changes, assignment.rules, context)
    outcome = replace(outcome, tainted=admitted.tainted)
    at_write = site.settings.review.at == "write" and assignment.review is ReviewMode.PROMPT
    if admitted.clean and at_write:  # before anything is compiled, rather than once at the end
        ruling = site.workers.ask(outcome)
        if ruling.answer is Answer.WAITS:
            return replace(outcome, ending=Ending.WAITS)
        if ruling.answer is Answer.EDITED:
            return evaluate(assignment, site, _with_edit(assignment, site, outcome, ruling))
        if ruling.standing:  # answered before: the attempt counts, and is settled with it
            return outcome
        outcome = replace(outcome, findings=(*outcome.findings, *ruling.findings))
        if ruling.answer is Answer.REJECTED:
            return outcome
    with measure_stage(assignment, site, "compile and static analysis"):
        passed = compile_writes(admitted, assignment.rules, context)
    outcome = replace(outcome, findings=(*outcome.findings, *passed.findings))
    site.workers.add_scan(assignment.task.id, assignment.attempt, passed.sast)
    if not passed.clean:
        return without_tools(outcome)
    if site.settings.proof.sast_block_at != "never":  # then a person wants to wait for it
        blocking = passed.sast.result().find_blocking(site.settings.proof.sast_block_at)
        outcome = replace(outcome, findings=(*outcome.findings, *blocking))
        if blocking:
            return outcome
    return _prove(assignment, site, outcome)


def without_tools(outcome: Outcome) -> Outcome:
    """Return the outcome as BLOCKED if only missing tools reject it."""
    if not lacks_only_tools(outcome.findings):
        return outcome
    return replace(outcome, ending=Ending.BLOCKED, reason=Reason.TOOL)


def screen(assignment: Assignment, site: WorkerContext, outcome: Outcome) -> Outcome:
    """Return the outcome of failed work with its rejected paths marked as tainted.

    A draft branch keeps the rest: what holds a secret or lies out of scope must not come along.
    """
    if not outcome.changes:
        return outcome
    admitted = admit_writes(
        outcome.changes, assignment.rules, make_write_context(assignment, site, outcome)
    )
    findings = tuple(finding for finding in admitted.findings if finding.refuses)
    return replace(outcome, tainted=admitted.tainted, findings=(*outcome.findings, *findings))


def _with_edit(
    assignment: Assignment, site: WorkerContext, outcome: Outcome, ruling: Ruling
) -> Outcome:
    """Return the outcome with a person's edit, which restarts the pipeline."""
    site.lay_out(assignment.base, ruling.changes)
    seen = site.scratch.snapshot()
    return replace(outcome, tree=seen.tree, changes=seen.changes)


def _prove(assignment: Assignment, site: WorkerContext, outcome: Outcome) -> Outcome:
    """Run the proof on an outcome, and the review command if due; return the result."""
    proof = phases.proof_so_far if assignment.is_partial else proof_of
    return conclude(assignment, site, outcome, proof(assignment, site, outcome))


def conclude(
    assignment: Assignment, site: WorkerContext, outcome: Outcome, proven: TaskProof
) -> Outcome:
    """Return the outcome with the results of its proof and its reviews."""
    if assignment.held_out:
        proven = held_out.prove_held_out(assignment, site, outcome, proven)
    if assignment.author_tests.files:
        proven = held_out.weigh_visible(assignment, site, outcome, proven)
    findings = (*outcome.findings, *proven.findings)
    bad = any(finding.refuses for finding in findings)
    if assignment.rows and not bad:
        items = items_of(assignment.task)
        proven = replace(proven, proofs=with_rows(proven.proofs, assignment.rows, items))
    # Only for proven bytes: don't pay for a review of work that will be rebuilt anyway.
    if assignment.review is ReviewMode.AUTO and outcome.changes and not bad:
        review = review_of(assignment, site, outcome, proven)
        findings = (*findings, *review.findings)
        outcome = replace(outcome, usage=outcome.usage + review.usage)
        items = items_of(assignment.task)
        proven = replace(proven, proofs=with_rows(proven.proofs, review.rows, items))
    good = not any(finding.refuses for finding in findings)
    reason = _find_obstacle(findings)
    if good and (lack := _too_little(assignment, site, outcome, proven.proofs)) is not None:
        good, reason, findings = False, Reason.PROOF, (*findings, lack)
    failed = Ending.BLOCKED if reason else Ending.FAILED
    return replace(
        outcome,
        ending=Ending.PASSED if good else failed,
        reason=reason or outcome.reason,
        findings=findings,
        proofs=proven.proofs,
        coverage=proven.coverage,
        observed=proven.observed,
        tools=proven.tools,
    )


def _find_obstacle(findings: tuple[Finding, ...]) -> Reason | None:
    """Return why no other attempt can help; None where one may."""
    checks = {finding.check for finding in findings}
    if HELD_OUT_MISSING in checks:
        return Reason.HELD_OUT
    return Reason.TOOL if UNABLE in checks else None


def _too_little(
    assignment: Assignment, site: WorkerContext, outcome: Outcome, proofs: tuple[Proof, ...]
) -> Finding | None:
    """Return what a passed proof lacks for this author's work, or None."""
    if assignment.is_partial or assignment.stands:
        return None  # phases are proven together; tests that stand are among the proofs later
    if assignment.held_out and site.held_out is None:
        return None  # a worker elsewhere: what its proof lacks runs at home
    written = [change.path for change in outcome.changes]
    # What waits lands only if it passes.
    proofs = tuple(
        replace(one, verdict=Verdict.PASS) if one.note == WAITS_FOR_BATCH else one for one in proofs
    )
    return too_little(assignment.task, site.settings, assignment.author, proofs, written)


def make_write_context(
    assignment: Assignment, site: WorkerContext, outcome: Outcome
) -> WriteContext:
    """Create the context of the write pipeline."""
    context = make_gate_context(assignment, site, outcome)
    limits = command_limits(assignment.task, site.settings)

    def run_command(line: str | tuple[str, ...], *, stdin: bytes = b"", folder: str = "") -> Ran:
        return run(
            Command(
                line=line,
                place=site.place,
                environment=context.environment,
                stdin=stdin,
                limits=limits,
                known_secrets=context.known_secrets,
                folder=folder,
            ),
            site.sandbox,
            tell=site.teller(assignment),
            cancelled=site.cancelled,
        )

    return WriteContext(
        tree=site.scratch.project,
        before=lambda path: site.before(assignment.base, path),
        run_command=run_command,
        python=find_project_python(site.place, context.environment),
        on_base=None if site.settings.proof.strict else context.on_base,
        sast=site.sast,
        secrets=assignment.secrets,
        stopped=site.scratch.stopped,
        laboratory=ScanWorkspace(
            folder=site.place.box.parent / "scans",
            tree=site.scratch.project,
            base=lambda path: site.before(assignment.base, path),
            place=site.place,
            sandbox=site.sandbox,
            environment=site.base_environment,
            interrupted=lambda: site.workers.interrupted,  # a pool that ends in peace ends no scan
        ),
    )
