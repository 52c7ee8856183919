"""Spare slots: scratch trees lent to proofs while no task needs them."""

from __future__ import annotations

from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING

from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from runner.run.assignment import WorkerContext


class SpareSlots(Struct):
    """Lends scratch trees to workers, from any thread; they are kept for the next who asks."""

    slots: int
    busy: Callable[[], int]
    """Returns the number of tasks in progress."""
    make_site: Callable[[int], WorkerContext]
    _lent: int = 0
    _made: int = 0
    _idle: list[WorkerContext] = field(default_factory=list)
    _lock: Lock = field(default_factory=Lock)

    @contextmanager
    def claim(self) -> Iterator[bool]:
        """Reserve a slot for the duration of the block, if one is free, and yield whether it was.

        No scratch tree is made: what is claimed works elsewhere.
        """
        with self._lock:
            free = self.busy() + self._lent < self.slots
            self._lent += free
        try:
            yield free
        finally:
            with self._lock:
                self._lent -= free

    @contextmanager
    def lend(self) -> Iterator[WorkerContext | None]:
        """Lend a site for the duration of the block; None if every slot is busy."""
        with self.claim() as free:
            if not free:
                yield None
                return
            with self._lock:
                site, number = self._idle.pop() if self._idle else None, self.slots + self._made
                self._made += site is None
            try:
                # Without the lock, since making a scratch tree is slow; the number is already
                # reserved.
                site = site or self.make_site(number)
                yield site
            finally:
                with self._lock:
                    self._idle += [site] if site else []

    @property
    def may_go_on(self) -> bool:
        """Whether what is lent is still nobody's: no task has started in its place."""
        with self._lock:
            return self.busy() + self._lent <= self.slots

    def close(self) -> None:
        """Close the idle scratch trees."""
        for site in self._idle:
            site.close()
        self._idle.clear()
