"""Control groups: limit a command's processes together, and kill them all at once.

A group is made below this process's own one, only where that is ours to divide: the root of a
namespace, what systemd has delegated (systemd.io/CGROUP_DELEGATION), what the person may write.
Version 2 where it has the controllers, else version 1: cgroups(7). Groups come and go with a
start, and count as one effect with it.
"""

from __future__ import annotations

import itertools
import os
import signal
import sys
import time
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec import Struct

from runner.config.sizes import format_size
from runner.process.platform import process

if TYPE_CHECKING:
    from collections.abc import Iterator
    from subprocess import Popen

    from runner.process.limits import Limits

_WANTED = ("memory", "pids")
_MORE = ("cpu", "io")
"""Version 2 controllers that are enabled if a limit needs them."""
_FIRST = {"pids": "pids", "memory": "memory", "cpu": "cpu", "blkio": "blkio"}
_PERIOD = 100_000
"""Period of the processor limit in microseconds, the kernel's default."""
# Order matters: memory with swap may never be below memory alone, which starts unlimited (EINVAL;
# cgroup-v1/memory.rst in the kernel documentation).
_FIRST_MEMORY = ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes")
_PATIENCE = 0.5
"""Seconds of retries to remove a group: its last process may not be reaped yet."""
_YOUNG = 60.0
"""Seconds within which a group may still be in use."""
# Membership is inherited at fork (cgroups(7)): children started before the command joined the group
# would escape its limits.
_WAIT = 'kill -STOP $$; exec "$@"'
"""A shell that waits until it is in the group, and then becomes the command."""
_numbers = itertools.count(1)


class Grounds(Struct, frozen=True):
    """The folders below which groups can be made; "" where there is none."""

    unified: str = ""
    controllers: frozenset[str] = frozenset()
    """Controllers available in the unified hierarchy."""
    pids: str = ""
    memory: str = ""
    cpu: str = ""
    blkio: str = ""
    """Path of the version 1 blkio group."""

    @property
    def held(self) -> frozenset[str]:
        """Controllers available here: `memory`, `pids`, and, if requested, `cpu` and `io`."""
        first = {name for name in (*_WANTED, "cpu") if getattr(self, name)}
        more = set(_MORE) & set(_read(f"{self.unified}/cgroup.controllers").split())
        more = more if self.unified else set()
        return self.controllers | first | more | ({"io"} if self.blkio else set())


