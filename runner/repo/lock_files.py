"""The lock of git's index: it keeps another git out while a landing is under way.

`<file>.lock` is made by whoever wants to replace `<file>`, and becomes it by a rename (lockfile.h).
Ours is a second name of a file in `<git>/runner/` that its owner holds by flock(2): one that a
killed run left differs from any other git's, and the next command finishes or removes it.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Self
from urllib.parse import unquote

from runner import effects

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_OURS = "runner"
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
_NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS)
_NOTE = "@"
"""Separates the locked file's quoted name from the note."""
_COPY = ".new"


class LockFile:
    """The lock of one file below a git folder: written and put in its place, or dropped."""

    def __init__(self, path: Path, own: Path | None, descriptor: int) -> None:
        self._path = path
        self._lock = path.with_name(path.name + ".lock")
        self._own = own
        self._descriptor = descriptor

    @classmethod
    def take(cls, git: Path, name: str, note: str) -> Self | None:
        """Take the lock of `<git>/<name>`; None where another process has it.

        The `note` stays readable after a kill (`take_left_index`). Raises OSError.
        """
        # On the file system of the lock itself: link(2) gives a file no second name on another one.
        folder = git / _OURS
        own = folder / f"{effects.new_id()}-{name}{_NOTE}{note}"
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
                return cls._take_alone(git / name)
            raise
        return taken

    @classmethod
    def _take_alone(cls, path: Path) -> Self | None:
        """Take the lock without a second name: after a kill the journal alone knows it."""
        try:
            return cls(path, None, os.open(path.with_name(path.name + ".lock"), _NEW, 0o666))
        except FileExistsError:
            return None

    @property
    def copy(self) -> Path:
        """Where git may write what the file is to hold."""
        place = self._own or self._path.parent / _OURS / f"{effects.new_id()}-alone"
        return place.with_name(place.name + _COPY)

    @property
    def inode(self) -> int:
        """The number of the lock's file."""
        return os.fstat(self._descriptor).st_ino

    @property
    def size(self) -> int:
        """How many bytes it has."""
        return os.fstat(self._descriptor).st_size

    @property
    def digest(self) -> str:
        """The SHA-256 of what was written."""
        content = os.pread(self._descriptor, self.size, 0)
        return hashlib.sha256(content).hexdigest()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Drop what was not put in its place."""
        if self._descriptor >= 0:
            effects.step("unlink", self._lock)
            self._lock.unlink(missing_ok=True)
            self._forget()

    def write(self, content: bytes, mode: int | None = None) -> None:
        """What the file is to hold, durably."""
        if mode is not None:
            os.fchmod(self._descriptor, mode)
        effects.append(self._descriptor, content, self._lock)
        effects.fsync(self._descriptor, self._lock)

    def place(self) -> None:
        """Let the file be what was written."""
        effects.step("replace", self._path)
        # A flock is of the open file, not of its name, and outlives the rename.
        os.replace(self._lock, self._path)
        self._forget()

    def leave(self) -> None:
        """Keep the lock on disk without an owner: the next command decides what becomes of it."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _forget(self) -> None:
        if self._own is not None:
            _unlink_own(self._own)
        os.close(self._descriptor)
        self._descriptor = -1


def free_dead_locks(git: Path) -> None:
    """Take away what a killed run left beside a lock that is gone; nobody else's is touched.

    And the locks of refs that version 0.2 left: later ones have git lock refs itself.
    """
    for own, descriptor in _open_dead_locks(git):
        lock, note = _parse_own_name(git, own)
        is_same = _is_same(descriptor, lock)
        if is_same and note is not None:
            continue  # `take_left_index` decides whether that index counts
        # Its owner may have put it in place already, and another git may have made its own lock
        # under that name since: only the same file is ours.
        if is_same:
            effects.unlink(lock)
        _unlink_own(own)


def _unlink_own(own: Path) -> None:
    """Remove a second name, and the copies that git wrote for it."""
    for end in (_COPY, f"{_COPY}.lock", ""):
        own.with_name(own.name + end).unlink(missing_ok=True)


def take_left_index(git: Path, path: Path) -> tuple[LockFile, str] | None:
    """Take over the lock of a file that a killed run left, with its note; None for any other."""
    lock = path.with_name(path.name + ".lock")
    for own, descriptor in _open_dead_locks(git):
        at, note = _parse_own_name(git, own)
        if note is not None and at == lock and _is_same(descriptor, lock):
            return LockFile(path, own, os.dup(descriptor)), note
    return None


def take_recorded_index(path: Path, inode: int, digest: str) -> LockFile | None:
    """Take over the lock of a file that has this inode and these bytes; None for any other."""
    try:
        descriptor = os.open(
            path.with_name(path.name + ".lock"), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW
        )
    except OSError:
        return None
    found = LockFile(path, None, descriptor)
    if (found.inode, found.digest) == (inode, digest):
        return found
    found.leave()
    return None


def _open_dead_locks(git: Path) -> Iterator[tuple[Path, int]]:
    """Second names whose owner is dead, each with a descriptor that holds it meanwhile."""
    try:
        names = os.listdir(git / _OURS)  # noqa: PTH208 - names alone
    except (FileNotFoundError, NotADirectoryError):
        return
    for name in names:
        own = git / _OURS / name
        if name.endswith((_COPY, f"{_COPY}.lock")):
            continue  # they go with the lock that they belong to
        with suppress(OSError):  # held by a run that lives, or gone
            descriptor = os.open(own, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
            try:
                # The kernel lets go of a flock when the last descriptor is closed, flock(2), thus
                # also of one whose owner was killed: to have got it is to know that nobody lives.
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                yield own, descriptor
            finally:
                os.close(descriptor)


def _parse_own_name(git: Path, own: Path) -> tuple[Path, str | None]:
    """The lock that a second name belongs to, and its note."""
    quoted, has_note, note = own.name[_ID:].partition(_NOTE)
    lock = git / f"{unquote(quoted, errors='surrogateescape')}.lock"
    return lock, note if has_note else None


def _is_same(descriptor: int, lock: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), lock.lstat())
    except FileNotFoundError:
        return False


_ID = len(effects.new_id()) + 1
