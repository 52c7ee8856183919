"""The parts of a planned task that decide status and grade: the plan and its outline have them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from runner.model.task import Spec
    from runner.model.words import Status


class PlannedTask(Protocol):
    """A task as the plan's own tasks and those of its outline are known."""

    @property
    def id(self) -> str:
        """The task's id."""

    @property
    def type(self) -> str:
        """The written type."""

    @property
    def status(self) -> Status:
        """The status in the file."""

    @property
    def note(self) -> str:
        """The note behind it."""

    @property
    def spec(self) -> Spec:
        """Both digests."""

    @property
    def depends_on(self) -> tuple[str, ...]:
        """What it needs."""

    @property
    def outputs(self) -> tuple[str, ...]:
        """What it may write."""
