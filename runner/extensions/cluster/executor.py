"""The executor `dask`: a Dask cluster that the settings name, or one on this machine."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

from runner.config.paths import repository_key
from runner.errors import ExitCode, RunnerError
from runner.extensions.cluster.addresses import explain_exposure
from runner.lazy_module import lazy_module
from runner.run.choose_executor import Opened

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Mapping

    from runner.config.settings import Loaded, Settings
    from runner.extensions.cluster import (
        addresses,
        lease,
        local_cluster,
        message,
        object_store,
        remote,
        remote_job,
    )
    from runner.extensions.cluster import cluster as clusters
    from runner.extensions.cluster.addresses import Address
    from runner.extensions.cluster.local_cluster import WaitTimes
    from runner.repo.read import Repository
    from runner.text import wording
else:
    addresses = lazy_module("runner.extensions.cluster.addresses")
    clusters = lazy_module("runner.extensions.cluster.cluster")
    lease = lazy_module("runner.extensions.cluster.lease")
    local_cluster = lazy_module("runner.extensions.cluster.local_cluster")
    message = lazy_module("runner.extensions.cluster.message")
    object_store = lazy_module("runner.extensions.cluster.object_store")
    remote = lazy_module("runner.extensions.cluster.remote")
    remote_job = lazy_module("runner.extensions.cluster.remote_job")
    socket = lazy_module("socket")
    wording = lazy_module("runner.text.wording")

__all__ = ["describe_cluster", "explain_exposure", "open_cluster"]

_KNOCK = 3.0
"""Seconds that a scheduler may take to open its door."""


def require_private(scheduler: Address, settings: Settings) -> None:
    """Raise RunnerError where code would go over a network that others may listen on."""
    if scheduler.is_private or settings.cluster.insecure:
        return
    raise RunnerError(
        f"{scheduler} does not use TLS: others on the network can read your code "
        "and run commands on the workers",
        where="executor",
        hint="start the cluster with TLS (docs/cluster), or pass --insecure-cluster",
        code=ExitCode.PERSON,
    )


def open_cluster(
    loaded: Loaded,
    repository: Repository,
    environ: Mapping[str, str],
    say: Callable[[str], None],
    patience: WaitTimes | None = None,
) -> Opened:
    """The cluster that the settings name, started where they say no address.

    Where nobody chose how many `jobs`, as many as it has threads. Raises RunnerError.
    """
    settings = loaded.settings
    _require_library()
    scheduler = addresses.scheduler_of(settings.cluster.executor)
    if scheduler is not None:
        require_private(scheduler, settings)
    local = None
    certificates = local_cluster.Certificates(
        settings.cluster.tls_ca, settings.cluster.tls_cert, settings.cluster.tls_key
    )
    if scheduler is None:
        _require_keys()
        local = local_cluster.LocalCluster(settings.build.jobs, environ, settings.sandbox.kind)
        certificates = local.certificates
    try:
        tickets = lease.PendingResults(say)
        cluster = clusters.Cluster(
            scheduler or local_address(local),
            certificates,
            tickets.hear,
            open_network=settings.cluster.insecure,
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

    chosen = scheduler is None or loaded.sources.get("build.jobs") != "default"
    slots = settings.build.jobs if chosen else max(cluster.threads, 1)
    cluster.prepare(slots)
    dispatch = remote_job.Dispatch(
        cluster, object_store.ObjectTransfer(repository), tickets, _ground(repository), say
    )
    return Opened(remote.ClusterExecutor(slots, dispatch, close), slots)


def _ground(repository: Repository) -> message.Ground:
    """Describe the repository to workers: names and settings, no contents."""
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
    _require_library()
    scheduler = addresses.scheduler_of(settings.cluster.executor)
    if scheduler is None:
        _require_keys()
        return f"dask, {settings.build.jobs} workers on this machine"
    require_private(scheduler, settings)
    try:
        socket.create_connection((scheduler.host.strip("[]"), scheduler.port), _KNOCK).close()
    except OSError as error:
        raise RunnerError(
            f"no scheduler at {scheduler}: {error.strerror or error}",
            hint="start one: dask scheduler",
            code=ExitCode.PERSON,
        ) from error
    return f"dask, scheduler at {scheduler}"


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
            "a local cluster needs the package cryptography, which is not installed",
            where="executor",
            hint=f"{wording.install_hint('dask')}, or use --executor threads",
            code=ExitCode.PERSON,
        )


def local_address(local: object) -> Address:
    """Where a cluster that was just started listens."""
    found = addresses.read_address(str(getattr(local, "address", "")))
    if found is None:
        raise RunnerError("the local cluster reported no address")
    return found
