"""What was measured, kept beside the logs of its attempt for whoever reports on the run later.

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
    """Keep a measurement; one that a power cut takes is only not reported."""
    content = {
        path: {"executable": sorted(one.executable), "ran": sorted(one.ran)}
        for path, one in lines.items()
    }
    effects.make_folder(folder)
    effects.write_file(folder / FILE, json.dumps(content).encode(), durable=False)


def read_lines(folder: Path) -> dict[str, Lines]:
    """What `write_lines` kept there; nothing where there is none, or it is damaged."""
    try:
        rows = json.loads((folder / FILE).read_bytes())
        return {str(path): _lines_of(row) for path, row in rows.items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return {}


def _lines_of(row: dict[str, list[int]]) -> Lines:
    return Lines(frozenset(map(int, row["executable"])), frozenset(map(int, row["ran"])))
