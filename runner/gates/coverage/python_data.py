"""Data files of coverage.py, read without it: SQLite, in the form of its schema 7.

The source of the format is coverage.py's manual, "The Coverage.py database schema"; lines are bits
of a blob (its `numbits.py`). A file that is damaged or takes too long to read is none.
"""

from __future__ import annotations

import json
import re
import sqlite3
from typing import TYPE_CHECKING
from urllib.parse import quote

from runner import effects
from runner.gates.coverage.storage import files_in, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from runner.gates.coverage.lines import Runs

DATA = "data"
ABOUT = "about.jsonl"
_SECONDS = 20.0
_STEPS = 200_000
_LONGEST_NAME = 500
_PHASE = re.compile(r"\|(?:setup|run|teardown)$")
"""What pytest-cov puts after a test's id."""
_MOST_BITS = 1 << 17
"""Bytes of one blob: a million lines."""
_QUERY = """
select file.path, context.context, line_bits.numbits from line_bits
join file on file.id = line_bits.file_id join context on context.id = line_bits.context_id
"""


def read_runs(folder: Path, root: str) -> Runs:
    """Lines that ran of files below `root`, by path relative to it and by test."""
    found: Runs = {}
    end = effects.monotonic() + _SECONDS
    for file in files_in(folder, f"{DATA}."):
        for path, test, bits in _rows(file, end):
            inside = path.removeprefix(f"{root}/")
            if inside != path and ".." not in inside.split("/"):
                of_test = found.setdefault(inside, {}).setdefault(test, set())
                of_test.update(number for number in numbers(bits) if number)  # 0: an empty file
    return found


def _rows(file: Path, end: float) -> Iterator[tuple[str, str, bytes]]:
    try:
        connection = sqlite3.connect(f"file:{quote(str(file))}?mode=ro&immutable=1", uri=True)
    except sqlite3.Error:
        return
    try:
        connection.set_progress_handler(lambda: effects.monotonic() > end, _STEPS)
        for path, test, bits in connection.execute(_QUERY):
            texts = isinstance(path, str) and isinstance(test, str) and isinstance(bits, bytes)
            if texts and len(bits) <= _MOST_BITS:
                yield path, _PHASE.sub("", test)[:_LONGEST_NAME], bits
    except (sqlite3.Error, UnicodeDecodeError, OverflowError):
        return
    finally:
        connection.close()


def numbers(bits: bytes) -> Iterator[int]:
    """The set bits of a blob, the lowest of its first byte being 0."""
    for at, byte in enumerate(bits):
        for bit in range(8) if byte else ():
            if byte >> bit & 1:
                yield at * 8 + bit


def read_about(folder: Path) -> tuple[dict[str, str], ...]:
    """What the interpreters of a run said of themselves; see `sitecustomize_hook.note`."""
    found = []
    for line in (text_of(folder / ABOUT) or "").splitlines():
        try:
            said = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(said, dict):
            found.append({str(name)[:40]: str(value)[:200] for name, value in said.items()})
    return tuple(found)
