"""One attempt at one task, in a scratch tree: a Brief goes in, an Outcome comes out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from runner import effects
from runner.gates import imported
from runner.gates.base import Bench, command_limits
from runner.gates.registry import prove_all
from runner.implementers.base import Said, Workbench
from runner.journal.events import GateCompleted, GateStarted
from runner.model import Ending, Outcome
from runner.process.command import Command, run
from runner.writes.bench import Bench as WriteBench
from runner.writes.pipeline import pass_writes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from threading import Event

    from runner.config.settings import Settings
    from runner.context.brief import Brief
    from runner.implementers.base import Implementer
    from runner.journal.events import Event as Happening
    from runner.model import Change, Finding, Proof, Task
    from runner.process.command import Place, Ran
    from runner.process.sandbox import Sandbox
    from runner.repo.scratch import Scratch
    from runner.run.crew import Crew
    from runner.writes.pipeline import WriteRules
    from runner.writes.sast import SastPool


@dataclass(frozen=True, slots=True)
class Assignment:
    """Everything a worker is told: it asks nobody else."""

    task: Task
    attempt: int
    base: str
    """Commit to build on; empty before the first commit."""
    brief: Brief
    rules: WriteRules
    implementer: Implementer | None
    """None where only the proof runs again, on `carried`."""
    carried: tuple[Change, ...] = ()
    """Changes that were made before and are proven on a new base."""
    secrets: tuple[tuple[str, str], ...] = ()
    """Names and values that this task's commands get."""


@dataclass(frozen=True, slots=True)
class Site:
    """What one job slot works with."""

    scratch: Scratch
    place: Place
    sandbox: Sandbox
    settings: Settings
    logs: Path
    logs_shown: str
    crew: Crew
    """Hands events to the coordinator, which alone writes the journal."""
    show: Callable[[str, str], None]
    """Shows a line of progress of a task."""
    release: Callable[[], None]
    before: Callable[[str, str], bytes | None]
    """The bytes of a path in a commit."""
    base_environment: Mapping[str, str]
    """The allow-list of the person's own variables."""
    sast: SastPool | None = None
    number: int = 0

    @property
    def cancelled(self) -> Event:
        """Set when the run is to end."""
        return self.crew.cancelled

    def teller(self, assignment: Assignment) -> Callable[[str], None]:
        """What shows the last output line of this task's commands."""
        return lambda line: self.show(assignment.task.id, line)

    def reset(self, base: str) -> None:
        """Make the scratch tree the base; without a sandbox, shared folders are linked into it."""
        self.scratch.reset(base or None)
        if self.sandbox.contains:
            return
        for share in self.place.shares:
            link = self.scratch.project / share
            if not link.exists() and not link.is_symlink() and link.parent.is_dir():
                effects.step("link", link)
                link.symlink_to(self.place.shown / share)

    def close(self) -> None:
        """Give the slot back."""
        self.release()

    def environment(self, assignment: Assignment) -> dict[str, str]:
        """What a task's commands get beside the allow-list."""
        return {
            **self.base_environment,
            "RUNNER_TASK": assignment.task.id,
            "RUNNER_ATTEMPT": str(assignment.attempt),
            "RUNNER_SLOT": str(self.number),
            "RUNNER_PORT_BASE": str(20000 + 100 * self.number),
            **dict(assignment.secrets),
        }


def attempt(assignment: Assignment, site: Site) -> Outcome:
    """Implement, ask the tree, pass every write, prove; nothing outside the slot is touched."""
    began = effects.monotonic()
    site.reset(assignment.base)
    said = _implement(assignment, site)
    seen = site.scratch.snapshot()
    outcome = Outcome(
        task=assignment.task.id,
        attempt=assignment.attempt,
        ending=Ending.FAILED,
        base=assignment.base,
        tree=seen.tree,
        changes=seen.changes,
        decisions=said.decisions,
        findings=said.findings,
        summary=said.summary,
    )
    if not any(finding.refuses for finding in said.findings) and not site.cancelled.is_set():
        outcome = _checked(assignment, site, outcome)
    if site.cancelled.is_set():
        outcome = replace(outcome, ending=Ending.INTERRUPTED)
    return replace(outcome, seconds=round(effects.monotonic() - began, 3))


def _implement(assignment: Assignment, site: Site) -> Said:
    """Let the implementer work in the scratch tree, or put carried work into it."""
    if assignment.implementer is None:
        site.scratch.apply(assignment.carried)
        return Said()
    bench = Workbench(
        place=site.place,
        sandbox=site.sandbox,
        limits=command_limits(assignment.task, site.settings),
        environment=site.environment(assignment),
        tell=site.teller(assignment),
        cancelled=site.cancelled,
        log=site.logs / assignment.task.id / str(assignment.attempt) / "implementer.log",
        known_secrets=tuple(value for _, value in assignment.secrets),
        network=site.settings.network_for(assignment.task.network),
    )
    return assignment.implementer.implement(assignment.brief, bench)


def _checked(assignment: Assignment, site: Site, outcome: Outcome) -> Outcome:
    """The outcome with what the write pipeline and the proof say of it."""
    passed = pass_writes(outcome.changes, assignment.rules, _write_bench(assignment, site))
    findings = (*outcome.findings, *passed.findings)
    outcome = replace(outcome, tainted=passed.tainted)
    site.crew.scanning(assignment.task.id, assignment.attempt, passed.sast)
    if any(finding.refuses for finding in passed.findings):
        return replace(outcome, findings=findings)
    proofs, failures = _prove(assignment, site, outcome.changes)
    findings = (*findings, *failures)
    good = not any(finding.refuses for finding in findings)
    return replace(
        outcome,
        ending=Ending.PASSED if good else Ending.FAILED,
        findings=findings,
        proofs=proofs,
    )


def _prove(
    assignment: Assignment, site: Site, changes: tuple[Change, ...]
) -> tuple[tuple[Proof, ...], tuple[Finding, ...]]:
    """Run test contracts and gates on exactly what would land.

    Whatever else an implementer's commands left (ignored files, caches) is taken away first: it
    would not be there after landing either.
    """
    if assignment.implementer is not None and changes:
        site.reset(assignment.base)
        site.scratch.apply(changes)
    bench = _bench(assignment, site)

    def tell(event: Happening) -> None:
        site.crew.report(assignment.task.id, assignment.attempt, event)

    proofs, findings = prove_all(
        assignment.task,
        site.settings,
        bench,
        started=lambda check: tell(GateStarted(gate=check.id, command=check.command)),
        completed=lambda proof: tell(GateCompleted(proof=proof)),
    )
    return proofs, (*findings, *imported.findings(bench))


def _write_bench(assignment: Assignment, site: Site) -> WriteBench:
    """What the write pipeline works with."""
    bench = _bench(assignment, site)
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
    )


def _bench(assignment: Assignment, site: Site) -> Bench:
    folder = f"{assignment.task.id}/{assignment.attempt}"
    watched = imported.watching(site.place, site.sandbox)
    return Bench(
        place=site.place,
        sandbox=site.sandbox,
        environment=site.environment(assignment) | watched,
        logs=site.logs / folder,
        logs_shown=f"{site.logs_shown}/{folder}",
        tell=site.teller(assignment),
        cancelled=site.cancelled,
        known_secrets=tuple(value for _, value in assignment.secrets),
    )
