"""Whether a file system's change times can be trusted to show that a file was written to.

On most they can: nobody but the kernel sets them. In memory (tmpfs) they cannot: a page that was
read through a shared mapping is writable from then on, and what is written there moves no time at
all (the kernel's `vma_wants_writenotify`: shmem writes nothing back, so it asks for no notice). So
it is tested, not guessed from names of file systems, of which one may lie on top of another.
"""

from __future__ import annotations

import os
import tempfile
import time
from contextlib import closing
from typing import TYPE_CHECKING

from runner.lazy_module import lazy_module

if TYPE_CHECKING:
    import mmap
    from pathlib import Path
else:
    mmap = lazy_module("mmap")

TICK = 0.02
"""Seconds in which a file's change may leave its times as they were: a coarse clock's step."""
_STEP = 0.002
_PAGE = 4096
_known: dict[int, bool] = {}
"""What was tried, by the number of the device; two threads come to the same."""


def tells_changes(folder: Path) -> bool:
    """Whether every change of a file below a folder, of one device, moves its change time.

    Tried once for each device, with a file of its own in the folder: a few milliseconds. Where
    that cannot be written it is not known, and so not trusted.
    """
    try:
        device = folder.stat().st_dev
        if device not in _known:
            _known[device] = _try_out(folder)
        return _known[device]
    except OSError:
        return False


def _try_out(folder: Path) -> bool:
    number, path = tempfile.mkstemp(dir=folder, prefix="times-")
    try:
        os.unlink(path)  # noqa: PTH108 - text
        os.write(number, b"\0" * _PAGE)
        made = os.fstat(number).st_ctime_ns
        with closing(mmap.mmap(number, _PAGE)) as page:
            # A first write that follows a read is the one that goes unseen.
            page[0]
            page[0] = 1
            if os.fstat(number).st_ctime_ns != made:
                return True  # a fine clock, as newer kernels have for files that are looked at
        until = time.monotonic() + TICK
        while time.monotonic() < until:
            time.sleep(_STEP)
            with closing(mmap.mmap(number, _PAGE)) as page:
                page[0]
                page[0] = 1
            if os.fstat(number).st_ctime_ns != made:
                return True
    finally:
        os.close(number)
    return False
