"""What an implementer is: it is told a Brief, works in a scratch tree, and says how it went.

Nothing it says is believed: the tree is asked what changed, and the runner proves it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from runner.model import Decision, Finding, Network

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from threading import Event

    from runner.config.settings import Settings
    from runner.context.brief import Brief
    from runner.model import Task
    from runner.process.command import Limits, Place
    from runner.process.sandbox import Sandbox

CHECK = "implementer"
"""The name under which an implementer's own findings speak."""


@dataclass(frozen=True, slots=True)
class Workbench:
    """Where an implementer works, and within what bounds."""

    place: Place
    sandbox: Sandbox
    limits: Limits
    environment: Mapping[str, str]
    """All variables of its commands; RUNNER_TASK and its kin are added to them."""
    tell: Callable[[str], None]
    cancelled: Event
    log: Path | None = None
    """Where the output of its command is kept."""
    known_secrets: tuple[str, ...] = ()
    network: Network = Network.NO


@dataclass(frozen=True, slots=True)
class Said:
    """What an implementer says of its work; findings that refuse end the attempt."""

    summary: str = ""
    decisions: tuple[Decision, ...] = ()
    findings: tuple[Finding, ...] = field(default=())


class Implementer(Protocol):
    """Proposes changes by making them in the scratch tree."""

    @property
    def name(self) -> str:
        """The word of the plan's Implementer field."""

    @property
    def repeatable(self) -> bool:
        """Whether it would give the same bytes again: then it is called once."""

    def implement(self, brief: Brief, bench: Workbench) -> Said:
        """Change `bench.place.tree` as the brief asks."""


class Kind(Protocol):
    """How an implementer is made for a task; its class is one line of the registry."""

    @classmethod
    def for_task(cls, task: Task, settings: Settings) -> Implementer | Finding:
        """The implementer for this task, or why it cannot be one."""
