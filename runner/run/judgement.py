"""What the write pipeline, a review and the proof say of a proposal, in that order."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from runner.gates import imported
from runner.gates.base import Bench, command_limits
from runner.gates.registry import prove_all
from runner.journal.events import GateCompleted, GateStarted
from runner.model import Ending, ReviewMode
from runner.process.command import Command, run
from runner.run.review import Answer
from runner.run.reviewer import reviewed_by_command
from runner.secrets.redact import redact
from runner.writes.bench import Bench as WriteBench
from runner.writes.laboratory import Laboratory
from runner.writes.pipeline import admit_writes, compile_writes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.gates.registry import Proven
    from runner.journal.events import Event as Happening
    from runner.model import Change, Outcome
    from runner.process.command import Ran
    from runner.run.review import Ruling
    from runner.run.site import Assignment, Site


def judged(assignment: Assignment, site: Site, outcome: Outcome) -> Outcome:
    """The outcome with what pipeline, review and proof say of it, one after the other."""
    if not outcome.changes:
        return _proven(assignment, site, outcome)
    bench = _write_bench(assignment, site, outcome)
    admitted = admit_writes(outcome.changes, assignment.rules, bench)
    outcome = replace(outcome, tainted=admitted.tainted)
    if admitted.clean and _reviewed_at_write(assignment, site, outcome):
        ruling = site.crew.ask(outcome)
        if ruling.answer is Answer.WAITS:
            return replace(outcome, ending=Ending.WAITS)
        if ruling.answer is Answer.EDITED:
            return judged(assignment, site, _with_edit(assignment, site, outcome, ruling))
        outcome = replace(outcome, findings=(*outcome.findings, *ruling.findings))
        if ruling.answer is Answer.REJECTED:
            return outcome
    passed = compile_writes(admitted, assignment.rules, bench)
    outcome = replace(outcome, findings=(*outcome.findings, *passed.findings))
    site.crew.scanning(assignment.task.id, assignment.attempt, passed.sast)
    if not passed.clean:
        return outcome
    if site.settings.sast_block_at != "never":  # then a person wants to wait for it
        blocking = passed.sast.result().blocking(site.settings.sast_block_at)
        outcome = replace(outcome, findings=(*outcome.findings, *blocking))
        if blocking:
            return outcome
    return _proven(assignment, site, outcome)


def _reviewed_at_write(assignment: Assignment, site: Site, outcome: Outcome) -> bool:
    """Whether a person looks before anything is compiled, rather than once at the end."""
    at_write = site.settings.review_at == "write" and assignment.review is ReviewMode.PROMPT
    return at_write and bool(outcome.changes)


def _with_edit(assignment: Assignment, site: Site, outcome: Outcome, ruling: Ruling) -> Outcome:
    """The proposal as a person edited it: it begins again at the first step."""
    site.reset(assignment.base)
    site.scratch.apply(ruling.changes)
    seen = site.scratch.snapshot()
    return replace(outcome, tree=seen.tree, changes=seen.changes)


def _proven(assignment: Assignment, site: Site, outcome: Outcome) -> Outcome:
    """The outcome with its proof, and with the reviewing command's word where one is asked."""
    proven = _prove(assignment, site, outcome)
    findings = (*outcome.findings, *proven.findings)
    bad = any(finding.refuses for finding in findings)
    if assignment.review is ReviewMode.AUTO and outcome.changes and not bad:
        findings = (*findings, *reviewed_by_command(assignment, site, outcome))
    good = not any(finding.refuses for finding in findings)
    return replace(
        outcome,
        ending=Ending.PASSED if good else Ending.FAILED,
        findings=findings,
        proofs=proven.proofs,
        coverage=proven.coverage,
        observed=proven.observed,
        tools=proven.tools,
    )


def _prove(assignment: Assignment, site: Site, outcome: Outcome) -> Proven:
    """Run test contracts and gates on exactly what would land.

    Whatever else an implementer's commands left (ignored files, caches) is taken away first: it
    would not be there after landing either.
    """
    ran_something = assignment.implementer is not None and not assignment.implementer.repeatable
    if ran_something and outcome.changes:
        site.reset(assignment.base)
        site.scratch.apply(outcome.changes)
    bench = _bench(assignment, site, outcome)

    def tell(event: Happening) -> None:
        site.crew.report(assignment.task.id, assignment.attempt, event)

    proven = prove_all(
        assignment.task,
        site.settings,
        bench,
        started=lambda check: tell(GateStarted(gate=check.id, command=redact(check.command))),
        completed=lambda proof: tell(GateCompleted(proof=proof)),
    )
    return replace(proven, findings=(*proven.findings, *imported.findings(bench)))


def _write_bench(assignment: Assignment, site: Site, outcome: Outcome) -> WriteBench:
    """What the write pipeline works with."""
    bench = _bench(assignment, site, outcome)
    limits = command_limits(assignment.task, site.settings)

    def run_command(line: str | tuple[str, ...], *, stdin: bytes = b"", folder: str = "") -> Ran:
        return run(
            Command(
                line=line,
                place=site.place,
                environment=bench.environment,
                stdin=stdin,
                limits=limits,
                known_secrets=bench.known_secrets,
                folder=folder,
            ),
            site.sandbox,
            tell=site.teller(assignment),
            cancelled=site.cancelled,
        )

    return WriteBench(
        tree=site.scratch.project,
        before=lambda path: site.before(assignment.base, path),
        run_command=run_command,
        sast=site.sast,
        laboratory=Laboratory(
            folder=site.place.box.parent / "scans",
            tree=site.scratch.project,
            base=lambda path: site.before(assignment.base, path),
            place=site.place,
            sandbox=site.sandbox,
            environment=site.base_environment,
            cancelled=site.cancelled,
        ),
    )


def _bench(assignment: Assignment, site: Site, outcome: Outcome) -> Bench:
    folder = f"{assignment.task.id}/{assignment.attempt}"
    watched = imported.watching(site.place, site.sandbox)
    return Bench(
        task=assignment.task,
        settings=site.settings,
        place=site.place,
        sandbox=site.sandbox,
        environment=site.environment(assignment) | watched,
        logs=site.logs / folder,
        logs_shown=f"{site.logs_shown}/{folder}",
        tell=site.teller(assignment),
        cancelled=site.cancelled,
        known_secrets=tuple(value for _, value in assignment.secrets),
        changes=outcome.changes,
        before=lambda path: site.before(assignment.base, path),
        tree=outcome.tree,
        base=assignment.base,
        on_base=partial(_on_base, assignment, site, outcome),
        kept=site.kept,
        red_first=assignment.red_first,
    )


@contextmanager
def _on_base(
    assignment: Assignment, site: Site, outcome: Outcome, changes: tuple[Change, ...]
) -> Iterator[None]:
    """While entered, the scratch tree is the base with `changes`; then the proposal again."""
    site.reset(assignment.base)
    site.scratch.apply(changes)
    try:
        yield
    finally:
        site.reset(assignment.base)
        site.scratch.apply(outcome.changes)
