"""Control groups: limits of a command's processes together, and an end of all of them at once.

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

from runner.config.sizes import format_size
from runner.lazy_dataclass import dataclass
from runner.process.platform import process

if TYPE_CHECKING:
    from collections.abc import Iterator
    from subprocess import Popen

    from runner.process.limits import Limits

_WANTED = ("memory", "pids")
_MORE = ("cpu", "io")
"""Controllers of version 2 that are enabled where somebody bounds a command by them."""
_FIRST = {"pids": "pids", "memory": "memory", "cpu": "cpu", "blkio": "blkio"}
_PERIOD = 100_000
"""Microseconds in which a group may use its processors' time, as the kernel begins with."""
# In this order: memory with swap may never be below memory alone, which begins unbounded (EINVAL;
# cgroup-v1/memory.rst in the kernel documentation).
_FIRST_MEMORY = ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes")
_PATIENCE = 0.5
"""Seconds that a group is tried to be taken away: its last process may not be fetched yet."""
_YOUNG = 60.0
"""Seconds."""
# Membership is inherited at fork (cgroups(7)): what the command started before it was put into the
# group would stay outside of its limits.
_WAIT = 'kill -STOP $$; exec "$@"'
"""A shell that waits to be put into a group, and becomes the command."""
_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Grounds:
    """The folders below which groups can be made; "" where there is none."""

    unified: str = ""
    controllers: frozenset[str] = frozenset()
    """What the unified hierarchy has to give."""
    pids: str = ""
    memory: str = ""
    cpu: str = ""
    blkio: str = ""
    """Those of version 1."""

    @property
    def held(self) -> frozenset[str]:
        """What can be limited here: `memory`, `pids`, and, once asked for, `cpu` and `io`."""
        first = {name for name in (*_WANTED, "cpu") if getattr(self, name)}
        more = set(_MORE) & set(_read(f"{self.unified}/cgroup.controllers").split())
        more = more if self.unified else set()
        return self.controllers | first | more | ({"io"} if self.blkio else set())


