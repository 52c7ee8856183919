"""A local Dask cluster in its own process: scheduler and workers on loopback only.

In a child, since a process that holds a scheduler opens pickles. It says a line when it listens,
answers any line with its address and the key to it, and ends with its input.

Whoever speaks to a scheduler, a worker or a nanny runs code in it, and a task with a network
reaches this machine's loopback. So all of them speak TLS, with a key made for this run: it crosses
pipes only, and a folder for temporary files, which no sandbox shows.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from runner import effects
from runner.config.temporary_folders import TemporaryFolder
from runner.errors import ExitCode, RunnerError
from runner.lazy_module import lazy_module

if TYPE_CHECKING:
    import tempfile
    from collections.abc import Mapping, Sequence

    import dask
    import distributed

    from runner.process import interactive
else:
    dask = lazy_module("dask")
    distributed = lazy_module("distributed")
    tempfile = lazy_module("tempfile")
    interactive = lazy_module("runner.process.interactive")


class Certificates(Struct, frozen=True):
    """TLS of this side: paths, or contents; empty where Dask's own configuration names files."""

    ca: str = ""
    cert: str = ""
    key: str = ""


def security_of(library: Any, certificates: Certificates) -> Any:
    """Return the TLS configuration of the settings, else that of Dask."""
    given = {
        "tls_ca_file": certificates.ca,
        "tls_client_cert": certificates.cert,
        "tls_client_key": certificates.key,
    }
    named = {name: path for name, path in given.items() if path}
    return library.Security(**named)


def has_certificates(security: Any) -> bool:
    """Return whether TLS is configured. Raises RunnerError if a TLS file is unusable."""
    named = (security.tls_ca_file, security.tls_client_cert, security.tls_client_key)
    try:
        for path in filter(None, named):
            if "\n" in path:  # it is the content itself
                continue
            with Path(path).open("rb"):  # ssl itself does not say which file it misses
                pass
        return bool(security.get_connection_args("client").get("ssl_context"))
    except OSError as error:  # of ssl, too
        raise RunnerError(
            f"a TLS file cannot be used: {error.strerror or error}",
            where=str(error.filename or "executor"),
            hint="check tls_ca, tls_cert and tls_key in [cluster] of your own settings",
            code=ExitCode.PERSON,
        ) from error


class WaitTimes(Struct, frozen=True):
    """Seconds to wait before somebody counts as lost."""

    heartbeat: float = 20.0
    """Seconds for a worker's heartbeat."""
    scheduler: float = 15.0
    """Seconds for an answer of the scheduler."""
    workers: float = 300.0
    """Seconds for a first worker: a cluster may scale up on demand."""
    silence: float = 120.0
    """Seconds for output of a job, beyond the idle limit of a command."""
    connect: float = 10.0
    look: float = 1.0
    """Seconds between two checks of the workers."""


_STARTS = 60.0
"""Timeout for the start of all workers; a loaded machine is slow."""
_ANSWERS = 10.0
_SPARING = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
}
"""Dask's self-monitoring runs 150 times a second in each worker: 1 to 2 % of a core."""
_NO_PAGES: dict[str, list[str]] = {
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
}
"""Even without a dashboard, Dask serves pages about its work and logs to any client."""
_EARLY = ("distributed", "git", "re2", "runner")
"""Packages imported once, in the process from which all workers fork."""
_LONGEST_PLACE = 107 - len("/pymp-12345678/listener-12345678")
"""Bytes: sun_path (unix(7)) minus what multiprocessing appends to the temporary folder."""
_WARM = "runner.extensions.cluster.preload"
_CHILD = """\
import json, sys
from importlib.util import find_spec
def origins(names):
    specs = [find_spec(name) for name in names]
    return [spec and spec.origin for spec in specs]
names = json.loads(sys.argv[2])
alone = origins(names)
sys.path[:] = json.loads(sys.argv[1])
early = [name for name, one, ours in zip(names, alone, origins(names)) if one and one == ours]
from runner.extensions.cluster.local_cluster import serve
if __name__ == "__main__":
    serve(int(sys.argv[3]), early, sys.argv[4])
"""
_NO_ABSTRACT = (3, 11, 1)
"""Before, the process that forks workers listened at a name that no sandbox with a network hides,
and took orders from any user (CVE-2022-42919)."""


