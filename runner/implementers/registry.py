"""Every implementer by the name a plan calls it, and which one a task gets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.implementers import blocks, command, nothing
from runner.implementers.base import CHECK
from runner.model import Finding
from runner.text.display import display
from runner.text.hints import did_you_mean

if TYPE_CHECKING:
    from runner.config.settings import Settings
    from runner.implementers.base import Implementer, Kind
    from runner.model import Task

IMPLEMENTERS: dict[str, type[Kind]] = {
    blocks.NAME: blocks.Blocks,
    command.NAME: command.CommandLine,
    nothing.NAME: nothing.Nothing,
}


def choose(task: Task, settings: Settings) -> Implementer | Finding:
    """The implementer of a task, or the reason that there is none, with what would help."""
    name = _name_for(task, settings)
    if not name:
        return Finding(
            CHECK,
            "no implementer",
            hint="write the files as blocks (```python file=PATH), or add - Command: …, "
            'or set implementer = "command" and command = "…" in the settings',
        )
    kind = IMPLEMENTERS.get(name.casefold())
    if kind is None:
        known = ", ".join(IMPLEMENTERS)
        return Finding(
            CHECK,
            f'there is no implementer "{display(name)}"',
            hint=did_you_mean(name, IMPLEMENTERS) or f"one of {known}",
        )
    return kind.for_task(task, settings)


def _name_for(task: Task, settings: Settings) -> str:
    """By the plan's words; a task that names nobody and writes nothing is a check."""
    if task.implementer:
        return task.implementer
    if task.blocks:
        return blocks.NAME
    if task.command:
        return command.NAME
    projects = settings.implementer or (command.NAME if settings.command else "")
    return projects or ("" if task.writes_anything else nothing.NAME)
