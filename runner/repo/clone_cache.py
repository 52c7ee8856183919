"""Bare copies of remotes, from which clones are made without fetching all of it again.

Each is only what can be fetched once more: one that is damaged is made anew, and of all together
those that were not used for longest go, where they are more than the bound.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner import effects
from runner.errors import RunnerError
from runner.repo.foreign_address import clone_address, find_branches, update_mirror

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

_MIRROR = ".git"


@dataclass(frozen=True, slots=True)
class CloneCache:
    """The copies in one folder, shared by the processes of this machine."""

    folder: Path
    most: float
    """Bytes of all of them."""

    def clone(
        self, address: str, base: str, place: Path, who: tuple[str, str], environ: Mapping[str, str]
    ) -> None:
        """Clone `base` into `place`, whole or not at all. Raises RunnerError with what git says."""
        find_branches(address, environ)  # one that does not answer costs no copy
        effects.make_folder(self.folder, mode=0o700)
        mirror = self.place_of(address)
        with _lock(mirror):
            try:
                update_mirror(address, mirror, environ)
                clone_address(address, base, place, who, environ, mirror)
            except RunnerError:  # it answers, so it may be the copy
                shutil.rmtree(mirror, ignore_errors=True)
                update_mirror(address, mirror, environ)
                clone_address(address, base, place, who, environ, mirror)
            os.utime(mirror)
        self.trim()

    def place_of(self, address: str) -> Path:
        """Where the copy of an address is, or will be."""
        digest = hashlib.sha256(address.encode("utf-8", "surrogateescape")).hexdigest()
        return self.folder / f"{digest[:32]}{_MIRROR}"

    def trim(self) -> None:
        """Take away what was not used for longest, until the rest fits; not what is in use."""
        found = sorted(self.folder.glob(f"*{_MIRROR}"), key=lambda one: one.stat().st_mtime)
        sizes = {one: _measure(one) for one in found}
        for one in found[:-1]:  # the newest one stays, however large
            if sum(sizes.values()) <= self.most:
                break
            # One that is in use is newer than its time says: who clones from it sets that at the
            # end.
            with suppress(BlockingIOError), _lock(one, fcntl.LOCK_NB):
                shutil.rmtree(one, ignore_errors=True)
                del sizes[one]


@contextmanager
def _lock(mirror: Path, more: int = 0) -> Iterator[None]:
    """One process at a time has a copy. Raises BlockingIOError with LOCK_NB."""
    # Beside the copy and never taken away: a lock in the folder would go with it, and two could
    # hold two files of one name.
    path = mirror.with_suffix(".lock")
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | more)
        yield
    finally:
        os.close(descriptor)


def _measure(folder: Path) -> int:
    total = 0
    for at, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):
                total += os.lstat(os.path.join(at, name)).st_size  # noqa: PTH118 - text
    return total
