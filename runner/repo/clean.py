"""Make a folder hold nothing but what is named: whatever a command left goes, hidden or locked."""
# ruff: noqa: PTH101, PTH104, PTH106, PTH108, PTH118 - names are bytes, as git has them

from __future__ import annotations

import os
import stat
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from pathlib import Path

_OWNER = stat.S_IRWXU


def _goes_on() -> None:
    pass


def sweep(tree: Path, keep: Collection[bytes], go_on: Callable[[], None] = _goes_on) -> None:
    """Remove everything below `tree` that is not in `keep` or a folder above one of those.

    Follows no link. `go_on` is called before each removal and may raise. Raises OSError where
    something resists.
    """
    folders = parents(keep)
    pending = [(os.fsencode(tree), b"")]
    while pending:
        folder, below = pending.pop()
        for entry in _entries(folder):
            path = below + entry.name
            if not entry.is_dir(follow_symlinks=False):
                if path not in keep:
                    go_on()
                    os.unlink(entry.path)
            elif path in folders:
                pending.append((entry.path, path + b"/"))
            else:
                remove_tree(entry.path, go_on)


def parents(paths: Collection[bytes]) -> set[bytes]:
    """Every folder above these paths, relative as they are."""
    found: set[bytes] = set()
    for path in paths:
        above = path.rpartition(b"/")[0]
        while above and above not in found:
            found.add(above)
            above = above.rpartition(b"/")[0]
    return found


def remove_tree(top: bytes, go_on: Callable[[], None] = _goes_on) -> None:
    """Remove a folder however deep, following no link.

    Inner folders are moved up beside `top` first, so that no path grows too long and nothing
    recurses. Raises OSError where something resists.
    """
    pending = [top]
    number = 0
    while pending:
        folder = pending.pop()
        for entry in _entries(folder):
            go_on()
            if entry.is_dir(follow_symlinks=False):
                _unlock(entry.path)
                number += 1
                moved = b"%b.%d.%d" % (top, os.getpid(), number)
                os.rename(entry.path, moved)
                pending.append(moved)
            else:
                os.unlink(entry.path)
        os.rmdir(folder)


def remove_odd_files(tree: Path) -> None:
    """Remove pipes, sockets and devices below a folder: git would wait on them for ever."""
    for folder, _, names in os.walk(os.fsencode(tree)):
        for name in names:
            path = os.path.join(folder, name)
            mode = os.lstat(path).st_mode
            if not (stat.S_ISREG(mode) or stat.S_ISLNK(mode)):
                os.unlink(path)


def make_readable(tree: Path) -> None:
    """Let the owner read every file and folder below a folder; links are not followed."""
    for folder, _, names in os.walk(os.fsencode(tree)):
        for name in names:
            path = os.path.join(folder, name)
            mode = os.lstat(path).st_mode
            if stat.S_ISREG(mode) and not mode & stat.S_IRUSR:
                os.chmod(path, stat.S_IMODE(mode) | stat.S_IRUSR)
        with suppress(OSError):  # a path too long to be opened: whoever asks git hears of it
            for entry in _entries(folder):
                if entry.is_dir(follow_symlinks=False):
                    _unlock(entry.path)


def _entries(folder: bytes) -> list[os.DirEntry[bytes]]:
    _unlock(folder)
    with os.scandir(folder) as entries:
        return list(entries)


def _unlock(folder: bytes) -> None:
    mode = stat.S_IMODE(os.lstat(folder).st_mode)
    if mode & _OWNER != _OWNER:
        os.chmod(folder, mode | _OWNER)
