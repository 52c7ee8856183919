"""Temporary folders of the runner; leftovers of killed processes go with the next one."""

from __future__ import annotations

import fcntl
import os
import re
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

from runner import effects

_OURS = re.compile(
    r"runner-(?:ask|clone|compile|dask|errand|merge|push|remote|sast)-[a-z0-9_]{8}(?:\.\d+)*\Z"
)
"""Names made by `TemporaryFolder` and `effects.remove_tree`, not those of an editor."""
_OLD = 3600.0
"""Seconds: a new folder is not locked yet, and earlier versions locked none."""


class TemporaryFolder(TemporaryDirectory[str]):
    """A folder `runner-KIND-…` that is held by a lock while somebody works in it.

    The kernel gives the lock back however the process ends (flock(2)), so that one that is free
    was left behind.
    """

    def __init__(self, kind: str, *, ignore_cleanup_errors: bool = False) -> None:
        remove_abandoned_folders()
        super().__init__(prefix=f"runner-{kind}-", ignore_cleanup_errors=ignore_cleanup_errors)
        self._held = os.open(self.name, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        with suppress(OSError):  # a file system without locks: nobody can take it away, either
            fcntl.flock(self._held, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def cleanup(self) -> None:
        """Remove the folder."""
        super().cleanup()
        held, self._held = self._held, -1
        if held >= 0:
            os.close(held)


def remove_abandoned_folders() -> None:
    """Remove this user's folders that no process holds; errors are ignored."""
    now = effects.now().timestamp()
    with suppress(OSError), os.scandir(gettempdir()) as entries:
        for entry in entries:
            if _OURS.match(entry.name):
                with suppress(OSError):
                    _remove_if_abandoned(Path(entry.path), now)


def _remove_if_abandoned(folder: Path, now: float) -> None:
    # Check the opened folder itself: among files shared by all users, a name may belong to anyone
    # or be a link.
    held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        found = os.fstat(held)
        if found.st_uid != os.geteuid() or now - found.st_mtime < _OLD:
            return
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        effects.remove_tree(folder)  # no `step`: how many there are is no run's own doing
    finally:
        os.close(held)
