"""Prove a proposal: its own checks, then the tests of tasks that it may break."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from runner import effects
from runner.gates import commands, shim
from runner.gates.base import ChangeOrigin, GateContext
from runner.gates.check_run import standing_key
from runner.gates.contract_tests import as_command
from runner.gates.coverage_gate import weigh_proofs
from runner.gates.registry import checks_of, prove_all, together
from runner.gates.regression import Helper, excuse_gates, may_be_regression, prove_others
from runner.implementers.base import Mode
from runner.journal.events import GateCompleted, GateStarted, StageCompleted
from runner.model import ReviewMode
from runner.model.work import WAITS_FOR_BATCH
from runner.plan.proofs import find_examples
from runner.plan.shell.shell_commands import starts_no_program
from runner.run.secret_leases import lend_to_traced
from runner.secrets.redact import redact
from runner.text.display import display
from runner.text.wording import join_few

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from runner.config.settings import Settings
    from runner.gates.base import Check, Proved
    from runner.gates.registry import TaskProof
    from runner.journal.events import Event as Happening
    from runner.model import Change, Finding, GateSpec, Outcome, Proof, Task
    from runner.run.worker_assignment import Assignment, WorkerContext


def prove_proposal(assignment: Assignment, site: WorkerContext, outcome: Outcome) -> TaskProof:
    """Run test contracts and gates on exactly what would land.

    Whatever else an implementer's commands left (ignored files, caches) is taken away first: it
    would not be there after landing either. Own tests and contracts that still stand do not run.
    """
    ran_something = assignment.implementer is not None and not assignment.implementer.repeatable
    if ran_something and outcome.changes:
        site.lay_out(assignment.base, outcome.changes)
    if assignment.gates:
        context = make_gate_context(assignment, site, outcome)
        return _prove_gates(assignment.gates, assignment, site, context)
    context = replace(make_gate_context(assignment, site, outcome), former=site.former(assignment))

    def tell(event: Happening) -> None:
        site.workers.report(assignment.task.id, assignment.attempt, event)

    def on_started(check: Check) -> None:
        tell(GateStarted(gate=check.id, command=redact(check.command)))

    def on_completed(proof: Proof) -> None:
        count_named(0.0 if proof.stands_from else proof.seconds)
        tell(GateCompleted(proof=proof))

    task, settings = assignment.task, site.settings
    asked = replace(task, test_contracts=()) if assignment.stands else task
    asked = replace(asked, contracts=()) if assignment.contracts_stand else asked

    def on_took(check: str, seconds: float) -> None:
        before = " again, or on the base" if check.startswith("gate:") else ""
        report_stage(assignment, site, f"{check}{before}", seconds)

    own = prove_all(
        asked,
        settings,
        context,
        started=on_started,
        completed=on_completed,
        known=_defer_gates(task, settings) if assignment.unproven else {},
        took=on_took,
    )
    own = weigh_own(own, context, site)
    # Other tasks' tests are irrelevant for bytes that are rebuilt anyway. A person decides about a
    # question and a regression: after an approval exactly these bytes land.
    if not (outcome.changes and may_be_regression(own, task)):
        return own
    suspects = lend_to_traced(site.workers.trace(assignment, outcome), assignment, site)
    others = prove_others(
        suspects,
        context,
        started=on_started,
        completed=on_completed,
        lane=partial(_lane, assignment, site, outcome, context),
    )
    if suspects.enough is None and any(one.refuses for one in others.findings):
        own = _run_waiting(own, assignment, site, context)
    own = excuse_gates(own, others)
    return replace(
        own,
        proofs=(*own.proofs, *others.proofs),
        findings=(*own.findings, *others.findings),
        observed=(*own.observed, *others.observed),
    )


def _defer_gates(task: Task, settings: Settings) -> dict[str, Proved]:
    """Return the project's gates as skipped, since they must pass with all tasks of a group.

    They may fail in tests of the tasks that follow, which are built to fit this change.
    """
    own = {gate.name for gate in task.gates}
    gates = [gate for gate in settings.gates if gate.name not in own]
    checks = [commands.make_gate_check(gate, task, settings) for gate in gates]
    why = "runs with the last task of the group that lands together"
    return {check.id: commands.make_skipped_proof(check, why) for check in checks}


def _run_waiting(
    own: TaskProof, assignment: Assignment, site: WorkerContext, context: GateContext
) -> TaskProof:
    """Run the gates that wait for a batch, since a person is asked about this change alone."""
    task, settings = assignment.task, site.settings
    waiting = {one.id for one in own.proofs if one.note == WAITS_FOR_BATCH}
    gates = tuple(one for one in settings.gates_for(task.type) if f"gate:{one.name}" in waiting)
    ran = _prove_gates(gates, assignment, site, replace(context, may_wait=lambda: False))
    by_id = {one.id: one for one in ran.proofs}
    return replace(
        own,
        proofs=tuple(by_id.get(one.id, one) for one in own.proofs),
        findings=(*own.findings, *ran.findings),
        failing={**own.failing, **ran.failing},
    )


def _prove_gates(
    gates: Sequence[GateSpec], assignment: Assignment, site: WorkerContext, context: GateContext
) -> TaskProof:
    """Run only some gates, on changes that have passed all else."""
    proved = []
    for gate in gates:
        check = commands.make_gate_check(gate, assignment.task, site.settings)
        started = GateStarted(gate=check.id, command=redact(check.command))
        site.workers.report(assignment.task.id, assignment.attempt, started)
        proved.append(commands.prove(check, context))
        if (proof := proved[-1].proof) is not None:
            completed = GateCompleted(proof=proof)
            site.workers.report(assignment.task.id, assignment.attempt, completed)
    return together(proved)


def weigh_own(own: TaskProof, context: GateContext, site: WorkerContext) -> TaskProof:
    """Evaluate the results of a task's own checks, and find those that do not count."""
    written = [change.path for change in context.changes]
    proofs = weigh_proofs(context.task, own.proofs, own.observed, written, own.unshown)
    findings = (*own.findings, *shim.findings(context))
    if any(one.refuses and not one.asks for one in findings):
        findings = _with_submodules(findings, site)
    return replace(own, proofs=proofs, findings=findings)


