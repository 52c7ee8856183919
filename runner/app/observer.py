"""The observer of a use case: receives events and shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from runner.journal.events import Record
    from runner.journal.state import RunState
    from runner.report.status_line import StatusWork


class Observer(Protocol):
    """The interface that receives a run's events: a terminal, a page or a test.

    Whoever is asked something is another one: `runner.run.review.Asker`.
    """

    def hear(self, record: Record, state: RunState) -> None:
        """Handle a journal event and the state after it."""

    def say(self, text: str) -> None:
        """Show a message about the run as a whole."""

    def progress(self, task: str, lines: str) -> None:
        """Show the next output lines of a task's command; called from any thread."""

    def announce(self, text: str) -> None:
        """Show a message from a signal handler, without locks or buffers."""

    def expect(self, work: Callable[[], StatusWork]) -> None:
        """Receive the tasks of the run and their past durations for counts and estimates."""

    def close(self) -> None:
        """Remove the progress display after everything has ended."""


class Silent(Observer):
    """Hears everything and shows nothing."""
