"""Contracts as checks: the `command:` entries of a task's Contracts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.gates.base import Check, command_limits
from runner.gates.commands import prove

if TYPE_CHECKING:
    from runner.config.settings import Settings
    from runner.model import Task

__all__ = ["checks", "prove"]


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