class CommandCgroups(Struct, frozen=True):
    """The groups of one command, empty before it starts and when it is over."""

    unified: str
    first: tuple[str, ...]
    """Paths of version 1 groups."""
    limits: Limits

    def join(self) -> None:
        """Move the calling thread into the version 1 groups, so that its children start there."""
        for folder in self.first:
            _write(f"{folder}/tasks", "0")

    def leave(self) -> None:
        """Move the calling thread back."""
        for folder in self.first:
            _write(f"{os.path.dirname(folder)}/tasks", "0")  # noqa: PTH120 - a hot path

    def around(self, argv: tuple[str, ...]) -> tuple[str, ...]:
        """Return a command line that waits until `admit` has put it into a version 2 group."""
        return ("/bin/sh", "-c", _WAIT, "sh", *argv) if self.unified else argv

    def admit(self, first: Popen[bytes]) -> None:
        """Move the first process into the version 2 group, which takes only whole processes."""
        if not self.unified or sys.platform != "linux":
            return
        # WNOWAIT leaves reaping to Popen; WEXITED since it may die before it stops: waitid(2).
        os.waitid(os.P_PID, first.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        try:
            _write(f"{self.unified}/cgroup.procs", str(first.pid))
        except OSError:
            # It is stopped and no other code knows that it waits: it would stay forever.
            first.kill()
            first.wait()
            raise
        os.kill(first.pid, signal.SIGCONT)

    @property
    def folders(self) -> tuple[str, ...]:
        """All of them."""
        return (*self.first, self.unified) if self.unified else self.first

    def kill(self) -> None:
        """Kill every process in the group, if the kernel can (5.14)."""
        # All at once, including those forking right now, in any session (Linux,
        # admin-guide/cgroup-v2, cgroup.kill).
        if self.unified:
            with suppress(OSError):
                _write(f"{self.unified}/cgroup.kill", "1")

    def close(self) -> str:
        """Remove the groups; return messages about limits that were reached."""
        lines = "".join(f"runner: {line}\n" for line in self._list_reached())
        until = time.monotonic() + _PATIENCE
        for folder in self.folders:
            while not _remove(folder) and time.monotonic() < until:
                time.sleep(0.002)
        return lines

    def _list_reached(self) -> list[str]:
        reached = []
        if any(_count(file, "max") for file in self._find_files("pids.events")):
            reached.append(f"the command reached its limit of {self.limits.processes} processes")
        memory = self._find_files("memory.events", "memory.oom_control")
        if any(_count(file, "oom_kill") for file in memory):
            bound = (self.limits.together or 0) / 2**20
            more = f"{bound:g} MiB of memory" if bound else "memory"
            reached.append(f"the command used more than its {more} and was stopped")
        if self.has_written_too_much():
            size = format_size(self.limits.disk or 0)
            reached.append(f"the command wrote more than {size} to disk and was stopped")
        return reached

    def has_written_too_much(self) -> bool:
        """Return whether the bytes written to disk, as the kernel counts them, exceed the limit."""
        return bool(self.limits.disk) and self._count_written() > (self.limits.disk or 0)

    def _count_written(self) -> int:
        """Return the bytes written to all devices; version 2 also counts later write-back."""
        total = 0
        for path in self._find_files("io.stat", "blkio.throttle.io_service_bytes"):
            words = _read(path).split()
            total += sum(int(word[7:]) for word in words if word.startswith("wbytes="))
            pairs = itertools.pairwise(words)
            total += sum(int(size) for word, size in pairs if word == "Write" and size.isdigit())
        return total

    def _find_files(self, *names: str) -> Iterator[str]:
        """Yield the existing files of these names in all groups."""
        for folder in self.folders:
            base = os.path.dirname(folder)  # noqa: PTH120 - a hot path
            yield from (f"{folder}/{name}" for name in _find_kept(folder, base, names))


_kept: dict[tuple[str, tuple[str, ...]], tuple[str, ...]] = {}


def _find_kept(folder: str, base: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return which of these files a group below `base` has; cached."""
    known = _kept.get((base, names))
    if known is None:
        found = tuple(name for name in names if os.path.exists(f"{folder}/{name}"))  # noqa: PTH110
        if not os.path.isdir(folder):  # noqa: PTH112 - one that is gone says nothing of others
            return found
        known = _kept[base, names] = found
    return known


def group_for(limits: Limits, grounds: Grounds | None = None) -> CommandCgroups | None:
    """Create a group that applies these limits; return `None` if that is not possible."""
    grounds = grounds or our_grounds()
    memory, processes = limits.together, limits.processes
    wanted: list[tuple[str, dict[str, int | str | None]]] = [
        (grounds.unified, _values_of_unified(limits, grounds)),
        (grounds.pids, {"pids.max": processes}),
        (grounds.memory, dict.fromkeys(_FIRST_MEMORY, memory)),
        (grounds.cpu, {"cpu.cfs_quota_us": round(limits.processors * _PERIOD)}),
        (grounds.blkio, _values_of_blkio(limits)),
    ]
    name = f"runner-{os.getpid()}-{next(_numbers)}"
    made = [
        _make_group(f"{base}/{name}", values) if base and any(values.values()) else ""
        for base, values in wanted
    ]
    first = tuple(filter(None, made[1:]))
    return CommandCgroups(made[0], first, limits) if any(made) else None


def _values_of_blkio(limits: Limits) -> dict[str, int | str | None]:
    """Return the version 1 values: bytes per second of a device, without page cache writes."""
    rate = f"{limits.device} {limits.io}" if limits.io and limits.device else None
    names = ("blkio.throttle.read_bps_device", "blkio.throttle.write_bps_device")
    return {**dict.fromkeys(names, rate), _COUNTED: limits.disk}


_COUNTED = ""
"""No file to write: the group exists for the kernel's counters."""


def _values_of_unified(limits: Limits, grounds: Grounds) -> dict[str, int | str | None]:
    controllers = grounds.controllers
    values: dict[str, int | str | None] = {}
    asked = {"cpu": limits.processors, "io": (limits.io and limits.device) or limits.disk}
    if grounds.unified and any(asked.values()):
        had = _enable_controllers(grounds.unified, tuple(one for one in _MORE if asked[one]))
        if "cpu" in had and limits.processors:
            values["cpu.max"] = f"{round(limits.processors * _PERIOD)} {_PERIOD}"
        if "io" in had and limits.io and limits.device:
            values["io.max"] = f"{limits.device} rbps={limits.io} wbps={limits.io}"
        if "io" in had:
            values[_COUNTED] = limits.disk
    if "memory" in controllers and limits.together:
        # Without a swap limit the group swaps at its limit and blocks the machine. The group is
        # killed as a whole, since a build that lost only its compiler may continue and seem to
        # pass: cgroup-v2.rst, memory.oom.group.
        values |= {"memory.max": limits.together, "memory.swap.max": 0, "memory.oom.group": 1}
    if "pids" in controllers:
        values["pids.max"] = limits.processes
    return values


def _make_group(folder: str, values: dict[str, int | str | None]) -> str:
    """Create a control group with its limits; return "" if the kernel rejects it."""
    try:
        os.mkdir(folder)  # noqa: PTH102 - a hot path
    except OSError:
        return ""
    for name, value in values.items():
        if value is not None and name != _COUNTED:
            with suppress(OSError):  # accounting of swap is often off
                _write(f"{folder}/{name}", str(value))
    return folder


def explain_unheld(limits: Limits, grounds: Grounds | None = None) -> tuple[str, ...]:
    """Return the limits that this machine does not enforce, or only partly."""
    grounds = grounds or our_grounds()
    held = grounds.held
    unheld = []
    if limits.processors and "cpu" not in held:
        unheld.append(
            "limits.processors is not enforced: this machine has no cgroup with cpu control"
        )
    for name in ("disk", "io"):
        if not getattr(limits, name):
            continue
        if "io" not in held:
            unheld.append(
                f"limits.{name} is not enforced: this machine has no cgroup with io control"
            )
        elif not limits.device:
            unheld.append(
                f"limits.{name} is not enforced: the scratch trees are on no block device"
            )
        elif grounds.blkio:
            unheld.append(f"limits.{name} covers only direct I/O (cgroup version 1)")
    return tuple(unheld)


# --- where groups can be made ---------------------------------------------------------


@lru_cache(maxsize=1)
def our_grounds() -> Grounds:
    """Return the usable groups of this machine, after removing those of dead runners; cached."""
    grounds = grounds_in(_read("/proc/self/cgroup"), _read("/proc/self/mounts"))
    first = (grounds.pids, grounds.memory, grounds.cpu, grounds.blkio)
    for base in filter(None, (grounds.unified, *first)):
        _sweep(base)
    return grounds


def grounds_in(groups: str, mounts: str) -> Grounds:
    """Parse the text of /proc/self/cgroup and /proc/self/mounts into the runner's groups."""
    own: dict[str, str] = {}
    for line in groups.splitlines():
        _, names, path = line.split(":", 2)
        own |= dict.fromkeys(names.split(","), path)
    first = {}
    unified = ""
    for line in mounts.splitlines():
        _, at, kind, options, *_ = line.split(" ")
        if kind == "cgroup2" and "" in own:
            # Version 2's line names no controllers: `0::/path`, cgroups(7).
            unified = _ours(at, own[""])
        for name in _FIRST:
            if kind == "cgroup" and name in options.split(",") and name in own:
                first[name] = _ours(at, own[name])
    controllers = frozenset(_enable_controllers(unified)) if unified else frozenset[str]()
    rest = {name: path for name, path in first.items() if name not in controllers}
    return Grounds(unified, controllers, **rest)


def _ours(mount: str, path: str) -> str:
    """Return the group's folder if this process may divide it, else ""."""
    folder = mount + path.rstrip("/")
    if not os.access(folder, os.W_OK) or not os.access(f"{folder}/cgroup.procs", os.W_OK):
        return ""
    # Root can write to every group, which makes none its own: systemd allows one writer for each
    # subtree, and marks delegated ones by this attribute (CGROUP_DELEGATION).
    mine = path == "/" or os.geteuid() != 0 or _is_delegated(folder)
    return folder if mine else ""


def _is_delegated(folder: str) -> bool:
    if sys.platform != "linux":
        return False
    for name in ("user.delegate", "trusted.delegate"):
        with suppress(OSError):
            return os.getxattr(folder, name) == b"1"
    return False


def _enable_controllers(folder: str, wanted: tuple[str, ...] = _WANTED) -> set[str]:
    """Enable controllers for the groups below, and return those that are available.

    A group that gives controllers to others has no process of its own, so this one moves into
    a group below; where others are beside it (a terminal's shell), nothing is changed.
    """
    offered = set(wanted) & set(_read(f"{folder}/cgroup.controllers").split())
    missing = offered - set(_read(f"{folder}/cgroup.subtree_control").split())
    if missing:
        words = " ".join(f"+{name}" for name in sorted(missing))
        with suppress(OSError):
            # "No internal processes", cgroups(7): a group with its own processes cannot enable
            # controllers for children (EBUSY), so ours move one level down first.
            if folder.endswith((".scope", ".service")):
                _step_down(folder)
            _write(f"{folder}/cgroup.subtree_control", words)
    return offered & set(_read(f"{folder}/cgroup.subtree_control").split())


def _step_down(folder: str) -> None:
    if _read(f"{folder}/cgroup.procs").split() == [str(os.getpid())]:
        below = f"{folder}/runner-itself"
        os.makedirs(below, exist_ok=True)  # noqa: PTH103 - as above
        _write(f"{below}/cgroup.procs", "0")


def _sweep(base: str) -> None:
    """Remove the groups of killed runners; young ones may be of another namespace."""
    with suppress(OSError):
        for entry in os.scandir(base):
            word, _, rest = entry.name.partition("-")
            pid = rest.partition("-")[0]
            # The pid belongs to its creator's namespace, where it may be alive though unused here:
            # so check the age, too.
            gone = word == "runner" and pid.isdigit() and not process(int(pid))
            if gone and time.time() - entry.stat().st_mtime > _YOUNG:
                _remove(entry.path)


def _remove(folder: str) -> bool:
    try:
        os.rmdir(folder)  # noqa: PTH106 - a hot path
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def _count(path: str, word: str) -> int:
    """Return the value of a counter in a file of counters; 0 if it is missing."""
    lines = (line.split() for line in _read(path).splitlines())
    return next((int(line[1]) for line in lines if line[:1] == [word]), 0)


def _read(path: str) -> str:
    try:
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - a hot path
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""


def _write(path: str, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)
