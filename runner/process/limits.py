"""How much of the machine one command may take."""

from __future__ import annotations

import contextlib
import os
import resource
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from runner.config.registries import Registries
from runner.config.sizes import bytes_of
from runner.lazy_dataclass import dataclass
from runner.process.platform import count_running

if TYPE_CHECKING:
    from collections.abc import Iterable

    from runner.config.settings import Settings
    from runner.model import Resource

MEGABYTE = 1024 * 1024
_BLOCK = 512
"""POSIX `ulimit -f` counts blocks of 512 bytes."""
_KILOBYTE = 1024
"""`ulimit -v` counts kibibytes."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one command: times in seconds, sizes in bytes; 0 or `None` means no bound."""

    soft: float = 300.0
    """After this a person sees that it still runs."""
    idle: float = 600.0
    """Without output for so long, it is ended."""
    hard: float = 1800.0
    """After this it is ended in any case."""
    queue: float = 0.0
    """Seconds beside `idle` and `hard` for which it may wait for a processor: where a machine is
    busy, that is no fault of the command. 0 counts the clock alone."""
    memory: int | None = None
    """Address space of each process: too strict for Node, Java and Go, which reserve much."""
    output: int = 20 * MEGABYTE
    """How much of its output is kept: the first half and the last half."""
    file_size: int | None = 8 * 1024 * MEGABYTE
    open_files: int | None = 65536
    cpu: int | None = None
    """Seconds of processor time of each process."""
    processes: int | None = 4096
    """Processes and threads at once. Where no cgroup can be made, the kernel counts all of the
    person's own (RLIMIT_NPROC), so those that run already are added; it does not hold for root."""
    together: int | None = None
    """Memory of all its processes, by a cgroup; data of each process where there is none."""
    processors: float = 0
    """Processors that all its processes may keep busy together, where a cgroup can."""
    disk: int | None = None
    """Bytes that they may write to the device of the tree together, as far as a cgroup counts."""
    io: int | None = None
    """Bytes a second that they may read from it, and write."""
    device: str = ""
    """That device, as `254:0`; empty where it has no number of its own (a tmpfs, an overlay)."""
    registries: Registries = field(default_factory=Registries)
    """What it may reach where its network is `registries`."""


def ulimits(limits: Limits) -> str:
    """Shell text that sets the limits for whatever the shell starts next.

    No value is above what this process itself may use, so that `ulimit` never fails.
    """
    # A core file (core(5)) holds the memory of a process, keys in it too, and lies in the tree
    # where the system does not take it elsewhere.
    settings = ["ulimit -c 0"]
    wanted = (
        ("n", limits.open_files, resource.RLIMIT_NOFILE, 1),
        ("f", limits.file_size, resource.RLIMIT_FSIZE, _BLOCK),
        ("v", limits.memory, resource.RLIMIT_AS, _KILOBYTE),
        ("t", limits.cpu, resource.RLIMIT_CPU, 1),
        # Since Linux 4.7 this counts private anonymous mappings, too (getrlimit(2)), not only
        # brk(2): so it bounds what an allocator takes, of each process, where there is no cgroup
        # for all.
        ("d", limits.together, resource.RLIMIT_DATA, _KILOBYTE),
    )
    settings += [
        f"ulimit -{letter} {_attainable(value, kind) // unit}"
        for letter, value, kind, unit in wanted
        if value
    ]
    if limits.processes:
        most = _attainable(limits.processes + count_running(), resource.RLIMIT_NPROC)
        settings.append(f"ulimit -p {most} 2>/dev/null || ulimit -u {most}")  # dash, or bash
    return "; ".join(settings)


def apply_bounds(limits: Limits, settings: Settings, uses: Iterable[Resource] = ()) -> Limits:
    """The limits with the person's bounds, and the memory of a task's `Uses: memory 4GB`."""
    return replace(
        limits,
        processes=settings.limits.processes,
        together=memory_of(uses) or bytes_of(settings.limits.memory),
        file_size=bytes_of(settings.limits.file_size),
        processors=settings.limits.processors,
        disk=bytes_of(settings.limits.disk),
        io=bytes_of(settings.limits.io.strip()[:-2]),
        registries=Registries.of(settings.sandbox.registries, settings.floor.registries),
    )


def with_device(limits: Limits, tree: Path) -> Limits:
    """The limits with the device that a tree lies on, where they ask for it."""
    if not (limits.disk or limits.io):
        return limits
    return replace(limits, device=find_device(tree))


def find_device(tree: Path) -> str:
    """The number of the whole disk that holds a folder; empty where there is none."""
    try:
        number = tree.stat().st_dev
    except OSError:
        return ""
    major, minor = os.major(number), os.minor(number)
    # Major 0 is given to mounts without a device: tmpfs, overlay, btrfs (devices.txt in the kernel
    # documentation). No io controller knows such a number.
    if not major:
        return ""
    known = Path(f"/sys/dev/block/{major}:{minor}")
    if (known / "partition").exists():
        # Throttling knows whole disks alone, and says ENODEV for a partition
        # (cgroup-v1/blkio-controller.rst).
        with contextlib.suppress(OSError):
            return (known.resolve().parent / "dev").read_text().strip()
    return f"{major}:{minor}"


def memory_of(uses: Iterable[Resource]) -> int | None:
    """The bytes that a task says it uses; `None` where it names no memory."""
    amounts = (bytes_of(each.amount) for each in uses if each.name.casefold() == "memory")
    return next((amount for amount in amounts if amount), None)


def _attainable(value: int, kind: int) -> int:
    """The value, or the hard limit of this process where that is lower."""
    hard = resource.getrlimit(kind)[1]
    return value if hard == resource.RLIM_INFINITY else min(value, hard)
