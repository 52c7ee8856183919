"""Open the executor that a person's settings name."""

from __future__ import annotations

from dataclasses import fields
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Protocol, cast

from runner.errors import RunnerError
from runner.extensions.interface import load
from runner.extensions.registry import find_reference
from runner.lazy_dataclass import dataclass
from runner.lazy_module import lazy_module
from runner.run.assignment import WorkerContext

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from concurrent.futures import Executor

    from runner.config.settings import Loaded, Settings
    from runner.implementers.base import Implementer
    from runner.model import Task
    from runner.process.base import Place
    from runner.repo.read import Repository
    from runner.repo.scratch import Scratch, Submodules
    from runner.run import workers
    from runner.run.workers import WorkerPool
else:
    workers = lazy_module("runner.run.workers")


_OWN = frozenset({"scratch", "place", "base_environment", "submodules", "release", "number"})
"""Attributes that differ between slots; the rest of a site is shared."""


class LazySlots:
    """Sites of a run: the first slot's is made at once, as the pattern of all."""

    def __init__(self, make: Callable[[int, WorkerPool], WorkerContext]) -> None:
        self._make = make
        self._first: WorkerContext | None = None
        self._lock = Lock()

    def site(self, number: int, workers: WorkerPool) -> WorkerContext:
        """Create the context of a slot; coordinator and workers may call it."""
        with self._lock:
            if self._first is None:
                self._first = self._make(number, workers)
                return self._first
        return LazySlot(self._first, number, partial(self._make, number, workers))


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
        """Place of the commands that run on this machine."""
        return self._real().place

    @property
    def submodules(self) -> Submodules | None:
        """The content of submodules, in this slot's folder."""
        return self._real().submodules

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


INLINE, THREADS = "inline", "threads"


@dataclass(frozen=True, slots=True)
class Opened:
    """A cluster to work on, and how many tasks at once."""

    executor: Executor
    slots: int


class ExecutorKind(Protocol):
    """An extension's executor, as a module or an object."""

    def open_cluster(
        self,
        loaded: Loaded,
        repository: Repository,
        environ: Mapping[str, str],
        say: Callable[[str], None],
    ) -> Opened:
        """Start or reach what the settings name. Raises RunnerError."""

    def describe_cluster(self, settings: Settings) -> str:
        """Describe the configured cluster without starting it. Raises RunnerError."""

    def explain_exposure(self, task: Task, implementer: Implementer, settings: Settings) -> str:
        """Return why a task must not run there; empty if it may."""


def find_executor(settings: Settings) -> ExecutorKind | None:
    """Find the executor of another extension; None where tasks run in this process.

    Raises RunnerError where no extension has it.
    """
    name = settings.cluster.executor.partition(":")[0]
    if name in (INLINE, THREADS):
        return None
    reference = find_reference("executors", name)
    if not reference:
        raise RunnerError(f"unknown executor {name!a}", where="executor", hint="runner help")
    return cast("ExecutorKind", load(reference))


def make_workers(
    cluster: Opened | None,
    jobs: int,
    make_site: Callable[[int, workers.WorkerPool], WorkerContext],
    *,
    inline: bool,
) -> workers.WorkerPool:
    """Create the worker pool of a run, local or on the cluster."""
    site = LazySlots(make_site).site  # each is made by whom works in it: all of them at once
    if cluster is None:
        return workers.WorkerPool(jobs, site, inline=inline)
    return workers.WorkerPool(cluster.slots, site, executor=cluster.executor)
