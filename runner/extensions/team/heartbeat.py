"""A worker's word, every few seconds, that it still has its build."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Self

from runner.extensions.team.build_claim import LostClaimError, beat
from runner.extensions.team.store_engine import StoreAwayError

if TYPE_CHECKING:
    from runner.extensions.team.build_queue import QueuedBuild
    from runner.extensions.team.store_engine import Store


class Heartbeat:
    """Beats by a thread of its own while entered, and hears what the store says of the build.

    A store that is away is tried again: what goes on here is not harmed by it.
    """

    def __init__(
        self, store: Store, mine: QueuedBuild, pace: tuple[float, float], rung: threading.Event
    ) -> None:
        self.is_lost = False
        self.cancelled_by = ""
        self._store, self._mine = store, mine
        self._every, self._ttl = pace
        self._rung = rung
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._go, name="heartbeat", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(self._every)

    def _go(self) -> None:
        while not self._over.wait(self._every) and not self.is_lost:
            self.look()

    def look(self) -> None:
        """Beat now."""
        with suppress(StoreAwayError):
            try:
                by = beat(self._store, self._mine, self._ttl).cancelled_by
            except LostClaimError:
                # A beat that was on its way while the build ended finds no claim: that is no
                # loss.
                self.is_lost = not self._over.is_set()
                by = ""
            if self.is_lost or by != self.cancelled_by:
                self.cancelled_by = by
                self._rung.set()
