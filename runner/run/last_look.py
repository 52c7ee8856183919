"""How long work that nobody wants any more may still look at what there is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner import effects

if TYPE_CHECKING:
    from runner.run.workers import WorkerPool

_WITH_THE_RUN = 1.0
"""Where all of it ends: with a command's own end well within five seconds."""
_ALONE = 10.0
"""Where one task ends and the run goes on: its work is kept, on a busy machine, too. Less than
`cancel` waits."""


@dataclass(slots=True)
class LastLook:
    """Tells that it is over a while after the end of a slot's work was asked for.

    Until then what was written is looked through, so that a draft can be kept.
    """

    crew: WorkerPool
    number: int
    _seen: float | None = None

    def __call__(self) -> bool:
        """Whether whatever goes on is to be given up now."""
        if not self.crew.ends(self.number).is_set():
            self._seen = None
            return False
        now = effects.monotonic()
        self._seen = now if self._seen is None else self._seen
        seconds = _WITH_THE_RUN if self.crew.cancelled.is_set() else _ALONE
        return now - self._seen > seconds