def _with_submodules(findings: Sequence[Finding], site: WorkerContext) -> tuple[Finding, ...]:
    """Return the findings, with missing submodules added to the first refusal's hint."""
    lacking = sorted(map(display, site.scratch.gitlinks.keys() - site.place.submodules))
    first = next((one for one in findings if one.refuses and not one.asks), None)
    if not lacking or first is None:
        return tuple(findings)
    why = "not sent to workers of a cluster"
    if site.submodules is not None:
        why = "not checked out: git submodule update --init"
    verb = "are submodules, which are" if len(lacking) > 1 else "is a submodule, which is"
    reason = f"{join_few(lacking)} {verb} {why}"
    marked = replace(first, hint="; ".join(filter(None, (reason, first.hint))))
    return tuple(marked if one is first else one for one in findings)


def prove_standing(
    assignment: Assignment, site: WorkerContext, outcome: Outcome
) -> TaskProof | None:
    """Return the proof of a check whose commands all passed on this tree, else None."""
    task, memory = assignment.task, site.memory
    if memory is None or task.contracts or find_examples(task) or not task.test_contracts:
        return None
    lines = (as_command(one.command) for one in task.test_contracts)
    if not all(memory.has_passed(outcome.tree, line) for line in lines):
        return None
    context = make_context(assignment, site, outcome, site.environment(assignment))
    for check in (one for one in checks_of(task, site.settings) if one.command):
        key = standing_key(check, context)
        if key is None or memory.find(key) is None:
            return None
    own = prove_all(task, site.settings, context, started=_nobody, completed=_nobody)
    return replace(own, proofs=weigh_proofs(task, own.proofs, own.observed, (), own.unshown))


def _nobody(_result: object) -> None:
    """Ignore the result, since the caller reports all results together."""


@contextmanager
def _lane(
    assignment: Assignment, site: WorkerContext, outcome: Outcome, own: GateContext
) -> Iterator[Helper | None]:
    """Lend another scratch tree with the same proposal, if one is free."""
    lanes = site.workers.lanes
    with lanes.lend() as other:
        if other is None:
            yield None
            return
        other.lay_out(assignment.base, outcome.changes)
        context = replace(make_gate_context(assignment, other, outcome), cancelled=own.cancelled)
        yield Helper(context, lambda: lanes.may_go_on)