class LocalCluster:
    """The child; an open resource until `close`. Raises RunnerError when it does not come up."""

    def __init__(self, workers: int, environ: Mapping[str, str], sandbox: str = "auto") -> None:
        options = (json.dumps(sys.path), json.dumps(_EARLY), str(workers), sandbox)
        argv = (sys.executable, "-I", "-c", _CHILD, *options)
        self._child: interactive.WorkerProcess = interactive.WorkerProcess(argv, environ)
        reply = json.loads(self._ask())
        self.address: str = reply["address"]
        self.certificates = Certificates(*reply["certificates"])

    def close(self) -> None:
        """Stop the cluster and its workers; repeated calls have no effect."""
        self._child.close()

    def _ask(self) -> bytes:
        until = effects.monotonic() + _STARTS
        try:
            while not self._child.ready() and effects.monotonic() < until:
                sleep(0.02)
            return self._child.ask(b"address", _ANSWERS)
        except interactive.WorkerProcessGone as error:
            self.close()
            raise RunnerError(
                f"the local cluster did not start: {error}",
                hint="to run without a cluster: --executor threads",
                code=ExitCode.PERSON,
            ) from error


def serve(workers: int, early: Sequence[str], sandbox: str) -> None:
    """Run the cluster until standard input is closed.

    `early` are packages that an interpreter without our `sys.path` finds in the same place: the
    process that workers are forked from knows no other path. `sandbox` is what the settings say.
    """
    answers = os.dup(1)
    os.dup2(2, 1)  # what libraries print is no answer
    security: Any = distributed.Security
    key = security.temporary()
    with (
        TemporaryFolder("dask", ignore_cleanup_errors=True) as folder,
        _start(workers, early, folder, _method(sandbox), key) as cluster,
    ):
        os.write(answers, b"ready\n")
        mine = (key.tls_ca_file, key.tls_client_cert, key.tls_client_key)
        reply = json.dumps({"address": cluster.scheduler_address, "certificates": mine})
        for _ in sys.stdin.buffer:
            _write_whole(answers, reply.encode() + b"\n")


def _write_whole(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def _method(sandbox: str) -> str:
    """Return the start method of workers: `forkserver` if its socket is safe, else `spawn`.

    It listens at a path of bounded length among the temporary files, and does what it is asked
    there. Landlock hides no path from connect(2).
    """
    open_to_tasks = sandbox == "landlock" or sys.version_info < _NO_ABSTRACT
    short = len(os.fsencode(tempfile.gettempdir())) <= _LONGEST_PLACE
    return "forkserver" if short and not open_to_tasks else "spawn"


def _start(workers: int, early: Sequence[str], folder: str, method: str, key: Any) -> Any:
    # Any: the library ships no types
    dask.config.set(
        {
            "logging": {"distributed": "critical"},
            "temporary-directory": folder,  # else it leaves one that all users share
            "distributed.scheduler.allowed-failures": 0,
            # Submit jobs by broadcast over one connection: else each opens its own, with TLS keys.
            "distributed.scheduler.reuse-broadcast-comm": True,
            "distributed.worker.multiprocessing-method": method,
            **_SPARING,
            **_NO_PAGES,
        }
    )
    from distributed.utils import get_mp_context

    names = [_WARM if name == "runner" else name for name in early]
    get_mp_context().set_forkserver_preload(names)  # type: ignore[no-untyped-call]  # no types
    start: Any = distributed.LocalCluster
    cluster = start(
        n_workers=workers,
        threads_per_worker=1,
        processes=True,
        protocol="tls://",
        security=key,
        host="127.0.0.1",
        dashboard_address=None,
        worker_dashboard_address=None,
        # No limit: else a nanny kills a worker that exceeds it, with its job (distributed, worker
        # memory management).
        memory_limit=0,
        silence_logs=50,
    )
    cluster.scheduler.http_server.stop()  # it serves nothing; workers' have no such door to us
    return cluster
