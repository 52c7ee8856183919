"""Files that a person named: their bytes, or why there are none."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.app.write.workplace import display_path
from runner.errors import RunnerError

if TYPE_CHECKING:
    from collections.abc import Callable

STANDARD_INPUT = "-"
LARGEST = 256 << 20
"""Bytes of one file; what is larger is no text that anybody wrote."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A file that could not be looked at, fit to be shown."""

    path: str
    message: str
    hint: str


def read_named(name: str, read_input: Callable[[int], bytes]) -> bytes | Unreadable:
    """The bytes of a file; for `-` at most so many of those that `read_input` gives."""
    try:
        if name == STANDARD_INPUT:
            return _check_size(read_input(LARGEST + 1), name)
        mode = os.stat(name).st_mode  # noqa: PTH116 - a name may hold what a Path cannot
        if not stat.S_ISREG(mode) and not stat.S_ISFIFO(mode):
            return _no_file(name, mode)
        with open(name, "rb") as file:  # noqa: PTH123 - likewise
            return _check_size(file.read(LARGEST + 1), name)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        said = getattr(error, "strerror", None) or "the name cannot be used"
        return Unreadable(
            display_path(name), f"cannot be read: {said}", "check the name and rights"
        )


def require_named(name: str, read_input: Callable[[int], bytes]) -> bytes:
    """The bytes of a file. Raises RunnerError where there are none."""
    content = read_named(name, read_input)
    if isinstance(content, Unreadable):
        raise RunnerError(content.message, where=content.path, hint=content.hint)
    return content


def _check_size(content: bytes, name: str) -> bytes | Unreadable:
    if len(content) <= LARGEST:
        return content
    return Unreadable(
        display_path(name), f"is larger than {LARGEST >> 20} MB", "name the parts that are text"
    )


def _no_file(name: str, mode: int) -> Unreadable:
    if stat.S_ISDIR(mode):
        return Unreadable(display_path(name), "is a folder", "name its files: git ls-files FOLDER")
    return Unreadable(display_path(name), "is no plain file", "name files, or - for standard input")
