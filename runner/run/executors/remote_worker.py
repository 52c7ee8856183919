"""The crew of one on a worker: the attempt runs as it does at home, but nobody is there to ask.

What the coordinator alone knows is asked at home afterwards: a person's review, and which tests of
other tasks a change may break.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from runner.errors import RunnerError
from runner.gates.regression import prove_others
from runner.implementers.registry import choose
from runner.journal.events import NAMES, GateCompleted, GateStarted, Record
from runner.journal.records import encode
from runner.model import Ending, Finding, Outcome
from runner.run.executors.message import Others
from runner.run.proof.prove import bench_of
from runner.run.workers import WorkerPool
from runner.secrets.redact import redact

if TYPE_CHECKING:
    from collections.abc import Callable

    from runner.config.settings import Settings
    from runner.gates.base import Check
    from runner.gates.regression import Suspects
    from runner.journal.events import Event as Happening
    from runner.model import Proof
    from runner.run.assignment import Assignment, WorkerContext


class RemoteWorker(WorkerPool):
    """Hears what an attempt has to say; the coordinator hears it with the answer.

    `show` is told what goes on at once.
    """

    def __init__(self, show: Callable[[str], None]) -> None:
        super().__init__(1, _no_slots, inline=True)
        self._show = show
        self._lines: list[str] = []

    def report(self, task: str, number: int, event: Happening) -> None:
        """Keep it for the answer; a command of the proof that starts is shown, too."""
        self._lines.append(_as_line(task, number, event))
        if isinstance(event, GateStarted):
            self._show(f"{event.gate}: {event.command}")

    def lines(self) -> tuple[str, ...]:
        """All that was reported, as the journal would have it."""
        return tuple(self._lines)


def _no_slots(_number: int, _crew: WorkerPool) -> WorkerContext:
    raise RunnerError("a worker has no slots to give away")


def _as_line(task: str, number: int, event: Happening) -> str:
    name = NAMES[type(event)]
    record = Record("", 0, "", "", name, task, number, "", "", "", event)
    return encode(record).decode()


def with_implementer(assignment: Assignment, settings: Settings) -> Assignment:
    """The assignment with its implementer from this process's registry. Raises RunnerError."""
    if assignment.implementer is None:
        return assignment
    chosen = choose(assignment.task, settings)
    if isinstance(chosen, Finding):
        raise RunnerError(chosen.message, hint=chosen.hint)
    if chosen.name != assignment.implementer.name:
        raise RunnerError(f"it would be implemented by {chosen.name}, not as it was asked")
    return replace(assignment, implementer=chosen)


def others(assignment: Assignment, site: WorkerContext, suspects: Suspects) -> Others:
    """Tests of other tasks on what is carried, in a tree made from nothing but that."""
    site.reset(assignment.base)
    site.scratch.apply(assignment.carried)
    bench = bench_of(assignment, site, proposal_of(assignment))

    def on_started(check: Check) -> None:
        event = GateStarted(gate=check.id, command=redact(check.command))
        site.crew.report(assignment.task.id, assignment.attempt, event)

    def on_completed(proof: Proof) -> None:
        event = GateCompleted(proof=proof)
        site.crew.report(assignment.task.id, assignment.attempt, event)

    said = prove_others(suspects, bench, started=on_started, completed=on_completed)
    return Others(said.proofs, said.findings, said.observed)


def proposal_of(assignment: Assignment) -> Outcome:
    """What is carried, as an outcome that a bench can be about."""
    return Outcome(
        task=assignment.task.id,
        attempt=assignment.attempt,
        ending=Ending.FAILED,
        base=assignment.base,
        tree="",
        changes=assignment.carried,
    )
