"""Unicode tables that hypothesis reckons when it has none: a second of work, done once a machine.

They are made by a process of ours in the user's cache and copied into each check's folder: what
runs in the sandbox never writes what a later check reads.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from runner import effects
from runner.process.tools import capture

if TYPE_CHECKING:
    from pathlib import Path

_PATIENCE = 60.0
_MAKE = """
import sys
from hypothesis.configuration import set_hypothesis_home_dir
set_hypothesis_home_dir(sys.argv[1])
from hypothesis.internal import charmap
charmap.charmap()
charmap.intervals_from_codec("utf-8")
"""


def put_tables(kept: Path | None, home: Path) -> None:
    """Put the tables below `home`, hypothesis's own folder; without `kept` it makes its own."""
    effects.make_folder(home)
    if kept is None:
        return
    folder = kept.parent / "hypothesis"  # the same for every repository
    tables = _in(folder)
    if not tables:
        effects.make_folder(folder)
        capture((sys.executable, "-I", "-c", _MAKE, str(folder)), folder, {}, _PATIENCE)
        tables = _in(folder)
    for table in tables:
        copy = home / table.relative_to(folder)
        effects.make_folder(copy.parent)
        effects.write_file(copy, table.read_bytes())


def _in(folder: Path) -> list[Path]:
    return sorted(folder.glob("unicode_data/*/*.json.gz"))
