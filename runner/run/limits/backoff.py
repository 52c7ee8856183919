"""Tasks that are tried again at a later time: they hold no slot, and nobody waits for them."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from itertools import count
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


def chance(*of: object) -> float:
    """A number in [0, 1) for the jitter of one pause: the same for the same run and attempt."""
    return Random("/".join(map(str, of))).random()  # noqa: S311 - no secret depends on it


@dataclass(slots=True)
class Backoff:
    """Knows no clock: times are seconds of whatever clock the caller has."""

    _due: list[tuple[float, int, str]] = field(default_factory=list)
    _order: Iterator[int] = field(default_factory=count)

    def put(self, task: str, at: float) -> None:
        """Have a task wait until a time."""
        heapq.heappush(self._due, (at, next(self._order), task))

    def drop(self, task: str) -> bool:
        """Have a task wait no more; False where it did not."""
        kept = [one for one in self._due if one[2] != task]
        dropped = len(kept) < len(self._due)
        self._due = kept
        heapq.heapify(self._due)
        return dropped

    def __contains__(self, task: str) -> bool:
        return any(waiting == task for _, _, waiting in self._due)

    def __bool__(self) -> bool:
        return bool(self._due)

    @property
    def first(self) -> float | None:
        """When the next task may start; None where none waits."""
        return self._due[0][0] if self._due else None

    def take(self, now: float) -> tuple[str, ...]:
        """The tasks whose time has come, the earliest first; they wait no more."""
        taken = []
        while self._due and self._due[0][0] <= now:
            taken.append(heapq.heappop(self._due)[2])
        return tuple(taken)
