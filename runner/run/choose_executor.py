"""Open the executor that a person's settings name."""

from __future__ import annotations

from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Protocol, cast

from msgspec import Struct, field
from msgspec.structs import asdict

from runner.errors import RunnerError
from runner.extensions.interface import load
from runner.extensions.registry import find_reference
from runner.lazy_module import lazy_module
from runner.run.worker_assignment import WorkerContext

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
        same = asdict(self._first) | {"number": number}
        return LazySlot(**same, make=partial(self._make, number, workers))


class LazySlot(WorkerContext, frozen=True, kw_only=True):
    """A site like `first` that makes its own scratch tree when somebody asks for it."""

    make: Callable[[], WorkerContext]
    _lock: Lock = field(default_factory=Lock)
    _made: dict[str, WorkerContext] = field(default_factory=dict)

    @property  # type: ignore[misc]  # a field of the others
    def scratch(self) -> Scratch:
        """The slot's tree, made now if it was not before. Raises RunnerError."""
        return self._real().scratch

    @property  # type: ignore[misc]  # a field of the others
    def place(self) -> Place:
        """Place of the commands that run on this machine."""
        return self._real().place

    @property  # type: ignore[misc]  # a field of the others
    def submodules(self) -> Submodules | None:
        """The content of submodules, in this slot's folder."""
        return self._real().submodules

    @property  # type: ignore[misc]  # a field of the others
    def base_environment(self) -> Mapping[str, str]:
        """The allow-list of the person's own variables, with this slot's folder in it."""
        return self._real().base_environment

    @property  # type: ignore[misc]  # a field of the others
    def release(self) -> Callable[[], None]:
        """What gives the tree back, if it was made."""
        return self._made["site"].close if "site" in self._made else lambda: None

    def _real(self) -> WorkerContext:
        with self._lock:
            if "site" not in self._made:
                self._made["site"] = self.make()
            return self._made["site"]


INLINE, THREADS = "inline", "threads"


class Opened(Struct, frozen=True):
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
        hint = f"use {INLINE}, {THREADS} or an executor of an installed extension"
        raise RunnerError(f"unknown executor {name!a}", where="cluster.executor", hint=hint)
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
