"""Where a test contract's measurements lie, and the reading of files that a command left there."""

from __future__ import annotations

import os
import shutil
import stat
from itertools import islice
from typing import TYPE_CHECKING

from runner import effects
from runner.gates.base import file_name
from runner.gates.shim import own_folder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from runner.process.base import Place

LARGEST = 64 << 20
"""Bytes of one file of measurements."""
_MOST_FILES = 10_000
_FOLDER = "coverage"


def data_folder(place: Place, check_id: str) -> Path:
    """The folder of one test contract's measurements; the same path inside and outside."""
    return place.box / _FOLDER / file_name(check_id)


def make_empty_folder(place: Place, check_id: str) -> Path:
    """The same folder without what an earlier run left. No link is followed."""
    above = own_folder(place.box, _FOLDER)
    return make_empty(above / file_name(check_id))


def make_empty(folder: Path) -> Path:
    """A folder of ours without anything in it, whatever a command put in its place."""
    if folder.is_symlink() or folder.is_file():
        effects.unlink(folder)
    elif folder.exists():
        effects.step("rmtree", folder)
        shutil.rmtree(folder)
    effects.make_folder(folder)
    return folder


def files_in(folder: Path, start: str = "", end: str = "") -> Iterator[Path]:
    """Plain files of bearable size directly in a folder, by their names; none for no folder."""
    if any(each.is_symlink() for each in (folder, folder.parent)):
        return
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in islice(entries, _MOST_FILES))
    except OSError:
        return
    for name in names:
        if name.startswith(start) and name.endswith(end) and is_fit(folder / name):
            yield folder / name


def is_fit(path: Path) -> bool:
    """Whether there is a plain file of bearable size."""
    try:
        seen = path.lstat()
    except OSError:
        return False
    return stat.S_ISREG(seen.st_mode) and seen.st_size <= LARGEST


def text_of(path: Path) -> str | None:
    """A file's text, what is no UTF-8 replaced; None where there is no fit file."""
    if not is_fit(path):
        return None
    try:
        return path.read_bytes().decode("utf-8", "replace")
    except OSError:
        return None
