"""The runner's own files where commands may write: restored each time they are needed.

No link is followed, whatever a command put in the place of one.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from runner import effects

if TYPE_CHECKING:
    from pathlib import Path


def own_folder(box: Path, *names: str) -> Path:
    """Return a real folder below the box; replace files and links in its way."""
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
    """Return an empty folder of the runner; replace anything else at its path."""
    seen = _look(folder)
    if seen is not None and stat.S_ISDIR(seen.st_mode) and _is_empty(folder, seen.st_mode):
        return folder
    remove(folder)
    effects.make_folder(folder)
    return folder


def remove(path: Path) -> None:
    """Remove a file, or a folder with its content."""
    seen = _look(path)
    if seen is not None and stat.S_ISDIR(seen.st_mode):
        effects.step("rmtree", path)
        effects.remove_tree(path)
    elif seen is not None:
        effects.unlink(path)


def put(file: Path, content: bytes, *, mode: int = 0o644) -> None:
    """Write a file unless it already has this content and can be read, or run, by commands."""
    seen, asked = _look(file), os.R_OK | (os.X_OK if mode & 0o100 else 0)
    is_whole = seen is not None and stat.S_ISREG(seen.st_mode) and os.access(file, asked)
    if not is_whole or file.read_bytes() != content:
        effects.write_file(file, content, mode=mode)


def _look(path: Path) -> os.stat_result | None:
    """Return the status of a path without following links; None if it does not exist."""
    try:
        return os.lstat(path)
    except FileNotFoundError:
        return None


def _is_empty(folder: Path, mode: int) -> bool:
    """Return whether a folder is empty and fully accessible."""
    if mode & stat.S_IRWXU != stat.S_IRWXU:
        return False
    with os.scandir(folder) as entries:
        return next(entries, None) is None
