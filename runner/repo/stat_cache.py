"""What a tree looks like to `stat`: the quick answer to whether anybody has written to it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TICK = 0.02
"""Seconds in which a file's change may leave its times as they were: a coarse clock's step."""

_Row: TypeAlias = "tuple[int, int, int, int]"


@dataclass(frozen=True, slots=True)
class StatCache:
    """Every file and folder of a tree by number, mode, size and change time.

    A change time cannot be set back by a program, so content cannot be put back unseen; and a
    folder's moves with every name that comes or goes, so asking for the known paths is enough.
    """

    rows: tuple[tuple[str, _Row], ...]
    """None at all where a part of the tree could not be read."""
    newest: int
    """The latest change time in it, in nanoseconds since the epoch."""

    @property
    def holds(self) -> bool:
        """Whether the tree still looks like this."""
        try:
            return bool(self.rows) and all(_row(os.lstat(path)) == row for path, row in self.rows)
        except OSError:
            return False


def signature(folder: Path) -> StatCache:
    """The signature of a tree as it is now; that of a tree with unreadable parts never holds."""
    top = os.fspath(folder)
    try:
        rows = tuple((path, _row(found)) for path, found in ((top, os.lstat(top)), *_walk(top)))
    except OSError:
        return StatCache((), 0)
    return StatCache(rows, max(changed for _, (_, _, _, changed) in rows))


def _row(found: os.stat_result) -> _Row:
    return found.st_ino, found.st_mode, found.st_size, found.st_ctime_ns


def _walk(folder: str) -> Iterator[tuple[str, os.stat_result]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            yield entry.path, entry.stat(follow_symlinks=False)
            if entry.is_dir(follow_symlinks=False):
                yield from _walk(entry.path)
