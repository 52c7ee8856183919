"""Process functions of the operating system: system calls on Linux, psutil elsewhere.

The one place that knows what only Linux has: /proc (proc(5)), adoption of orphans
(PR_SET_CHILD_SUBREAPER, prctl(2)), pidfd_open(2), waitid(2) that leaves the child, memfd_create(2).
Each is asked for when it is needed and not by the system's name, so what is missing elsewhere is
missing by itself. A process that is gone says nothing.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec import Struct

from runner.errors import RunnerError
from runner.lazy_module import lazy_module
from runner.lazy_pattern import regex

if TYPE_CHECKING:
    import ctypes
    from collections.abc import Callable
    from pathlib import Path
    from types import ModuleType
else:
    ctypes = lazy_module("ctypes")

_M_MMAP_THRESHOLD, _LARGE = -3, 256 * 1024
_PR_SET_CHILD_SUBREAPER = 36
_TICKS = os.sysconf("SC_CLK_TCK")
_MOUNTED = 4
"""Index of the mount point in a line of mountinfo."""
_OCTAL = regex(r"\\([0-7]{3})")


class Process(Struct, frozen=True):
    """One process at one moment; `started` is in clock ticks, as `ticks` says the moment now."""

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


@lru_cache(maxsize=1)
def _elsewhere() -> ModuleType | None:
    """Return the process module for systems without /proc; None if there is /proc."""
    if os.path.exists("/proc/self/stat"):  # noqa: PTH110 - at every start
        return None
    try:
        from runner.process import process_table
    except ModuleNotFoundError as error:  # on Linux psutil is not installed along
        raise RunnerError(
            "/proc not found: processes cannot be listed",
            hint="mount -t proc proc /proc, or run where it is mounted",
        ) from error
    return process_table


# --- what a process is ----------------------------------------------------------------


def ticks() -> int:
    """Return the current time in the unit of `Process.started`: since boot or since 1970."""
    # starttime includes the time of suspend, but CLOCK_MONOTONIC does not: proc(5),
    # clock_gettime(2).
    if _elsewhere() is None and sys.platform == "linux":
        return int(time.clock_gettime(time.CLOCK_BOOTTIME) * _TICKS)
    return int(time.time() * _TICKS)


def process(pid: int) -> Process | None:
    """Return the process with this ID, or `None`."""
    if other := _elsewhere():
        return _of_words(other.words_of(pid))
    stat = _read(f"/proc/{pid}/stat")
    if not stat:
        return None
    # The name is in brackets and may itself contain blanks and brackets: the last one ends it. The
    # rest starts with field 3, the state, of proc(5).
    head, _, rest = stat.rpartition(b")")
    fields = rest.split()
    name = head.partition(b"(")[2].decode("utf-8", "replace")
    state, parent, session, started = fields[0], fields[1], fields[3], fields[19]
    return Process(pid, name, state.decode(), int(parent), int(session), int(started))


def _of_words(words: tuple[int, str, str, int, int, float] | None) -> Process | None:
    if words is None:
        return None
    pid, name, state, parent, session, since = words
    return Process(pid, name, state, parent, session, int(since * _TICKS))


def is_there(pid: int) -> bool:
    """Return whether a process ID exists, including other users' processes and zombies."""
    try:
        # Signal 0 only checks (kill(2)); EPERM means that it exists but belongs to another user.
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def environment(pid: int) -> bytes:
    """Return a process's initial environment, NUL-separated; empty if not readable."""
    if other := _elsewhere():
        return bytes(other.environment(pid))
    return _read(f"/proc/{pid}/environ")


def children(pid: int) -> list[int]:
    """Return the IDs of the children of `pid`."""
    if other := _elsewhere():
        return [child for child, parent in other.parents().items() if parent == pid]
    try:
        threads = os.listdir(f"/proc/{pid}/task")  # noqa: PTH208 - a hot path
    except OSError:
        return []
    if not _lists_children():
        return [each for each in everyone() if (found := process(each)) and found.parent == pid]
    # proc(5) guarantees a complete list only for stopped children. During a read others may fork:
    # code that ends them repeats until none is found.
    lists = (_read(f"/proc/{pid}/task/{thread}/children") for thread in threads)
    return [int(child) for children_of_thread in lists for child in children_of_thread.split()]


def find_adopted() -> list[int]:
    """Return the orphans that this process has adopted, among its own children.

    Linux gives an orphan to the first thread of its reaper that lives (kernel/exit.c,
    `find_new_reaper`), which is the first one of all: with 64 threads, each with a command of its
    own, there is one list to read and not 64.
    """
    own = os.getpid()
    if _elsewhere() or not _lists_children():
        return children(own)
    return [int(child) for child in _read(f"/proc/{own}/task/{own}/children").split()]


@lru_cache(maxsize=1)
def _lists_children() -> bool:
    """Return whether the kernel lists the children of a thread (CONFIG_PROC_CHILDREN)."""
    return os.path.exists(f"/proc/{os.getpid()}/task/{os.getpid()}/children")  # noqa: PTH110 - text


