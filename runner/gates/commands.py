"""Gates as checks: the project's commands and the task's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.gates.base import Check, Proved, failures_of, proof_of
from runner.process.command import Limits

if TYPE_CHECKING:
    from runner.config.settings import Settings
    from runner.gates.base import Bench
    from runner.model import GateSpec, Task


def checks(task: Task, settings: Settings) -> tuple[Check, ...]:
    """The project's gates for this type of task, then the task's own, which win by name."""
    own = {gate.name for gate in task.gates}
    projects = (gate for gate in settings.gates_for(task.type) if gate.name not in own)
    return tuple(_check(gate, task, settings) for gate in (*projects, *task.gates))


def _check(gate: GateSpec, task: Task, settings: Settings) -> Check:
    hard = gate.seconds or task.timeout or settings.seconds_for(gate)
    return Check(
        id=f"gate:{gate.name}",
        kind="gate",
        command=gate.command.removeprefix("sh:").strip(),
        network=settings.network_for(gate.network),
        limits=Limits(soft=hard, idle=hard, hard=hard),
    )


def prove(check: Check, bench: Bench) -> Proved:
    """Run one gate."""
    ran = bench.run(check)
    proof = proof_of(check, ran, bench, ())
    return Proved(proof, failures_of(check, ran, proof))
