"""Which command of ours goes on in a folder: one that was left behind by a killed one is ended."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

from runner import effects
from runner.process import platform

if TYPE_CHECKING:
    from pathlib import Path

_NAME = "child.json"
_PATIENCE = 30.0
"""Seconds that a run has to hand back what it holds."""
_PAUSE = 0.1


def record_child(folder: Path, pid: int) -> None:
    """Remember a command that was just begun, until it is forgotten."""
    started = _find_start(pid)
    if started:
        text = json.dumps({"pid": pid, "started": started})
        effects.write_file(folder / _NAME, text.encode(), durable=False)


def forget_child(folder: Path) -> None:
    """It has ended."""
    (folder / _NAME).unlink(missing_ok=True)


def end_orphan(folder: Path) -> bool:
    """Ask what is remembered to end, as Ctrl-C does, and wait for it; whether it has ended.

    A number that was given out again belongs to another, and is left alone.
    """
    try:
        said = json.loads((folder / _NAME).read_bytes())
        pid, started = int(said["pid"]), int(said["started"])
    except (OSError, ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return True

    def lives() -> bool:
        return _find_start(pid) == started

    until = effects.monotonic() + _PATIENCE
    while lives() and effects.monotonic() < until:
        platform.interrupt(pid, lives)
        rest = effects.monotonic() + _PATIENCE / 3
        while lives() and effects.monotonic() < rest:
            time.sleep(_PAUSE)
    if lives():
        return False
    forget_child(folder)
    return True


def _find_start(pid: int) -> int:
    """When a living process began, in the system's own count; 0 where there is none."""
    # 0 and less mean groups and everybody (kill(2)), 1 is the system's first process: a file that
    # says so was not written by us.
    found = platform.process(pid) if pid > 1 else None
    return found.started if found is not None and found.alive else 0
