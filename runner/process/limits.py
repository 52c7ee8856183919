"""How much of the machine one command may take."""

from __future__ import annotations

import resource
from dataclasses import dataclass

MEGABYTE = 1024 * 1024
_BLOCK = 512
"""POSIX `ulimit -f` counts blocks of 512 bytes."""
_KILOBYTE = 1024
"""`ulimit -v` counts kibibytes."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one command: times in seconds, sizes in bytes; 0 or `None` means no bound."""

    soft: float = 300.0
    """After this a person is told that it still runs."""
    idle: float = 600.0
    """Without output for so long, it is ended."""
    hard: float = 1800.0
    """After this it is ended in any case."""
    memory: int | None = None
    """Address space of each process."""
    output: int = 20 * MEGABYTE
    """How much of its output is kept: the first half and the last half."""
    file_size: int | None = 8 * 1024 * MEGABYTE
    open_files: int | None = 65536
    cpu: int | None = None
    """Seconds of processor time of each process."""


def ulimits(limits: Limits) -> str:
    """Shell text that sets the limits for whatever the shell starts next.

    No value is above what this process itself may use, so that `ulimit` never fails.
    """
    settings = ["ulimit -c 0"]
    wanted = (
        ("n", limits.open_files, resource.RLIMIT_NOFILE, 1),
        ("f", limits.file_size, resource.RLIMIT_FSIZE, _BLOCK),
        ("v", limits.memory, resource.RLIMIT_AS, _KILOBYTE),
        ("t", limits.cpu, resource.RLIMIT_CPU, 1),
    )
    settings += [
        f"ulimit -{letter} {_attainable(value, kind) // unit}"
        for letter, value, kind, unit in wanted
        if value
    ]
    return "; ".join(settings)


def _attainable(value: int, kind: int) -> int:
    """The value, or the hard limit of this process where that is lower."""
    hard = resource.getrlimit(kind)[1]
    return value if hard == resource.RLIM_INFINITY else min(value, hard)
