"""A clock for the silence of others that does not count one's own.

Who was stopped (Ctrl-Z, a machine that slept) has heard nothing meanwhile, though everybody spoke:
by a plain clock, all of them would be gone at the moment when it goes on.
"""

from __future__ import annotations

from runner import effects


class AwakeClock:
    """Seconds that only grow, by `longest` at most between two ticks of whoever watches."""

    def __init__(self, longest: float) -> None:
        self._longest = longest
        self._ticked = (0.0, effects.monotonic())  # one value: others read while it is written

    def now(self) -> float:
        """The seconds so far; from any thread."""
        seconds, at = self._ticked
        return seconds + min(effects.monotonic() - at, self._longest)

    def tick(self) -> None:
        """The watcher is awake; from its thread alone."""
        self._ticked = (self.now(), effects.monotonic())
