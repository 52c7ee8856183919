"""The clock and the processor time of a command, with everything that it started.

bubblewrap's outer process does not wait for its inner one, so the times of waited children miss
most of a sandboxed command. This process adopts what is left behind (PR_SET_CHILD_SUBREAPER,
prctl(2)) and adds up what each child used, as wait4(2) reports it.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36


@dataclass(frozen=True, slots=True)
class Took:
    """Seconds of one command."""

    clock: float
    processor: float


def adopt_orphans() -> None:
    """Make this process the parent of what its children leave behind; raises OSError."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "PR_SET_CHILD_SUBREAPER")


def measure(words: Sequence[str], folder: Path, environ: Mapping[str, str], log: Path) -> Took:
    """Run a command to the end of all its processes; raises SystemExit where it fails."""
    began, used = time.perf_counter(), 0.0
    clock = failed = 0.0
    with log.open("ab") as output:
        process = subprocess.Popen(
            words, cwd=folder, env=environ, stdout=output, stderr=output, stdin=subprocess.DEVNULL
        )
    while True:
        try:
            pid, status, usage = os.wait4(-1, 0)
        except ChildProcessError:
            break
        used += usage.ru_utime + usage.ru_stime
        if pid == process.pid:
            clock = time.perf_counter() - began
            process.returncode = os.waitstatus_to_exitcode(status)
            failed = process.returncode
    if failed:
        raise SystemExit(f"error: {' '.join(words)} ended with {failed}: {log}")
    return Took(clock, used)