def descendants(pid: int) -> list[int]:
    """Return all descendants of a process, parents first."""
    found: list[int] = []
    waiting = [pid]
    while waiting:
        fresh = [child for child in children(waiting.pop()) if child not in found]
        found += fresh
        waiting += fresh
    return found


def everyone() -> list[int]:
    """Return the IDs of all visible processes."""
    if other := _elsewhere():
        return list(other.parents())
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208 - a hot path


def count_running() -> int:
    """Count processes and threads (proc(5), loadavg); only processes on systems without /proc."""
    if other := _elsewhere():
        return len(other.parents())
    with suppress(ValueError, IndexError):
        return int(_read("/proc/loadavg").split()[3].partition(b"/")[2])
    return 0


def seconds_queued(pid: int) -> float:
    """Return how many seconds a process waited for a processor, by its longest waiting thread.

    By `schedstat` (Documentation/scheduler/sched-stats.rst); 0 where nobody counts it.
    """
    waited = 0
    with suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208 - as `children`
            words = _read(f"/proc/{pid}/task/{thread}/schedstat").split()
            waited = max(waited, int(words[1]) if len(words) > 1 else 0)
    return waited / 1e9


_CHUNK = 1 << 16


def _read(path: str) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        content = os.read(descriptor, _CHUNK)
        while len(content) and (more := os.read(descriptor, _CHUNK)):
            content += more
    except OSError:
        return b""
    finally:
        os.close(descriptor)
    return content


@lru_cache(maxsize=1)
def trim_memory() -> bool:
    """Return freed blocks of 256 KB or more to the system; False if that is not supported."""
    # glibc starts this way, and once such a block was freed it keeps the next of that size
    # (mallopt(3), M_MMAP_THRESHOLD): much of a plan's text, copied for an edit, would stay.
    try:
        return bool(ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _LARGE) == 1)
    except (AttributeError, OSError, TypeError):  # another C library; none to be asked (Windows)
        return False


# --- what can be done with one --------------------------------------------------------


def adopt_orphans() -> bool:
    """Make this process the parent of orphaned descendants; False if not supported."""
    try:
        # prctl(2) is Linux-only: elsewhere the C library lacks the name, which raises
        # AttributeError.
        return bool(ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)
    except AttributeError:
        return False


def open_exit(pid: int) -> int | None:
    """Return a descriptor that becomes readable when the child ends, or None."""
    # Since Linux 5.3, but filters of older container engines return EPERM: the name alone does not
    # mean that it works.
    if sys.platform != "linux" or not hasattr(os, "pidfd_open"):
        return None
    try:
        return os.pidfd_open(pid)
    except OSError:
        return None


def interrupt(pid: int, is_it: Callable[[], bool]) -> bool:
    """Send SIGINT to a process that `is_it` still knows; whether there was one to send it to.

    Its number may be given out again between the look and the signal: pidfd_open(2) holds it.
    """
    process = open_exit(pid)
    if process is None:
        if found := is_there(pid) and is_it():
            os.kill(pid, signal.SIGINT)
        return found
    try:
        if sys.platform == "linux" and is_it():
            signal.pidfd_send_signal(process, signal.SIGINT)
    finally:
        os.close(process)
    return True


def has_ended(child: int) -> bool:
    """Return whether a child has ended, without reaping it, so its process ID stays reserved."""
    if sys.platform == "linux" and hasattr(os, "waitid"):
        options = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, child, options) is not None
    found = process(child)
    return found is None or not found.alive


def new_file_of_memory() -> int:
    """Create an unnamed file that a child can inherit."""
    if sys.platform == "linux" and hasattr(os, "memfd_create"):
        return os.memfd_create("options")
    descriptor, path = tempfile.mkstemp()
    os.unlink(path)  # noqa: PTH108 - text
    return descriptor


# --- where a file is ------------------------------------------------------------------


def file_system_of(path: Path) -> str:
    """Return the file system type of a path, such as `ext4` or `nfs4`; empty if unknown.

    By /proc/self/mountinfo (proc(5)): the last mount on the longest way to it.
    """
    real = os.path.realpath(path)
    found = (0, "")
    for line in os.fsdecode(_read("/proc/self/mountinfo")).splitlines():
        # The number of optional fields before the dash varies (proc(5), mountinfo), so later fields
        # cannot be counted from the front; and a blank in a path is written as \040.
        before, _, after = line.partition(" - ")
        words = before.split()
        if len(words) <= _MOUNTED or not after:
            continue
        place = _OCTAL.sub(lambda sign: chr(int(sign[1], 8)), words[_MOUNTED])
        is_on_the_way = real == place or real.startswith(place.rstrip("/") + "/")
        if is_on_the_way and len(place) >= found[0]:
            found = (len(place), after.split()[0])
    return found[1]
