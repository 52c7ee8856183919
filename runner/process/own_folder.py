"""HOME and the temporary folder of one command, where the person's own are closed to it."""

from __future__ import annotations

import itertools
import os
from contextlib import suppress
from typing import TYPE_CHECKING

from runner import effects
from runner.process.tools import homes

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from runner.process.base import Place

_numbers = itertools.count(1)


def own_folder(place: Place) -> Path:
    """HOME and the temporary folder of one command, empty."""
    own = place.box / f".own-{os.getpid()}-{next(_numbers)}"
    effects.step("mkdir", own)
    for path in (own, own / "home", own / "tmp"):
        path.mkdir(mode=0o700)
    return own


def take_away(own: Path) -> None:
    """Remove it, when nothing of the command is alive."""
    effects.step("remove", own)
    with suppress(OSError):  # what resists goes with the slot
        effects.remove_tree(own)


def inner_environment(environ: Mapping[str, str], own: Path) -> dict[str, str]:
    """HOME is an empty folder; tools that are looked for below it are named instead."""
    return {**homes(environ), **environ, "HOME": str(own / "home"), "TMPDIR": str(own / "tmp")}
