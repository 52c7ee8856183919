"""Pace model calls evenly across all threads of this process."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING

from msgspec import Struct, field

from runner import effects
from runner.config.sizes import CallRate, parse_rate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from threading import Event

_LONG_WAIT = 2.0
"""Seconds; longer waits are reported."""


class Pacer(Struct):
    """Gives out one call after the other: nobody saves calls up for later."""

    rate: CallRate
    clock: Callable[[], float] = effects.monotonic
    _next: float = float("-inf")
    _lock: Lock = field(default_factory=Lock)

    def take(self) -> float:
        """Take the next call and return 0, or return the seconds until it is available."""
        with self._lock:
            now = self.clock()
            if now < self._next:
                return self._next - now
            self._next = now + self.rate.seconds
            return 0.0

    def pauses(self, tell: Callable[[str], None]) -> Iterator[float]:
        """Yield the seconds to wait until the next call is taken; report a long wait."""
        since, is_reported = self.clock(), False
        while seconds := self.take():
            if not is_reported and self.clock() - since + seconds > _LONG_WAIT:
                is_reported = True
                tell(f"waiting to call the model, limited by model.calls = {self.rate}")
            yield seconds

    def wait(self, cancelled: Event, tell: Callable[[str], None]) -> bool:
        """Wait for the next call; False if it was cancelled before."""
        return not any(cancelled.wait(seconds) for seconds in self.pauses(tell))


_PACERS: dict[str, Pacer] = {}


def find_pacer(calls: str) -> Pacer | None:
    """Return this process's pacer for a rate; None without a limit."""
    if not calls:
        return None
    return _PACERS.setdefault(calls, Pacer(parse_rate(calls)))
