"""The proof of a proposal: its own checks, then the tests of other tasks that it may break."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from runner.gates import import_watch
from runner.gates.base import GateContext
from runner.gates.registry import prove_all
from runner.gates.regression import Helper, prove_others
from runner.gates.weight import weigh_proofs
from runner.journal.events import GateCompleted, GateStarted
from runner.secrets.redact import redact

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.gates.base import Check
    from runner.gates.registry import Proven
    from runner.journal.events import Event as Happening
    from runner.model import Change, Outcome, Proof
    from runner.run.assignment import Assignment, WorkerContext


def proof_of(assignment: Assignment, site: WorkerContext, outcome: Outcome) -> Proven:
    """Run test contracts and gates on exactly what would land.

    Whatever else an implementer's commands left (ignored files, caches) is taken away first: it
    would not be there after landing either. Own tests that still stand do not run.
    """
    ran_something = assignment.implementer is not None and not assignment.implementer.repeatable
    if ran_something and outcome.changes:
        site.reset(assignment.base)
        site.scratch.apply(outcome.changes)
    bench = replace(bench_of(assignment, site, outcome), former=site.former(assignment))

    def tell(event: Happening) -> None:
        site.crew.report(assignment.task.id, assignment.attempt, event)

    def on_started(check: Check) -> None:
        tell(GateStarted(gate=check.id, command=redact(check.command)))

    def on_completed(proof: Proof) -> None:
        tell(GateCompleted(proof=proof))

    task, settings = assignment.task, site.settings
    asked = replace(task, test_contracts=()) if assignment.stands else task
    own = prove_all(asked, settings, bench, started=on_started, completed=on_completed)
    written = [change.path for change in outcome.changes]
    proofs = weigh_proofs(task, own.proofs, own.observed, written)
    own = replace(own, proofs=proofs, findings=(*own.findings, *import_watch.findings(bench)))
    if not outcome.changes or any(one.refuses and not one.asks for one in own.findings):
        return own
    others = prove_others(
        site.crew.trace(assignment, outcome),
        bench,
        started=on_started,
        completed=on_completed,
        lane=partial(_lane, assignment, site, outcome, bench),
    )
    return replace(
        own,
        proofs=(*own.proofs, *others.proofs),
        findings=(*own.findings, *others.findings),
        observed=(*own.observed, *others.observed),
    )


@contextmanager
def _lane(
    assignment: Assignment, site: WorkerContext, outcome: Outcome, own: GateContext
) -> Iterator[Helper | None]:
    """Another scratch tree with the same proposal in it, where one is free."""
    lanes = site.crew.lanes
    with lanes.lend() as other:
        if other is None:
            yield None
            return
        other.reset(assignment.base)
        other.scratch.apply(outcome.changes)
        bench = replace(bench_of(assignment, other, outcome), cancelled=own.cancelled)
        yield Helper(bench, lambda: lanes.may_go_on)


def bench_of(assignment: Assignment, site: WorkerContext, outcome: Outcome) -> GateContext:
    """Where the checks of a proposal run."""
    folder = f"{assignment.task.id}/{assignment.attempt}"
    watched = import_watch.watch_environment(site.place, site.sandbox)
    return GateContext(
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
        reviewed=assignment.reviewed,
        by_person=assignment.by_person,
        red_first=assignment.red_first,
        revised=assignment.revised,
    )


@contextmanager
def _on_base(
    assignment: Assignment, site: WorkerContext, outcome: Outcome, changes: tuple[Change, ...]
) -> Iterator[None]:
    """While entered, the scratch tree is the base with `changes`; then the proposal again."""
    site.reset(assignment.base)
    site.scratch.apply(changes)
    try:
        yield
    finally:
        site.reset(assignment.base)
        site.scratch.apply(outcome.changes)
