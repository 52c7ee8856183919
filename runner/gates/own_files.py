"""Files and folders of ours where commands may write: made right again each time they are needed.

No link is followed, whatever a command put in the place of one. What was read once and found right
is not read again while its change time says that nobody touched it since; where change times do
not tell of every write, it is.
"""

from __future__ import annotations

import os
import stat
import time
from typing import TYPE_CHECKING

from runner import effects
from runner.lazy_dataclass import dataclass
from runner.repo.change_times import TICK, tells_changes

if TYPE_CHECKING:
    from pathlib import Path

_NANO = 1_000_000_000


@dataclass(frozen=True, slots=True)
class _Right:
    """What a file held when it was read, and its status just before."""

    content: bytes
    signature: tuple[int, ...]


_read: dict[str, _Right] = {}
"""By path; two threads that ask for the same come to the same."""


def own_folder(box: Path, *names: str) -> Path:
    """A real folder below the box, whatever a command put in its place."""
    folder = box
    missing = False
    for name in names:
        folder /= name
        seen = None if missing else _look(folder)
        missing = seen is None
        if seen is not None and not stat.S_ISDIR(seen.st_mode):
            effects.unlink(folder)
            missing = True
    if missing:
        effects.make_folder(folder)
    return folder


def make_empty(folder: Path) -> Path:
    """A folder of ours without anything in it, whatever a command put in its place."""
    seen = _look(folder)
    if seen is not None and stat.S_ISDIR(seen.st_mode) and _is_empty(folder, seen.st_mode):
        return folder
    remove(folder)
    effects.make_folder(folder)
    return folder


def remove(path: Path) -> None:
    """Take away what stands at a path, a folder with all that is in it."""
    seen = _look(path)
    if seen is not None and stat.S_ISDIR(seen.st_mode):
        effects.step("rmtree", path)
        effects.remove_tree(path)
    elif seen is not None:
        effects.unlink(path)


def put(file: Path, content: bytes, *, mode: int = 0o644) -> None:
    """Have a file hold these bytes, and whoever runs commands be able to read and to start it."""
    seen, asked = _look(file), os.R_OK | (os.X_OK if mode & 0o100 else 0)
    whole = seen is not None and stat.S_ISREG(seen.st_mode) and os.access(file, asked)
    if seen is None or not whole or not _holds(file, seen, content):
        effects.write_file(file, content, mode=mode)


def _holds(file: Path, seen: os.stat_result, content: bytes) -> bool:
    name, signature = str(file), _signature(seen)
    known = _read.get(name)
    if known is not None and known.signature == signature and known.content == content:
        return True
    if file.read_bytes() != content:
        return False
    # A write that follows within the clock's step may leave the times as they are.
    if time.time_ns() - seen.st_ctime_ns > TICK * _NANO and tells_changes(file.parent):
        _read[name] = _Right(content, signature)
    return True


def _signature(seen: os.stat_result) -> tuple[int, ...]:
    return (
        *(seen.st_dev, seen.st_ino, seen.st_mode, seen.st_size),
        *(seen.st_mtime_ns, seen.st_ctime_ns),
    )


def _look(path: Path) -> os.stat_result | None:
    """What stands at a path itself; None for nothing."""
    try:
        return os.lstat(path)
    except FileNotFoundError:
        return None


def _is_empty(folder: Path, mode: int) -> bool:
    """Whether nothing is in it and all may be put there that is to be."""
    if mode & stat.S_IRWXU != stat.S_IRWXU:
        return False
    with os.scandir(folder) as entries:
        return next(entries, None) is None
