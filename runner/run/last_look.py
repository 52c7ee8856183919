"""How long work that nobody wants any more may still look at what there is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner import effects

if TYPE_CHECKING:
    from collections.abc import Callable

_SECONDS = 1.0
"""Enough to keep an ordinary draft, and with a command's own end well within five seconds."""


@dataclass(slots=True)
class LastLook:
    """Tells that it is over a moment after the end was asked for: until then a draft is kept."""

    ended: Callable[[], bool]
    _seen: float | None = None

    def __call__(self) -> bool:
        """Whether whatever goes on is to be given up now."""
        if not self.ended():
            self._seen = None
            return False
        now = effects.monotonic()
        self._seen = now if self._seen is None else self._seen
        return now - self._seen > _SECONDS
