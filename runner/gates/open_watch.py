"""Record which files of the tree a command opens, by inotify(7), also inside a sandbox."""

from __future__ import annotations

import os
import posixpath
import stat
import sys
from typing import TYPE_CHECKING

from runner.process import syscalls
from runner.repo.trees import Prefix

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self

    from runner.process.base import Place

_MOST = 8000
"""Files watched at once: the kernel queues two events for each, 16,384 in all."""


class OpenWatch:
    """Watches some paths of a tree while entered.

    By their inodes, so that a mount or another name of the same file counts.
    """

    def __init__(self, paths: Iterable[str], place: Place) -> None:
        named = paths if sys.platform == "linux" else ()
        found = [path for path in named if _is_plain(f"{place.tree}/{path}")]
        self._inside = Prefix(place.start).inside
        self._files = {f"{place.tree}/{path}": path for path in found}
        self._watched: tuple[int, dict[int, list[str]]] | None = None
        self.unopened: tuple[str, ...] = ()
        """Files that no process opened; empty if unknown."""
        self.kinds: tuple[str, ...] = ()
        """Kinds of files of which no process opened any."""

    def __enter__(self) -> Self:
        if 0 < len(self._files) <= _MOST:
            try:
                self._watched = syscalls.watch_opens(self._files)
            except OSError:  # too many watches on this machine, or a file that is gone
                self._watched = None
        return self

    def __exit__(self, *_: object) -> None:
        if self._watched is None:
            return
        descriptor, watches = self._watched
        try:
            numbers = syscalls.read_opened(descriptor)
        finally:
            os.close(descriptor)
        if numbers is None:
            return
        opened = {self._files[name] for number in numbers for name in watches.get(number, ())}
        opened |= {path for file, path in self._files.items() if _has_bytecode(file)}
        left = [path for path in self._files.values() if path not in opened]
        used = {kind_of(self._inside(path)) for path in opened}
        self.unopened = tuple(sorted(map(self._inside, left)))
        self.kinds = tuple(sorted({kind_of(path) for path in self.unopened} - used))


def kind_of(path: str) -> str:
    """Return the folder and the ending of a file, `docs/*.md`: what a pattern finds it by."""
    folder, name = posixpath.split(path)
    return f"{folder}/*{posixpath.splitext(name)[1].casefold() or name}"


def _has_bytecode(file: str) -> bool:
    """Return whether Python may have imported a file from its cached byte code."""
    folder, name = posixpath.split(file)
    if not name.endswith(".py"):
        return False
    # As `importlib.util.cache_from_source` names it: module.cpython-311.pyc.
    stem, cached = f"{name.removesuffix('.py')}.", posixpath.join(folder, "__pycache__")
    try:
        with os.scandir(cached) as entries:
            return any(entry.name.startswith(stem) for entry in entries)
    except OSError:
        return False


def _is_plain(path: str) -> bool:
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return False
