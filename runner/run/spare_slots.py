"""Scratch trees beside the tasks' own, lent for proofs as long as no task wants the slot."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import field
from threading import Lock
from typing import TYPE_CHECKING

from runner.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from runner.run.assignment import WorkerContext


@dataclass(slots=True)
class SpareSlots:
    """Lends scratch trees to workers, from any thread; they are kept for the next who asks."""

    slots: int
    busy: Callable[[], int]
    """How many tasks are worked on now."""
    make_site: Callable[[int], WorkerContext]
    _lent: int = 0
    _made: int = 0
    _idle: list[WorkerContext] = field(default_factory=list)
    _lock: Lock = field(default_factory=Lock)

    @contextmanager
    def claim(self) -> Iterator[bool]:
        """Whether a slot is free, and it is nobody else's for as long as this is entered.

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
        """A site for as long as this is entered; None where every slot is busy."""
        with self.claim() as free:
            if not free:
                yield None
                return
            with self._lock:
                site, number = self._idle.pop() if self._idle else None, self.slots + self._made
                self._made += site is None
            try:
                # Outside of the lock, since a scratch tree takes its time; the number is nobody
                # else's by now.
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
        """Give the scratch trees back; nothing is lent any more."""
        for site in self._idle:
            site.close()
        self._idle.clear()
