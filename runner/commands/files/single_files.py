"""Files named on the command line: their bytes, or why there are none."""

from __future__ import annotations

import os
import stat
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.app.write.workplace import display_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

STANDARD_INPUT = "-"
LARGEST = 256 << 20
"""Bytes of one file; what is larger is no text that anybody wrote."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A file that could not be looked at, fit to be shown."""

    path: str
    message: str
    hint: str


def read_named(name: str) -> bytes | Unreadable:
    """The bytes of a file, or of standard input for `-`."""
    try:
        if name == STANDARD_INPUT:
            return _check_size(sys.stdin.buffer.read(LARGEST + 1), name)
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


def tell_unreadable(found: Iterable[Unreadable]) -> None:
    """Say on standard error what could not be looked at."""
    for one in found:
        print(f"runner: {one.path}: {one.message}\nhint: {one.hint}", file=sys.stderr)


def output_and_files(option: str | None, files: list[str]) -> tuple[str | None, list[str]]:
    """`--sarif` takes a name that ends in .sarif; any other name after it is a file to look at.

    So `--sarif app.py` never writes over app.py.
    """
    if option is None or option == STANDARD_INPUT or option.endswith((".sarif", ".sarif.json")):
        return option, files
    return STANDARD_INPUT, [option, *files]


def write_output(text: str, target: str) -> None:
    """A document to standard output for `-`, else into a file, whole or not at all.

    Raises RunnerError where the file cannot be written.
    """
    from pathlib import Path

    from runner import effects
    from runner.writes.safe_io import explain_errors

    if target == STANDARD_INPUT:
        sys.stdout.write(text)
        return
    with explain_errors(display_path(target)):
        effects.write_file(Path(target), text.encode())


def unique(names: Iterable[str]) -> Iterator[str]:
    """Each name once, in order."""
    yield from dict.fromkeys(names)
