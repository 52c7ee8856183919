"""What a receiver of events is to whoever delivers them, and how one that is away is waited for."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runner.outward.outbox import Message

MOST_BYTES = 512 << 10
"""Of one message: a longer one goes without its event's own fields."""
_FIRST, _LONGEST = 0.5, 300.0
_LONGEST_ASKED = 3600.0


class DoorAwayError(Exception):
    """The receiver did not acknowledge: `acknowledged` of what it was sent, from the first on.

    A value between a door and its delivery; never told as an error of ours.
    """

    def __init__(self, why: str, acknowledged: int = 0, wait: float = 0.0) -> None:
        super().__init__(why)
        self.why = why
        self.acknowledged = acknowledged
        self.wait = min(max(0.0, wait), _LONGEST_ASKED)
        """Seconds that it asked to be left alone for."""


class Door(Protocol):
    """One receiver."""

    name: str
    shown: str
    """Its address as it may be shown."""

    def send(self, messages: Sequence[Message]) -> None:
        """All of them, one after the other, each acknowledged. Raises DoorAwayError."""

    def close(self) -> None:
        """Let go of the connection."""


class Backoff:
    """Pauses that double while a receiver is away, each a little different from the others'."""

    def __init__(self) -> None:
        self._tries = 0

    def pause(self, asked: float) -> float:
        """Seconds until the next try; at least what the receiver asked for."""
        spread = random.uniform(0.8, 1.2)  # noqa: S311 - so that many do not knock at once
        seconds = min(_LONGEST, _FIRST * 2.0 ** min(self._tries, 12)) * spread
        self._tries += 1
        return max(asked, seconds)

    def reset(self) -> None:
        """It answered."""
        self._tries = 0
