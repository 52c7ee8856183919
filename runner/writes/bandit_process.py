"""bandit in this process; or, for a run that writes much Python, in a child on another core.

One interpreter runs one thread at a time, so bandit's walk here holds up whatever else a run
does. The child costs 0.2 s to start, which a run of a few small files never gets back: so it is
started after some of them, and they are scanned here until it listens.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from base64 import b64decode, b64encode
from dataclasses import astuple
from typing import TYPE_CHECKING

from runner.lazy_module import lazy_module
from runner.writes.sast_report import Issue

if TYPE_CHECKING:
    from runner.process import worker_process
    from runner.process.worker_process import WorkerProcess
    from runner.writes import bandit_scan
else:
    bandit_scan = lazy_module("runner.writes.bandit_scan")
    worker_process = lazy_module("runner.process.worker_process")

MUCH = 48 << 10
"""Bytes of Python that a run has had scanned before a child is worth its start."""
_STARTS = 3
"""A source that ends the child must not do so for ever."""
_CROWD = 4
"""How many times as long as its processor time a scan may take on a busy machine."""
_PATIENCE = 30.0
"""Seconds beyond those that a scan may take: parsing is not counted there."""
_CHILD = """\
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from runner.writes.bandit_process import serve
serve()
"""


class BanditProcess:
    """Where files are scanned; `expect` is called by many threads, `scan` by one alone."""

    def __init__(self, *, much: int = MUCH) -> None:
        self._much = much
        self._lock = threading.Lock()
        self._bytes = self._started = 0
        self._companion: WorkerProcess | None = None

    def expect(self, content: bytes) -> None:
        """Say that this content will be scanned; a child is started when it is worth it."""
        with self._lock:
            self._bytes += len(content)
            if self._bytes >= self._much:
                self._start()

    def scan(self, content: bytes, path: str, *, seconds: float) -> tuple[Issue, ...]:
        """As `bandit_scan.scan`; raises Unscanned, too, where the source ended the child."""
        companion = self._companion
        if companion is None or not self._listens(companion):
            return bandit_scan.scan(content, path, seconds=seconds)
        return self._ask(companion, content, path, seconds)

    def close(self) -> None:
        """End the child, if there is one."""
        with self._lock:
            companion, self._companion = self._companion, None
        if companion is not None:
            companion.close()

    @property
    def child(self) -> int | None:
        """The child's process number, once it is there."""
        return None if self._companion is None else self._companion.pid

    # --- details ----------------------------------------------------------------------

    def _start(self) -> None:
        if self._companion is not None or self._started >= _STARTS:
            return
        self._started += 1
        argv = (sys.executable, "-I", "-c", _CHILD, json.dumps(sys.path))
        try:
            self._companion = worker_process.WorkerProcess(argv, {})
        except OSError:  # no more processes: then it is scanned here, as ever
            self._started = _STARTS

    def _listens(self, companion: WorkerProcess) -> bool:
        try:
            return companion.ready()
        except worker_process.WorkerProcessGone:
            self.close()
            return False

    def _ask(
        self, companion: WorkerProcess, content: bytes, path: str, seconds: float
    ) -> tuple[Issue, ...]:
        question = [b64encode(content).decode(), path, seconds]
        try:
            patience = _CROWD * bandit_scan.longest(content, seconds) + _PATIENCE
            answer = companion.ask(json.dumps(question).encode(), patience)
        except worker_process.WorkerProcessGone as gone:
            self.close()
            raise bandit_scan.Unscanned(f"its process was of no use: {gone}") from gone
        said = json.loads(answer)
        if isinstance(said, str):
            raise bandit_scan.Unscanned(said)
        return tuple(Issue(*fields) for fields in said)


def serve() -> None:
    """What the child does: a question a line on standard input, an answer a line on its output."""
    with os.fdopen(os.dup(1), "wb") as answers:
        os.dup2(2, 1)  # whatever else speaks here is no answer
        bandit_scan.warm_up()
        answers.write(b"\n")
        answers.flush()
        for line in sys.stdin.buffer:
            content, path, seconds = json.loads(line)
            said: object
            try:
                found = bandit_scan.scan(b64decode(content), path, seconds=seconds)
                said = [astuple(issue) for issue in found]
            except bandit_scan.Unscanned as reason:
                said = str(reason)
            answers.write(json.dumps(said).encode() + b"\n")
            answers.flush()
