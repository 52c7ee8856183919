"""Whether a command failed because the disk it works on has no room: no fault of the work."""

from __future__ import annotations

import errno
import os
import re
from typing import TYPE_CHECKING

from runner.errors import refusal_of

if TYPE_CHECKING:
    from pathlib import Path

    from runner.process.base import Place, Ran

_NONE = 1 << 20
"""Bytes with which no command does anything."""
_LITTLE = 64 << 20
"""Bytes of which a command may have used up the rest, and given it back when it failed."""
_SAID = re.compile(
    r"No space left on device|Disk quota exceeded|\bENOSPC\b|\bEDQUOT\b|disk is full", re.IGNORECASE
)


def require_room(place: Place, ran: Ran) -> None:
    """Raise RunnerError where a command failed on a disk that is full.

    What it says is believed only where the disk agrees: a test may print such words, too.
    """
    if ran.passed:
        return
    for folder in (place.tree, place.box):
        room = _room(folder)
        if room < _NONE or (room < _LITTLE and _SAID.search(ran.tail)):
            refusal = refusal_of(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder)))
            if refusal:
                raise refusal


def _room(folder: Path) -> int:
    """Bytes that may still be written; as many as there can be where nobody says it."""
    try:
        disk = os.statvfs(folder)
    except OSError:
        return _LITTLE
    if not disk.f_blocks:
        return _LITTLE
    if disk.f_files and not disk.f_ffree:
        return 0
    # what is kept back for root is there for root
    return disk.f_frsize * (disk.f_bavail if os.geteuid() else disk.f_bfree)
