"""Put bytes at paths of a tree, following no link on the way."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from typing import TYPE_CHECKING

from runner import effects
from runner.errors import RunnerError
from runner.repo.git import raw
from runner.repo.trees import SYMLINK

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def put(tree: Path, path: str, mode: int, content: bytes | None) -> None:
    """Make `path` below `tree` hold exactly these bytes, or nothing for None.

    Not durable: for trees that can be made again. Raises RunnerError when something on the way
    is no folder.
    """
    parts = raw(path).split(b"/")
    if any(part in {b"", b".", b"..", b".git"} or b"\0" in part for part in parts):
        raise RunnerError(f"{path} is no path of the project")
    effects.step("open", path)
    try:
        opened = _open_folders(tree, parts[:-1], make=content is not None)
    except NotADirectoryError as error:
        raise RunnerError(f"{path} cannot be written: a part of it is no folder") from error
    try:
        if len(opened) == len(parts):
            _replace(opened[-1], parts[-1], mode, content)
        if content is None:
            _prune(opened, parts)
    finally:
        for descriptor in opened:
            os.close(descriptor)


def _open_folders(tree: Path, parts: Sequence[bytes], *, make: bool) -> list[int]:
    opened = [os.open(tree, _FOLDER)]
    try:
        for part in parts:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(part, dir_fd=opened[-1])
            try:
                opened.append(os.open(part, _FOLDER, dir_fd=opened[-1]))
            except FileNotFoundError:
                break
    except BaseException:
        for descriptor in opened:
            os.close(descriptor)
        raise
    return opened


def _replace(folder: int, name: bytes, mode: int, content: bytes | None) -> None:
    _remove(folder, name)
    if content is None:
        return
    if stat.S_IFMT(mode) == SYMLINK:
        os.symlink(content, name, dir_fd=folder)
        return
    descriptor = os.open(name, _FILE, 0o777 if mode & 0o100 else 0o666, dir_fd=folder)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)


def _remove(folder: int, name: bytes) -> None:
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        return
    except IsADirectoryError:
        os.rmdir(name, dir_fd=folder)


def _prune(opened: Sequence[int], parts: Sequence[bytes]) -> None:
    """Remove the folders that a deletion left empty, as git does."""
    for folder, name in reversed(list(zip(opened[:-1], parts[:-1], strict=False))):
        try:
            os.rmdir(name, dir_fd=folder)
        except OSError:  # not empty: so is everything above it
            return
