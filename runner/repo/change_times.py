"""Check whether a file system's change times reveal every write.

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
"""Seconds within which a change may leave a file's times unchanged: a coarse clock's step."""
_STEP = 0.002
_PAGE = 4096
_known: dict[int, bool] = {}
"""Results by device number; two threads get the same result."""


def tells_changes(folder: Path) -> bool:
    """Return whether every change of a file below a folder updates its change time.

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
            # The first write after a read is the one that may be missed.
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
