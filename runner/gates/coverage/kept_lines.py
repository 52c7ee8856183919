"""Store measured lines next to an attempt's logs for later reports.

Paths and numbers of lines alone: no text of a file is in it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from runner import effects
from runner.gates.coverage.lines import Lines

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

FILE = "coverage.json"


def write_lines(folder: Path, lines: Mapping[str, Lines]) -> None:
    """Write a measurement, without durability: after a power loss it is just not reported."""
    content = {
        path: {"executable": sorted(one.executable), "ran": sorted(one.ran)}
        for path, one in lines.items()
    }
    effects.make_folder(folder)
    effects.write_file(folder / FILE, json.dumps(content).encode(), durable=False)


def read_lines(folder: Path) -> dict[str, Lines]:
    """Read what `write_lines` has written; empty if it is missing or damaged."""
    try:
        rows = json.loads((folder / FILE).read_bytes())
        return {str(path): _lines_of(row) for path, row in rows.items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return {}


def _lines_of(row: dict[str, list[int]]) -> Lines:
    return Lines(frozenset(map(int, row["executable"])), frozenset(map(int, row["ran"])))