def make_gate_context(assignment: Assignment, site: WorkerContext, outcome: Outcome) -> GateContext:
    """Create the context in which a proposal's checks run."""
    environment = site.environment(assignment)
    if outcome.changes or not _starts_no_program(assignment, site):
        environment |= shim.watch_environment(site.place, site.sandbox, environment)
    if site.memory is not None:
        ran_something = assignment.implementer is not None and not assignment.implementer.repeatable
        beside = site.settings.compile or (ran_something and not outcome.changes)
        site.memory.begin(site.place, clean=not beside)
    return make_context(assignment, site, outcome, environment)


def make_context(
    assignment: Assignment, site: WorkerContext, outcome: Outcome, environment: dict[str, str]
) -> GateContext:
    """Create the context of a proposal's checks without starting anything."""
    folder = f"{assignment.task.id}/{assignment.attempt}"
    return GateContext(
        task=assignment.task,
        settings=site.settings,
        place=site.place,
        sandbox=site.sandbox,
        environment=environment,
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
        find_differing=site.scratch.find_differing,
        memory=site.memory,
        may_wait=partial(_may_wait, assignment, site),
        origin=ChangeOrigin(
            reviewed=assignment.reviewed,
            by_person=assignment.by_person,
            red_first=assignment.red_first,
            taken_back=assignment.taken_back,
            revised=assignment.revised,
        ),
        prove_held_out=partial(site.prove_stored, assignment.base),
    )


def _may_wait(assignment: Assignment, site: WorkerContext) -> bool:
    """Return whether a test suite may run later, for several tasks that passed their own tests.

    What somebody reviews is proven before.
    """
    builds = assignment.mode is Mode.EXECUTE and not (assignment.is_partial or assignment.gates)
    waits = site.settings.proof.gate_batch_seconds > 0 and site.has_company()
    unseen = assignment.review is ReviewMode.OFF
    return builds and waits and unseen and bool(assignment.task.test_contracts)


def _starts_no_program(assignment: Assignment, site: WorkerContext) -> bool:
    """Return whether the task's proof starts no program that could be observed."""
    task = assignment.task
    lines = [one.command for one in checks_of(task, site.settings) if one.command]
    read = partial(site.before, assignment.base)
    return not task.contracts and all(starts_no_program(line, read) for line in lines)


@contextmanager
def _on_base(
    assignment: Assignment, site: WorkerContext, outcome: Outcome, changes: tuple[Change, ...]
) -> Iterator[None]:
    """Reset the scratch tree to the base with `changes` during the block, then to the proposal."""
    site.lay_out(assignment.base, changes)
    try:
        yield
    finally:
        site.lay_out(assignment.base, outcome.changes)


_LEAST = 0.5
"""Minimum seconds of a part with its own line: shorter ones delay nobody."""
_LEAST_OTHER, _LEAST_ATTEMPT = 0.2, 1.0
"""Minimum seconds of all shorter parts together, and of the attempt, to get a line."""
_NAMED: ContextVar[list[float]] = ContextVar("named")
"""Seconds of this attempt that already have a line; per worker thread."""


@contextmanager
def measure_attempt(assignment: Assignment, site: WorkerContext) -> Iterator[None]:
    """Report the seconds of an attempt that none of its parts has a line for, as one part."""
    began, named = effects.monotonic(), list[float]()
    before = _NAMED.set(named)
    try:
        yield
    finally:
        _NAMED.reset(before)
    whole = effects.monotonic() - began
    other = whole - sum(named)
    if whole >= _LEAST_ATTEMPT and other >= _LEAST_OTHER:
        _report(assignment, site, "other", other)


@contextmanager
def measure_stage(assignment: Assignment, site: WorkerContext, stage: str) -> Iterator[None]:
    """Report how long a part of the attempt takes."""
    began = effects.monotonic()
    yield
    report_stage(assignment, site, stage, effects.monotonic() - began)


def report_stage(assignment: Assignment, site: WorkerContext, stage: str, seconds: float) -> None:
    """Report a part of the attempt that took so long."""
    if seconds >= _LEAST:
        count_named(seconds)
        _report(assignment, site, stage, seconds)


def count_named(seconds: float) -> None:
    """Count seconds that have a line."""
    _NAMED.get([]).append(seconds)  # outside of an attempt they are counted nowhere


def _report(assignment: Assignment, site: WorkerContext, stage: str, seconds: float) -> None:
    event = StageCompleted(stage=stage, seconds=round(seconds, 3))
    site.workers.report(assignment.task.id, assignment.attempt, event)
