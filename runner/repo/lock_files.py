"""Git's protocol of lock files, so that a ref and the index change without a process of git.

`<file>.lock` is made by whoever wants to replace `<file>`, and becomes it by a rename (lockfile.h).
Ours is a second name of a file in `<git>/runner/` that its owner holds by flock(2): one that a
killed run left is told from any other git's, and taken away by the next.
"""

from __future__ import annotations

import errno
import fcntl
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Self
from urllib.parse import quote, unquote

from runner import effects

if TYPE_CHECKING:
    from pathlib import Path

_OURS = "runner"
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
_NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS)
_LONGEST = 200
"""Bytes of a name below the git folder, as it is quoted: a file's name has 255."""


class UnusualError(Exception):
    """What there is only git itself reads or changes rightly."""


class LockFile:
    """The lock of one file below a git folder: written and put in its place, or dropped."""

    def __init__(self, path: Path, own: Path, descriptor: int) -> None:
        self._path = path
        self._lock = path.with_name(path.name + ".lock")
        self._own = own
        self._descriptor = descriptor

    @classmethod
    def take(cls, git: Path, name: str) -> Self | None:
        """The lock of `<git>/<name>`; None where somebody has it.

        Raises UnusualError where a file cannot have two names, and OSError.
        """
        # On the file system of the lock itself: link(2) gives a file no second name on another one.
        folder = git / _OURS
        own = folder / f"{effects.new_id()}-{quote(name, safe='', errors='surrogateescape')}"
        if len(own.name) > _LONGEST:
            raise UnusualError
        effects.step("open", git / f"{name}.lock")
        try:
            descriptor = os.open(own, _NEW, 0o666)
        except FileNotFoundError:
            folder.mkdir(exist_ok=True)
            descriptor = os.open(own, _NEW, 0o666)
        taken = cls(git / name, own, descriptor)
        try:
            # In this order: between a link and a flock that came second another run would find the
            # lock unheld, and take it for a dead one's. link(2) fails where the name is there,
            # just as the O_EXCL of git's own locks does, so both keep each other out.
            fcntl.flock(taken._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.link(own, taken._lock)
        except (FileExistsError, BlockingIOError):
            taken._forget()
            return None
        except BaseException as error:
            taken._forget()
            if isinstance(error, OSError) and error.errno in _NO_LINKS:
                raise UnusualError from error
            raise
        return taken

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Drop what was not put in its place."""
        if self._descriptor >= 0:
            effects.step("unlink", self._lock)
            self._lock.unlink(missing_ok=True)
            self._forget()

    def write(self, content: bytes) -> None:
        """What the file is to hold, durably."""
        effects.append(self._descriptor, content, self._lock)
        effects.fsync(self._descriptor, self._lock)

    def place(self) -> None:
        """Let the file be what was written."""
        effects.step("replace", self._path)
        # A flock is of the open file, not of its name, and outlives the rename.
        os.replace(self._lock, self._path)
        self._forget()

    def _forget(self) -> None:
        self._own.unlink(missing_ok=True)
        os.close(self._descriptor)
        self._descriptor = -1


def free_dead_locks(git: Path) -> None:
    """Take away the locks that a killed run of ours left; nobody else's is touched."""
    try:
        names = os.listdir(git / _OURS)  # noqa: PTH208 - names alone
    except (FileNotFoundError, NotADirectoryError):
        return
    for name in names:
        own = git / _OURS / name
        with suppress(OSError):  # held by a run that lives, or gone
            descriptor = os.open(own, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # The kernel lets go of a flock when the last descriptor is closed, flock(2), thus
                # also of one whose owner was killed: to have got it is to know that nobody lives.
                lock = git / f"{unquote(name[_ID:], errors='surrogateescape')}.lock"
                with suppress(FileNotFoundError):
                    # The same inode, or it is no lock of ours: the dead one may have put it in
                    # place already, and another git may have made its own under that name since.
                    if os.path.samestat(os.fstat(descriptor), lock.lstat()):
                        effects.unlink(lock)
                effects.unlink(own)
            finally:
                os.close(descriptor)


_ID = len(effects.new_id()) + 1
