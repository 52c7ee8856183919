"""Scratch trees beside those of the tasks: tests of other tasks run there, at the same time.

A run has as many job slots as it may keep busy. What stands free of them is lent for proofs, one
test at a time: a task that starts meanwhile takes its slot as soon as that test is over.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING

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