@dataclass(frozen=True, slots=True)
class CommandCgroups:
    """The groups of one command, empty before it starts and when it is over."""

    unified: str
    first: tuple[str, ...]
    """Those of version 1."""
    limits: Limits

    def join(self) -> None:
        """Put the calling thread into the groups of version 1: what it starts is born there."""
        for folder in self.first:
            _write(f"{folder}/tasks", "0")

    def leave(self) -> None:
        """Put the calling thread back."""
        for folder in self.first:
            _write(f"{os.path.dirname(folder)}/tasks", "0")  # noqa: PTH120 - a hot path

    def around(self, argv: tuple[str, ...]) -> tuple[str, ...]:
        """The command line of a first process that `admit` can put into version 2."""
        return ("/bin/sh", "-c", _WAIT, "sh", *argv) if self.unified else argv

    def admit(self, first: Popen[bytes]) -> None:
        """Put the first process into the group of version 2, which takes whole processes only."""
        if not self.unified or sys.platform != "linux":
            return
        # WNOWAIT leaves it to Popen to be fetched; WEXITED since it may die before it ever stops:
        # waitid(2).
        os.waitid(os.P_PID, first.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        try:
            _write(f"{self.unified}/cgroup.procs", str(first.pid))
        except OSError:
            # It stands still and nobody else knows that it waits: left alone it would do so for
            # ever.
            first.kill()
            first.wait()
            raise
        os.kill(first.pid, signal.SIGCONT)

    @property
    def folders(self) -> tuple[str, ...]:
        """All of them."""
        return (*self.first, self.unified) if self.unified else self.first

    def kill(self) -> None:
        """End every process in it, where the kernel can (5.14)."""
        # All at once, those too that fork at this moment, whatever session they are in (Linux,
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
        """Whether more went to disk than its limit, as far as the kernel counted until now."""
        return bool(self.limits.disk) and self._count_written() > (self.limits.disk or 0)

    def _count_written(self) -> int:
        """Bytes by all devices: version 2 counts what the page cache writes back later, too."""
        total = 0
        for path in self._find_files("io.stat", "blkio.throttle.io_service_bytes"):
            words = _read(path).split()
            total += sum(int(word[7:]) for word in words if word.startswith("wbytes="))
            pairs = itertools.pairwise(words)
            total += sum(int(size) for word, size in pairs if word == "Write" and size.isdigit())
        return total

    def _find_files(self, *names: str) -> Iterator[str]:
        """Files of these names in all of them; each hierarchy has the same in all its groups."""
        for folder in self.folders:
            base = os.path.dirname(folder)  # noqa: PTH120 - a hot path
            yield from (f"{folder}/{name}" for name in _find_kept(folder, base, names))


_kept: dict[tuple[str, tuple[str, ...]], tuple[str, ...]] = {}


def _find_kept(folder: str, base: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """Those of these files that a group below `base` has, such as `folder`; asked once."""
    known = _kept.get((base, names))
    if known is None:
        found = tuple(name for name in names if os.path.exists(f"{folder}/{name}"))  # noqa: PTH110
        if not os.path.isdir(folder):  # noqa: PTH112 - one that is gone says nothing of others
            return found
        known = _kept[base, names] = found
    return known


def group_for(limits: Limits, grounds: Grounds | None = None) -> CommandCgroups | None:
    """A new group that holds what these limits ask for; `None` where none can be made."""
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
    """Of version 1: a device and its bytes a second; counted is what passes by the page cache."""
    rate = f"{limits.device} {limits.io}" if limits.io and limits.device else None
    names = ("blkio.throttle.read_bps_device", "blkio.throttle.write_bps_device")
    return {**dict.fromkeys(names, rate), _COUNTED: limits.disk}


_COUNTED = ""
"""No file: the group is made for what the kernel counts in it."""


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
        # Without a bound on swap the limit is met by swapping, and the machine stands still. The
        # group ends as a whole, since a build that lost only its compiler may go on and seem to
        # pass: cgroup-v2.rst, memory.oom.group.
        values |= {"memory.max": limits.together, "memory.swap.max": 0, "memory.oom.group": 1}
    if "pids" in controllers:
        values["pids.max"] = limits.processes
    return values


def _make_group(folder: str, values: dict[str, int | str | None]) -> str:
    """The folder with its limits, or "" where the kernel does not want it."""
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
    """What of these bounds nothing holds on this machine, or only a part of; none: all of it."""
    grounds = grounds or our_grounds()
    held = grounds.held
    unheld = []
    if limits.processors and "cpu" not in held:
        unheld.append("processors is not enforced: no cgroup can be created for it here (cpu)")
    for name in ("disk", "io"):
        if not getattr(limits, name):
            continue
        if "io" not in held:
            unheld.append(f"{name} is not enforced: no cgroup can be created for it here (io)")
        elif not limits.device:
            unheld.append(f"{name} is not enforced: the disk of the scratch trees has no number")
        elif grounds.blkio:
            unheld.append(f"{name} is enforced only for I/O without page cache (cgroup version 1)")
    return tuple(unheld)


# --- where groups can be made ---------------------------------------------------------


@lru_cache(maxsize=1)
def our_grounds() -> Grounds:
    """What this machine lets us divide; looked at once, what dead runners left is taken away."""
    grounds = grounds_in(_read("/proc/self/cgroup"), _read("/proc/self/mounts"))
    first = (grounds.pids, grounds.memory, grounds.cpu, grounds.blkio)
    for base in filter(None, (grounds.unified, *first)):
        _sweep(base)
    return grounds


def grounds_in(groups: str, mounts: str) -> Grounds:
    """The same, from the text of /proc/self/cgroup and /proc/self/mounts."""
    own: dict[str, str] = {}
    for line in groups.splitlines():
        _, names, path = line.split(":", 2)
        own |= dict.fromkeys(names.split(","), path)
    first = {}
    unified = ""
    for line in mounts.splitlines():
        _, at, kind, options, *_ = line.split(" ")
        if kind == "cgroup2" and "" in own:
            # The line of version 2 names no controllers: `0::/path`, cgroups(7).
            unified = _ours(at, own[""])
        for name in _FIRST:
            if kind == "cgroup" and name in options.split(",") and name in own:
                first[name] = _ours(at, own[name])
    controllers = frozenset(_enable_controllers(unified)) if unified else frozenset[str]()
    rest = {name: path for name, path in first.items() if name not in controllers}
    return Grounds(unified, controllers, **rest)


def _ours(mount: str, path: str) -> str:
    """The folder, where it is ours to divide; else ""."""
    folder = mount + path.rstrip("/")
    if not os.access(folder, os.W_OK) or not os.access(f"{folder}/cgroup.procs", os.W_OK):
        return ""
    # Root can write to every group, which makes none its own: systemd allows one writer for each
    # part of the tree, and marks by this attribute what it has given away (CGROUP_DELEGATION).
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
    """The controllers that groups below have, enabled now where that is needed.

    A group that gives controllers to others has no process of its own, so this one moves into
    a group below; where others are beside it (a terminal's shell), nothing is changed.
    """
    offered = set(wanted) & set(_read(f"{folder}/cgroup.controllers").split())
    missing = offered - set(_read(f"{folder}/cgroup.subtree_control").split())
    if missing:
        words = " ".join(f"+{name}" for name in sorted(missing))
        with suppress(OSError):
            # "No internal processes", cgroups(7): a group with processes of its own cannot give
            # controllers on (EBUSY), so ours have to go a level down first.
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
    """Take away what runners left that were killed; a young one may be of another's namespace."""
    with suppress(OSError):
        for entry in os.scandir(base):
            word, _, rest = entry.name.partition("-")
            pid = rest.partition("-")[0]
            # The pid is of the namespace of its maker, where it may live though nobody bears it
            # here: so age decides, too.
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
    """The number behind a word of a file of counters; 0 where there is none."""
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
