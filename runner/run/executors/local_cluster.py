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
    from collections.abc import Mapping

    from runner.process.companion import Companion

_STARTS = 60.0
"""Seconds for all workers to be there; a loaded machine takes its time."""
_ANSWERS = 10.0
_CHILD = """\
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from runner.run.executors.local_cluster import serve
if __name__ == "__main__":
    serve(int(sys.argv[2]))
"""


class LocalCluster:
    """The child; an open resource until `close`. Raises RunnerError when it does not come up."""

    def __init__(self, workers: int, environ: Mapping[str, str]) -> None:
        from runner.process.companion import Companion

        argv = (sys.executable, "-I", "-c", _CHILD, json.dumps(sys.path), str(workers))
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


def serve(workers: int) -> None:
    """Be the cluster until the input ends."""
    import dask

    dask.config.set(
        {
            "logging": {"distributed": "critical"},
            "distributed.scheduler.allowed-failures": 0,
            "distributed.worker.profile.enabled": False,  # a hundred looks a second a worker
        }
    )
    from distributed import LocalCluster as Theirs

    answers = os.dup(1)
    os.dup2(2, 1)  # what libraries print is no answer
    start: Any = Theirs  # it ships no types
    with start(
        n_workers=workers,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        dashboard_address=None,
        worker_dashboard_address=None,
        memory_limit=0,
        silence_logs=50,
    ) as cluster:
        os.write(answers, b"ready\n")
        for _ in sys.stdin.buffer:
            os.write(answers, cluster.scheduler_address.encode() + b"\n")
