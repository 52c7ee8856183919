"""What a tree looks like to `stat`: the quick answer to whether anybody has written to it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TICK = 0.02
"""Seconds in which a file's change may leave its times as they were: a coarse clock's step."""


@dataclass(frozen=True, slots=True)
class Signature:
    """Every file and folder of a tree by number, mode, size and times; equal means untouched.

    The change time cannot be set back by a program, so content cannot be put back unseen either.
    """

    digest: int
    newest: int
    """The latest change time in it, in nanoseconds since the epoch."""


def signature(folder: Path) -> Signature:
    """The signature of a tree as it is now; unreadable parts make it differ from every other."""
    rows = []
    newest = 0
    try:
        for path, found in _walk(os.fspath(folder)):
            rows.append((path, found.st_ino, found.st_mode, found.st_size, found.st_ctime_ns))
            newest = max(newest, found.st_ctime_ns)
    except OSError:
        return Signature(id(rows), 0)
    rows.sort()
    return Signature(hash(tuple(rows)), newest)


def _walk(folder: str) -> Iterator[tuple[str, os.stat_result]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            yield entry.path, entry.stat(follow_symlinks=False)
            if entry.is_dir(follow_symlinks=False):
                yield from _walk(entry.path)
