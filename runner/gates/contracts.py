"""Contracts as checks: the `command:` entries of a task's Contracts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.gates.base import Check, command_limits
from runner.gates.commands import prove

if TYPE_CHECKING:
    from runner.config.settings import Settings
    from runner.model import Task

__all__ = ["checks", "prove"]


def not_run(task: Task) -> str:
    """What a task asks for that this version does not prove, in words for its note; or nothing."""
    kinds = [one.kind for one in task.contracts if one.kind != "command"]
    asked = [*dict.fromkeys(f"{kind} contract" for kind in kinds)]
    asked += ["coverage"] if task.coverage is not None else []
    return f"not proven: {', '.join(asked)}" if asked else ""


def checks(task: Task, settings: Settings) -> tuple[Check, ...]:
    """The contracts that are commands of their own, in the task's order."""
    limits = command_limits(task, settings)
    commands = [contract for contract in task.contracts if contract.kind == "command"]
    return tuple(
        Check(
            id=f"contract:command-{number}",
            kind="contract",
            command=contract.value,
            network=settings.network_for(task.network),
            limits=limits,
        )
        for number, contract in enumerate(commands, start=1)
    )
