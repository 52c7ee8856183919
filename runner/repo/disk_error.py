"""What git met that is the fault of the disk, told from what it was given."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_OF_THE_DISK = (
    ("No space left on device", errno.ENOSPC),
    ("Disk quota exceeded", errno.EDQUOT),
    ("Input/output error", errno.EIO),
)


def disk_error(said: str, place: Path) -> OSError | None:
    """What git met that is the disk's fault and not that of what it was given; None for else."""
    met = ((words, code) for words, code in _OF_THE_DISK if words in said)
    return next((OSError(code, words, str(place)) for words, code in met), None)
