"""When a member of a group that is built on a held change is tried again: as any other task is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner import effects
from runner.run.limits.retries import CANCELLED

if TYPE_CHECKING:
    from collections.abc import Callable

    from runner.run.limits.timers import Timers


@dataclass(frozen=True, slots=True)
class Pace:
    """The coordinator's clock, and its ear while nobody works."""

    hours: Timers
    hear: Callable[[], object]
    """Waits for the next news, or for the next time of the clock, and does what it asks for."""

    def rest(self, id_: str, seconds: float) -> str:
        """Let a pause go by; why nothing more is tried after it, empty where the task goes on."""
        backoff = self.hours.backoff
        if seconds > 0:
            backoff.put(id_, effects.monotonic() + seconds)
        while id_ in backoff and not self.hours.used_up:
            if id_ in self.hours.take_due():
                break
            self.hear()
            if id_ not in backoff:
                return CANCELLED
        backoff.drop(id_)
        return self.hours.used_up
