"""Who follows a use case: it tells them what happens, and they show it as they like."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from runner.journal.events import Record
    from runner.journal.state import RunState
    from runner.report.status_line import StatusWork


class Observer(Protocol):
    """What a person's terminal, a page or a test hears of a run while it goes on.

    Whoever is asked something is another one: `runner.run.review.Asker`.
    """

    def hear(self, record: Record, state: RunState) -> None:
        """An event, as the journal has it, and what is known after it."""

    def say(self, text: str) -> None:
        """Something about the whole that a person is to know."""

    def progress(self, task: str, lines: str) -> None:
        """The next output lines of a task's command; called by any thread."""

    def announce(self, text: str) -> None:
        """What a signal's handler says: it must take no lock and use no buffer."""

    def expect(self, work: Callable[[], StatusWork]) -> None:
        """What the run is about and how long it took before, for who counts or estimates."""

    def close(self) -> None:
        """Nothing runs any more: what is shown while something does may go."""


class Silent(Observer):
    """Hears everything and shows nothing."""
