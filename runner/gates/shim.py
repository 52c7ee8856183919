"""The module that stands before every Python interpreter of a proof: laid out, put in front."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from runner import effects

if TYPE_CHECKING:
    from runner.process.base import Place

_FOLDER = "shim"
_COMPILED = "__pycache__"
_FILES = {
    "sitecustomize_hook.py": "sitecustomize.py",
    "startup_lines.py": "_runner_lines.py",
    "report_hook.py": "_runner_report.py",
}
_ASSIGNED = re.compile(r"(?<![\w$])PYTHONPATH=(?P<empty>(?:''|\"\")?(?=[\s;&|)]|$))?")
_PLAIN = re.compile(r"[\w./+@%-]+")


def write_module(place: Place) -> Path:
    """The folder that holds the module, which commands see at the same path.

    Commands may write there, so it is made right again each time, and no link is followed.
    """
    folder = own_folder(place.box, _FOLDER)
    for name, shown in _FILES.items():
        script = folder / shown
        if script.is_symlink() or not script.is_file() or script.read_bytes() != _text(name):
            effects.write_file(script, _text(name))
    if (folder / _COMPILED).is_symlink():
        effects.unlink(folder / _COMPILED)
    elif (folder / _COMPILED).exists():  # it would run instead of what we wrote
        effects.step("rmtree", folder / _COMPILED)
        shutil.rmtree(folder / _COMPILED)
    return folder


def own_folder(box: Path, *names: str) -> Path:
    """A real folder below the box, whatever a command put in its place."""
    folder = box
    for name in names:
        folder /= name
        if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
            effects.unlink(folder)
    effects.make_folder(folder)
    return folder


@cache
def _text(name: str) -> bytes:
    return Path(__file__).with_name(name).read_bytes()


def search_path(folder: Path, given: str = "") -> str:
    """PYTHONPATH with the folder in front, once."""
    others = [path for path in given.split(os.pathsep) if path and path != str(folder)]
    return os.pathsep.join([str(folder), *others])


def in_front(line: str, folder: Path) -> str:
    """A shell line whose own `PYTHONPATH=…` keeps the folder in front of what it says."""
    plain = _PLAIN.fullmatch(str(folder)) is not None
    shown = str(folder) if plain else shlex.quote(str(folder))

    def put(match: re.Match[str]) -> str:
        colon = "" if match["empty"] is not None else os.pathsep
        return f"PYTHONPATH={shown}{colon}"

    return _ASSIGNED.sub(put, line)
