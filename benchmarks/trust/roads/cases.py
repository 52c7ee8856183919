"""Ways by which a task might come to a DONE that nothing proves, read from the archive.

Each case begins in a small repository with a right `price` and its tests, and ends with a wrong
one. It is caught when its task is not DONE as proven, or no longer proven when verified.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from archive import cases_folder, read_texts

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Road:
    """One case."""

    name: str
    family: str
    contract: str
    base: dict[str, str]
    """What a person committed before."""
    writes: dict[str, str]
    """What the task's command writes."""
    steps: tuple[str, ...] = ()
    """What is done after the run, in a shell; `runner` is the program."""
    section: str = ""
    """Lines of the task in place of the usual ones."""
    only_command: bool = False
    """Whether DONE as proven by a command alone is a miss, too."""


def read_roads() -> list[Road]:
    """Read all cases, in the order in which they were written."""
    return [_read(folder) for folder in sorted(cases_folder("roads").iterdir())]


def _read(folder: Path) -> Road:
    about = tomllib.loads((folder / "case.toml").read_text(encoding="utf-8"))
    about["steps"] = tuple(about.get("steps", ()))
    return Road(base=read_texts(folder / "tree"), writes=read_texts(folder / "work"), **about)
