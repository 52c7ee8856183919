"""A Dask cluster on this machine in a process of its own: scheduler and workers, loopback only.

In a child, since a process that holds a scheduler opens pickles. It says a line when it listens,
answers any line with its address, and ends with its input.
"""

from __future__ import annotations

import json
import os
import sys
from time import sleep
from typing import TYPE_CHECKING, Any

from runner import effects
from runner.errors import ExitCode, RunnerError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from runner.process.companion import Companion

_STARTS = 60.0
"""Seconds for all workers to be there; a loaded machine takes its time."""
_ANSWERS = 10.0
_SPARING = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
}
"""Dask looks at itself 150 times a second in each worker, which costs 1 to 2 % of a core."""
_EARLY = ("distributed", "git", "re2", "runner")
"""Packages imported once, in the process that all workers are forked from."""
_LONGEST_PLACE = 107 - len("/pymp-12345678/listener-12345678")
"""Bytes: sun_path (unix(7)) less what multiprocessing puts behind the temporary folder."""
_WARM = "runner.run.executors.warm"
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
from runner.run.executors.local_cluster import serve
if __name__ == "__main__":
    serve(int(sys.argv[3]), early)
"""


class LocalCluster:
    """The child; an open resource until `close`. Raises RunnerError when it does not come up."""

    def __init__(self, workers: int, environ: Mapping[str, str]) -> None:
        from runner.process.companion import Companion

        told = (json.dumps(sys.path), json.dumps(_EARLY), str(workers))
        argv = (sys.executable, "-I", "-c", _CHILD, *told)
        self._child: Companion = Companion(argv, environ)
        self.address = self._address()

    def close(self) -> None:
        """End it with its workers; doing so twice is fine."""
        self._child.close()

    def _address(self) -> str:
        from runner.process.companion import CompanionGone

        until = effects.monotonic() + _STARTS
        try:
            while not self._child.ready() and effects.monotonic() < until:
                sleep(0.02)
            return self._child.ask(b"address", _ANSWERS).decode()
        except CompanionGone as error:
            self.close()
            raise RunnerError(
                f"the local cluster did not start: {error}",
                hint="--executor threads works without one",
                code=ExitCode.PERSON,
            ) from error


def serve(workers: int, early: Sequence[str]) -> None:
    """Be the cluster until the input ends.

    `early` are packages that an interpreter without our `sys.path` finds in the same place: the
    process that workers are forked from knows no other path.
    """
    from tempfile import TemporaryDirectory

    answers = os.dup(1)
    os.dup2(2, 1)  # what libraries print is no answer
    with (
        TemporaryDirectory(prefix="runner-dask-", ignore_cleanup_errors=True) as folder,
        _started(workers, early, folder) as cluster,
    ):
        os.write(answers, b"ready\n")
        for _ in sys.stdin.buffer:
            os.write(answers, cluster.scheduler_address.encode() + b"\n")


def _method() -> str:
    """How workers are started: the process that forks them listens at a path of bounded length."""
    from tempfile import gettempdir

    return "forkserver" if len(os.fsencode(gettempdir())) <= _LONGEST_PLACE else "spawn"


def _started(workers: int, early: Sequence[str], folder: str) -> Any:  # it ships no types
    import dask

    dask.config.set(
        {
            "logging": {"distributed": "critical"},
            "temporary-directory": folder,  # else it leaves one that all users share
            "distributed.scheduler.allowed-failures": 0,
            "distributed.worker.multiprocessing-method": _method(),
            **_SPARING,
        }
    )
    from distributed import LocalCluster as Theirs
    from distributed.utils import get_mp_context

    names = [_WARM if name == "runner" else name for name in early]
    get_mp_context().set_forkserver_preload(names)  # type: ignore[no-untyped-call]  # no types
    start: Any = Theirs
    return start(
        n_workers=workers,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        dashboard_address=None,
        worker_dashboard_address=None,
        memory_limit=0,
        silence_logs=50,
    )
