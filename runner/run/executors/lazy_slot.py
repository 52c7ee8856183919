"""A slot whose scratch tree is made when it is needed, by the worker that needs it.

So sixty-four of them are made at once. Where attempts run elsewhere, a worker there has a tree of
its own: this side needs one only to lay out what came back, for what runs at home after all, and
for a person's reviewing command; a check needs none.
"""

from __future__ import annotations

from dataclasses import fields
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING

from runner.run.assignment import WorkerContext

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from runner.process.base import Place
    from runner.repo.scratch import Scratch
    from runner.run.workers import WorkerPool

_OWN = frozenset({"scratch", "place", "base_environment", "release", "number"})
"""What each slot has of its own; the rest of a site is the same in all slots."""


class LazySlots:
    """Sites of a run: the first slot's is made at once, as the pattern of all."""

    def __init__(self, make: Callable[[int, WorkerPool], WorkerContext]) -> None:
        self._make = make
        self._first: WorkerContext | None = None
        self._lock = Lock()

    def site(self, number: int, crew: WorkerPool) -> WorkerContext:
        """The site of a slot; called by the coordinator, and by workers that want a second one."""
        with self._lock:
            if self._first is None:
                self._first = self._make(number, crew)
                return self._first
        return LazySlot(self._first, number, partial(self._make, number, crew))


class LazySlot(WorkerContext):
    """A site like `first` that makes its own scratch tree when somebody asks for it."""

    __slots__ = ("_lock", "_made", "_make")

    _lock: Lock
    _made: WorkerContext | None
    _make: Callable[[], WorkerContext]

    def __init__(
        self, first: WorkerContext, number: int, make: Callable[[], WorkerContext]
    ) -> None:
        names = (one.name for one in fields(WorkerContext) if one.name not in _OWN)
        same = {name: getattr(first, name) for name in names}
        own = {"number": number, "release": self._give_back}
        late = {"_lock": Lock(), "_made": None, "_make": make}
        for name, value in (same | own | late).items():
            object.__setattr__(self, name, value)  # as a frozen dataclass sets its own

    @property
    def scratch(self) -> Scratch:
        """The slot's tree, made now if it was not before. Raises RunnerError."""
        return self._real().scratch

    @property
    def place(self) -> Place:
        """Where commands run that run here."""
        return self._real().place

    @property
    def base_environment(self) -> Mapping[str, str]:
        """The allow-list of the person's own variables, with this slot's folder in it."""
        return self._real().base_environment

    def _real(self) -> WorkerContext:
        with self._lock:
            made = self._made or self._make()
            object.__setattr__(self, "_made", made)
            return made

    def _give_back(self) -> None:
        if self._made is not None:
            self._made.close()
