"""Bare copies of remotes, from which clones are made without fetching all of it again.

Each is only what can be fetched once more: one that is damaged is made anew, and of all together
those that were not used for longest go, where they are more than the bound.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import time
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner import effects
from runner.errors import RunnerError
from runner.repo.foreign_address import clone_address, find_branches, update_mirror
from runner.repo.git import StoppedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

_MIRROR = ".git"
_PAUSE = 0.2


@dataclass(frozen=True, slots=True)
class CloneCache:
    """The copies in one folder, shared by the processes of this machine."""

    folder: Path
    most: float
    """Bytes of all of them."""

    def clone(
        self,
        address: str,
        base: str,
        place: Path,
        who: tuple[str, str],
        environ: Mapping[str, str],
        stopped: Callable[[], bool] | None = None,
    ) -> None:
        """Clone `base` into `place`, whole or not at all. Raises RunnerError with what git says.

        Raises StoppedError soon after `stopped` says so.
        """
        find_branches(address, environ, stopped)  # one that does not answer costs no copy
        effects.make_folder(self.folder, mode=0o700)
        mirror = self.place_of(address)

        def copy() -> None:
            update_mirror(address, mirror, environ, stopped)
            clone_address(address, base, place, who, environ, mirror, stopped=stopped)

        with _wait_for(mirror, stopped):
            try:
                copy()
            except StoppedError:
                raise
            except RunnerError:  # it answers, so it may be the copy
                shutil.rmtree(mirror, ignore_errors=True)
                copy()
            os.utime(mirror)
        self.trim()

    def place_of(self, address: str) -> Path:
        """Where the copy of an address is, or will be."""
        digest = hashlib.sha256(address.encode("utf-8", "surrogateescape")).hexdigest()
        return self.folder / f"{digest[:32]}{_MIRROR}"

    def trim(self) -> None:
        """Take away what was not used for longest, until the rest fits; not what is in use."""
        found = sorted(self.folder.glob(f"*{_MIRROR}"), key=_find_last_use)
        sizes = {one: _measure(one) for one in found}
        for one in found[:-1]:  # the newest one stays, however large
            if sum(sizes.values()) <= self.most:
                break
            # One that is in use is newer than its time says: who clones from it sets that at the
            # end.
            with suppress(BlockingIOError), _lock(one):
                shutil.rmtree(one, ignore_errors=True)
                del sizes[one]


@contextmanager
def _wait_for(mirror: Path, stopped: Callable[[], bool] | None) -> Iterator[None]:
    """Have a copy once nobody else has it. Raises StoppedError."""
    with ExitStack() as held:
        while True:
            with suppress(BlockingIOError):
                held.enter_context(_lock(mirror))
                break
            if stopped is not None and stopped():
                raise StoppedError
            time.sleep(_PAUSE)
        yield


@contextmanager
def _lock(mirror: Path) -> Iterator[None]:
    """One process at a time has a copy. Raises BlockingIOError."""
    # Beside the copy and never taken away: a lock in the folder would go with it, and two could
    # hold two files of one name.
    path = mirror.with_suffix(".lock")
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


def _find_last_use(mirror: Path) -> float:
    """When; 0 for one that another process takes away meanwhile."""
    try:
        return mirror.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def _measure(folder: Path) -> int:
    total = 0
    for at, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):
                total += os.lstat(os.path.join(at, name)).st_size  # noqa: PTH118 - text
    return total
