"""Upkeep that may wait: done only while it takes a small share of the run's time."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from runner import effects

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(slots=True)
class TimeQuota:
    """Keeps what is written again and again (statuses, map, checkpoint) from growing with the plan.

    The first time is always affordable; then what was spent so far must stay below the share.
    """

    most: float
    """The part of the run's time that may be spent, from 0 to 1."""
    _began: float = field(default_factory=effects.monotonic)
    _spent: float = 0.0

    @property
    def affordable(self) -> bool:
        """Whether it may be done now."""
        return self._spent <= self.most * (effects.monotonic() - self._began)

    @contextmanager
    def spend(self) -> Iterator[None]:
        """Count the time that is spent inside."""
        began = effects.monotonic()
        try:
            yield
        finally:
            self._spent += effects.monotonic() - began
