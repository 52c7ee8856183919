"""The `check` implementer: changes nothing, so that only the proof runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from runner.implementers.base import WorkResult

if TYPE_CHECKING:
    from runner.config.settings import Settings
    from runner.context.brief import Brief
    from runner.implementers.base import ImplementerContext
    from runner.model import Task

NAME = "check"


class Nothing(Struct, frozen=True):
    """Leaves the tree as it is."""

    name: str = NAME
    is_agent: bool = False
    repeatable: bool = True

    @classmethod
    def for_task(cls, task: Task, settings: Settings) -> Nothing:  # noqa: ARG003  fits any task
        """Create an implementer that only runs checks."""
        return cls()

    def implement(self, brief: Brief, context: ImplementerContext) -> WorkResult:  # noqa: ARG002  the protocol's
        """Return an empty result: there is nothing to do."""
        return WorkResult()
