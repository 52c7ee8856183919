"""The executor that a person's settings name, opened."""

from __future__ import annotations

import importlib.util
from dataclasses import fields
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING

from runner.config.paths import repository_key
from runner.errors import ExitCode, RunnerError
from runner.lazy_dataclass import dataclass
from runner.lazy_module import lazy_module
from runner.run.assignment import WorkerContext

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Mapping
    from concurrent.futures import Executor

    from runner.config.settings import Loaded, Settings
    from runner.process.base import Place
    from runner.repo.read import Repository
    from runner.repo.scratch import Scratch
    from runner.repo.submodules import Submodules
    from runner.run import workers
    from runner.run.executors import (
        addresses,
        lease,
        local_cluster,
        message,
        object_store,
        remote,
        remote_job,
    )
    from runner.run.executors.addresses import Address
    from runner.run.executors.local_cluster import WaitTimes
    from runner.run.workers import WorkerPool
    from runner.text import wording
else:
    wording = lazy_module("runner.text.wording")
    lease = lazy_module("runner.run.executors.lease")
    local_cluster = lazy_module("runner.run.executors.local_cluster")
    message = lazy_module("runner.run.executors.message")
    object_store = lazy_module("runner.run.executors.object_store")
    remote = lazy_module("runner.run.executors.remote")
    remote_job = lazy_module("runner.run.executors.remote_job")
    socket = lazy_module("socket")
    workers = lazy_module("runner.run.workers")
    addresses = lazy_module("runner.run.executors.addresses")


_OWN = frozenset({"scratch", "place", "base_environment", "submodules", "release", "number"})
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


INLINE = "inline"
_KNOCK = 3.0
"""Seconds that a scheduler may take to open its door."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A cluster to work on, and how many tasks at once."""

    executor: Executor
    slots: int


def is_cluster(settings: Settings) -> bool:
    """Whether attempts run on a cluster."""
    return settings.executor.partition(":")[0] == "dask"


def require_private(scheduler: Address, settings: Settings) -> None:
    """Raise RunnerError where code would go over a network that others may listen on."""
    if scheduler.is_private or settings.insecure_cluster:
        return
    raise RunnerError(
        f"{scheduler} is a network address without TLS: whoever can listen there reads your code, "
        "and whoever can speak there runs commands on the workers",
        where="executor",
        hint="start the cluster with TLS (docs/cluster), or accept it by --insecure-cluster",
        code=ExitCode.PERSON,
    )


def crew_of(
    cluster: Opened | None,
    jobs: int,
    make_site: Callable[[int, workers.WorkerPool], WorkerContext],
    *,
    inline: bool,
) -> workers.WorkerPool:
    """The slots of a run, and where what is started in them runs."""
    site = LazySlots(make_site).site  # each is made by whom works in it: all of them at once
    if cluster is None:
        return workers.WorkerPool(jobs, site, inline=inline)
    return workers.WorkerPool(cluster.slots, site, executor=cluster.executor)


def open_cluster(
    loaded: Loaded,
    repository: Repository,
    environ: Mapping[str, str],
    say: Callable[[str], None],
    patience: WaitTimes | None = None,
) -> Opened | None:
    """The cluster that the settings name, started where they say no address; None for none.

    Where nobody chose how many `jobs`, as many as it has threads. Raises RunnerError.
    """
    settings = loaded.settings
    if not is_cluster(settings):
        return None
    _require_library()
    scheduler = addresses.scheduler_of(settings.executor)
    if scheduler is not None:
        require_private(scheduler, settings)
    from runner.run.executors.cluster import Cluster

    local = None
    certificates = local_cluster.Certificates(
        settings.dask_tls_ca, settings.dask_tls_cert, settings.dask_tls_key
    )
    if scheduler is None:
        _require_keys()
        local = local_cluster.LocalCluster(settings.jobs, environ, settings.sandbox)
        certificates = local.certificates
    try:
        tickets = lease.PendingResults(say)
        cluster = Cluster(
            scheduler or local_address(local),
            certificates,
            tickets.hear,
            open_network=settings.insecure_cluster,
            patience=patience,
        )
    except BaseException:
        if local is not None:
            local.close()
        raise

    def close() -> None:
        cluster.close()
        if local is not None:
            local.close()

    chosen = scheduler is None or loaded.sources.get("jobs") != "default"
    slots = settings.jobs if chosen else max(cluster.threads, 1)
    cluster.prepare(slots)
    dispatch = remote_job.Dispatch(
        cluster, object_store.ObjectTransfer(repository), tickets, _ground(repository), say
    )
    return Opened(remote.ClusterExecutor(slots, dispatch, close), slots)


def _ground(repository: Repository) -> message.Ground:
    """What workers are told of the repository; names and settings, no contents."""
    lender = repository.lender()
    return message.Ground(
        key=repository_key(repository.root),
        name=repository.folders.top.name,
        object_format=lender.object_format,
        prefix=lender.prefix.value,
        branch=lender.branch or "",
        ignored=lender.ignored,
        who=lender.who,
    )


def describe_cluster(settings: Settings) -> str:
    """What a run would work on, in words; nothing is started. Raises RunnerError."""
    if not is_cluster(settings):
        return settings.executor
    _require_library()
    scheduler = addresses.scheduler_of(settings.executor)
    if scheduler is None:
        _require_keys()
        return f"dask, {settings.jobs} workers on this machine"
    require_private(scheduler, settings)
    try:
        socket.create_connection((scheduler.host.strip("[]"), scheduler.port), _KNOCK).close()
    except OSError as error:
        raise RunnerError(
            f"nobody listens at {scheduler}: {error.strerror or error}",
            hint="start it: dask scheduler",
            code=ExitCode.PERSON,
        ) from error
    return f"dask, a scheduler listens at {scheduler}"


def _require_library() -> None:
    """Raise RunnerError where Dask is missing: a child that cannot import it only says it ended."""
    if importlib.util.find_spec("distributed") is None:
        raise RunnerError(
            "dask is not installed", hint=wording.install_hint("dask"), code=ExitCode.PERSON
        )


def _require_keys() -> None:
    """Raise RunnerError where no key can be made for a cluster of our own."""
    if importlib.util.find_spec("cryptography") is None:
        raise RunnerError(
            "a cluster on this machine needs a key of its own, and cryptography is not installed",
            where="executor",
            hint=f"{wording.install_hint('dask')}, or --executor threads",
            code=ExitCode.PERSON,
        )


def local_address(local: object) -> Address:
    """Where a cluster that was just started listens."""
    found = addresses.read_address(str(getattr(local, "address", "")))
    if found is None:
        raise RunnerError("the local cluster says no address")
    return found
