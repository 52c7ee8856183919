"""What Linux says about processes in /proc (proc(5)); a process that is gone says nothing."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass

_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Process:
    """One process at one moment; `started` is in clock ticks since boot."""

    pid: int
    name: str
    state: str
    parent: int
    session: int
    started: int

    @property
    def alive(self) -> bool:
        """Whether it can still do anything; a zombie only waits to be fetched."""
        return self.state not in "ZX"


def ticks() -> int:
    """The moment now as `Process.started` says it."""
    return int(time.clock_gettime(time.CLOCK_BOOTTIME) * _TICKS)


def process(pid: int) -> Process | None:
    """The process with this number; `None` when there is none."""
    stat = _read(f"/proc/{pid}/stat")
    if not stat:
        return None
    head, _, rest = stat.rpartition(b")")
    fields = rest.split()
    name = head.partition(b"(")[2].decode("utf-8", "replace")
    state, parent, session, started = fields[0], fields[1], fields[3], fields[19]
    return Process(pid, name, state.decode(), int(parent), int(session), int(started))


def processor_seconds(pid: int) -> float | None:
    """Seconds of a processor that a process and what it waited for took; a zombie still tells."""
    fields = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    spent = fields[11:15]  # utime, stime, cutime, cstime
    return sum(map(int, spent)) / _TICKS if spent else None


def environment(pid: int) -> bytes:
    """The environment a process was started with, NUL-separated; empty when not readable."""
    return _read(f"/proc/{pid}/environ")


def children(pid: int) -> list[int]:
    """The processes whose parent is `pid`."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")  # noqa: PTH208 - a hot path
    except OSError:
        return []
    if not os.path.exists(f"/proc/{pid}/task/{pid}/children"):  # noqa: PTH110 - a hot path
        return [each for each in everyone() if (found := process(each)) and found.parent == pid]
    lists = (_read(f"/proc/{pid}/task/{thread}/children") for thread in threads)
    return [int(child) for children_of_thread in lists for child in children_of_thread.split()]


def descendants(pid: int) -> list[int]:
    """Children, their children and so on, parents first."""
    found: list[int] = []
    waiting = [pid]
    while waiting:
        fresh = [child for child in children(waiting.pop()) if child not in found]
        found += fresh
        waiting += fresh
    return found


def everyone() -> list[int]:
    """The numbers of all processes that can be seen."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208 - a hot path


def _read(path: str) -> bytes:
    try:
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - a hot path
            return file.read()
    except OSError:
        return b""
