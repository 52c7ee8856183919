"""Resource limits of one command."""

from __future__ import annotations

import contextlib
import os
import resource
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from runner.config.registries import Registries
from runner.config.sizes import bytes_of
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


class Limits(Struct, frozen=True):
    """Bounds of one command: times in seconds, sizes in bytes; 0 or `None` means no bound."""

    soft: float = 300.0
    """Seconds after which a person is informed that it still runs."""
    idle: float = 600.0
    """Seconds without output after which it is ended."""
    hard: float = 1800.0
    """Seconds after which it is ended in any case."""
    queue: float = 0.0
    """Seconds beside `idle` and `hard` for which it may wait for a processor: where a machine is
    busy, that is no fault of the command. 0 counts the clock alone."""
    memory: int | None = None
    """Address space of each process: too strict for Node, Java and Go, which reserve a lot."""
    output: int = 20 * MEGABYTE
    """Maximum output that is stored: the first half and the last half."""
    file_size: int | None = 8 * 1024 * MEGABYTE
    open_files: int | None = 65536
    cpu: int | None = None
    """Processor seconds of each process."""
    processes: int | None = 4096
    """Processes and threads at once. Where no cgroup can be made, the kernel counts all of the
    person's own (RLIMIT_NPROC), so those that run already are added; it does not hold for root."""
    together: int | None = None
    """Memory of all its processes, by a cgroup; without one, data of each process."""
    processors: float = 0
    """Processors that all its processes may use together, if a cgroup can limit them."""
    disk: int | None = None
    """Bytes that they may write to the tree's device together, if a cgroup counts them."""
    io: int | None = None
    """Bytes per second that they may read from it, and write."""
    device: str = ""
    """That device, as `254:0`; empty if it has no number (a tmpfs, an overlay)."""
    registries: Registries = field(default_factory=Registries)
    """Hosts it may reach if its network is `registries`."""


def ulimits(limits: Limits) -> str:
    """Return the shell code that sets the limits for the next program.

    No value is above what this process itself may use, so that `ulimit` never fails.
    """
    # A core file (core(5)) contains process memory, including keys, and is written to the tree
    # unless the system redirects it.
    settings = ["ulimit -c 0"]
    wanted = (
        ("n", limits.open_files, resource.RLIMIT_NOFILE, 1),
        ("f", limits.file_size, resource.RLIMIT_FSIZE, _BLOCK),
        ("v", limits.memory, resource.RLIMIT_AS, _KILOBYTE),
        ("t", limits.cpu, resource.RLIMIT_CPU, 1),
        # Since Linux 4.7 this also counts private anonymous mappings (getrlimit(2)), not only
        # brk(2): so it limits the allocator of each process if there is no cgroup for all.
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
    """Return the limits with those of the settings and of a task's `Uses: memory 4GB`."""
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
    """Return the limits with the device of a tree if disk limits are set."""
    if not (limits.disk or limits.io):
        return limits
    return replace(limits, device=find_device(tree))


def find_device(tree: Path) -> str:
    """Return the number of the disk that contains a folder; empty if there is none."""
    try:
        number = tree.stat().st_dev
    except OSError:
        return ""
    major, minor = os.major(number), os.minor(number)
    # Mounts without a device have major 0: tmpfs, overlay, btrfs (devices.txt in the kernel
    # documentation). No io controller knows such a number.
    if not major:
        return ""
    known = Path(f"/sys/dev/block/{major}:{minor}")
    if (known / "partition").exists():
        # Throttling only handles whole disks, and returns ENODEV for a partition
        # (cgroup-v1/blkio-controller.rst).
        with contextlib.suppress(OSError):
            return (known.resolve().parent / "dev").read_text().strip()
    return f"{major}:{minor}"


def memory_of(uses: Iterable[Resource]) -> int | None:
    """Return the bytes of memory that a task declares; `None` if it declares none."""
    amounts = (bytes_of(each.amount) for each in uses if each.name.casefold() == "memory")
    return next((amount for amount in amounts if amount), None)


def _attainable(value: int, kind: int) -> int:
    """Return the value, limited by this process's hard limit."""
    hard = resource.getrlimit(kind)[1]
    return value if hard == resource.RLIM_INFINITY else min(value, hard)
