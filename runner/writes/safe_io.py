"""Read and write files below a folder without following a link out of it.

Every component is opened by the descriptor of the one above it with O_NOFOLLOW (openat(2)),
so a link that is flipped in while we write is refused, never followed. The root itself is
trusted and may be reached through links.

Accepted changes reach the real tree: file by file, and never over somebody's work.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import threading
import time
from typing import TYPE_CHECKING

from runner import effects
from runner.errors import DiskFullError, ExitCode, RunnerError
from runner.model import digest_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from runner.model import Change, Digest

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# O_NONBLOCK: opening a named pipe for reading would block until a writer comes.
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
# With O_EXCL a link of that name is never followed, whatever its target (open(2)).
_BESIDE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_PREFIX = ".runner-"
_SUFFIX = ".tmp"
_FULL = frozenset((errno.ENOSPC, errno.EDQUOT))


class InTheWay(RunnerError):  # noqa: N818 - the word a person reads
    """Something that is not a plain file or folder stands where one is to be."""

    def __init__(self, path: str, what: str) -> None:
        super().__init__(
            f"{what} is in the way",
            where=path,
            hint="move it away and run again; the runner never follows links",
            code=ExitCode.CONFLICT,
        )


def read_below(root: Path, path: str) -> bytes | None:
    """Read a regular file below `root`; return None if it does not exist.

    Raises InTheWay for links and other strange files on the way, RunnerError when unreadable.
    """
    with explain_errors(path), _parent(root, path) as (folder, name):
        if folder is None:
            return None
        try:
            descriptor = os.open(name, _READ, dir_fd=folder)
        except FileNotFoundError:
            return None
        with open(descriptor, "rb") as file:  # noqa: PTH123 - a descriptor has no Path
            _must_be_plain(os.fstat(descriptor), path)
            return file.read()


def mode_below(root: Path, path: str) -> int | None:
    """Return the git mode of a path (0o120000 for a link); None if it does not exist."""
    with explain_errors(path), _parent(root, path) as (folder, name):
        found = None if folder is None else _status(name, folder)
    if found is None:
        return None
    if not stat.S_ISREG(found.st_mode):
        return stat.S_IFMT(found.st_mode)
    return 0o100755 if found.st_mode & stat.S_IXUSR else 0o100644


def write_below(root: Path, path: str, content: bytes, mode: int, *, durable: bool = True) -> None:
    """Replace a file whole and durably, making its folders: write beside, fsync, rename, fsync.

    `mode` is git's (0o100644 or 0o100755): it decides who may execute, while the umask, or the
    file that stood there, decides who may read. Raises InTheWay for a link or a folder, and
    RunnerError when the disk refuses; the old file is then untouched and nothing is beside it.
    What a crash may lose, such as a file of a scratch tree, need not be `durable`.
    """
    with explain_errors(path), _parent(root, path, make=True, durable=durable) as (folder, name):
        assert folder is not None  # make=True always ends with a folder or raises
        old = _status(name, folder)
        if old is not None:
            _must_be_plain(old, path)
        _replace(folder, name, content, _permissions(mode, old), path, durable=durable)
        if durable:
            effects.fsync(folder, os.path.dirname(path) or ".")  # noqa: PTH120 - a git path


def unlink_below(root: Path, path: str) -> bool:
    """Remove a file, or a link itself, and the folders that this leaves empty; False for none."""
    with explain_errors(path), _parent(root, path) as (folder, name):
        if folder is None or (found := _status(name, folder)) is None:
            return False
        if stat.S_ISDIR(found.st_mode):
            raise InTheWay(path, "a folder")
        effects.step("unlink", path)
        os.unlink(name, dir_fd=folder)
        effects.fsync(folder, os.path.dirname(path) or ".")  # noqa: PTH120 - a git path
    _remove_empty(root, path)
    return True


def open_below(root: Path, path: str, flags: int) -> int:
    """Open a regular file below `root`; with O_CREAT its folders are created.

    Raises InTheWay and RunnerError like the others, FileNotFoundError where nothing is.
    """
    with (
        explain_errors(path, missing=True),
        _parent(root, path, make=bool(flags & os.O_CREAT)) as found,
    ):
        folder, name = found
        if folder is None:
            raise FileNotFoundError(errno.ENOENT, "no such folder", path)
        effects.step("open", path)
        safe = flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        descriptor = os.open(name, safe, 0o666, dir_fd=folder)
        try:
            _must_be_plain(os.fstat(descriptor), path)
        except InTheWay:
            os.close(descriptor)
            raise
        return descriptor


def sweep_below(root: Path, path: str) -> int:
    """Remove what a killed writer left beside `path`; returns how many files.

    Only for the one who holds the run's lock: a living writer's file would go too.
    """
    with explain_errors(path), _parent(root, path) as (folder, _):
        if folder is None:
            return 0
        left = [name for name in os.listdir(folder) if _is_beside(name)]  # noqa: PTH208 - a descriptor
        for name in left:
            effects.step("unlink", name)
            os.unlink(name, dir_fd=folder)
        return len(left)


@contextlib.contextmanager
def explain_errors(path: str, *, missing: bool = False) -> Iterator[None]:
    """Turn what the system says into what a person can do about it."""
    try:
        yield
    except OSError as error:
        if missing and isinstance(error, FileNotFoundError):
            raise
        if error.errno == errno.ELOOP:
            raise InTheWay(path, "a symbolic link") from error
        if error.errno == errno.EISDIR:
            hint = "name a file in this folder"
            raise RunnerError("is a folder, not a file", where=path, hint=hint) from error
        if error.errno in _FULL:
            raise DiskFullError(path, "free some space and run again") from error
        raise RunnerError(
            f"cannot be used: {error.strerror or error}",
            where=path,
            hint="check the folder's owner and its write permission",
        ) from error


@contextlib.contextmanager
def _parent(
    root: Path, path: str, *, make: bool = False, durable: bool = True
) -> Iterator[tuple[int | None, str]]:
    """Open the parent folder of a path, and yield it with the name; None if it does not exist."""
    *folders, name = path.split("/")
    if any(part in {"", ".", ".."} for part in (*folders, name)):
        raise RunnerError("the path is not relative and normalised", where=path)
    descriptor: int | None = os.open(root, _FOLDER & ~os.O_NOFOLLOW)
    try:
        for depth, part in enumerate(folders, start=1):
            assert descriptor is not None
            below = _enter(descriptor, part, "/".join(folders[:depth]), make=make, durable=durable)
            os.close(descriptor)
            descriptor = below
            if descriptor is None:
                break
        yield descriptor, name
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _enter(folder: int, name: str, path: str, *, make: bool, durable: bool) -> int | None:
    try:
        return os.open(name, _FOLDER, dir_fd=folder)
    except FileNotFoundError:
        if not make:
            return None
    except OSError as error:
        # For a link O_NOFOLLOW gives ELOOP, and with O_DIRECTORY Linux gives ENOTDIR.
        if error.errno not in {errno.ENOTDIR, errno.ELOOP}:
            raise
        raise InTheWay(path, _what_stands(name, folder)) from None
    effects.step("mkdir", path)
    with contextlib.suppress(FileExistsError):
        os.mkdir(name, dir_fd=folder)
    if durable:
        effects.fsync(folder, path)
    try:
        return os.open(name, _FOLDER, dir_fd=folder)
    except NotADirectoryError:
        raise InTheWay(path, _what_stands(name, folder)) from None


def _what_stands(name: str, folder: int) -> str:
    found = _status(name, folder)
    return "a symbolic link" if found and stat.S_ISLNK(found.st_mode) else "a file"


def _replace(
    folder: int, name: str, content: bytes, permissions: int, path: str, *, durable: bool
) -> None:
    one = f"{os.getpid()}-{threading.get_ident()}-{time.monotonic_ns()}"
    beside = f"{_PREFIX}{one}{_SUFFIX}"
    effects.step("open", path)
    descriptor = os.open(beside, _BESIDE, permissions & 0o777, dir_fd=folder)
    try:
        try:
            # open(2) removes the umask's bits from its mode, fchmod(2) does not.
            if permissions & _EXACT:
                os.fchmod(descriptor, permissions & 0o777)
            effects.append(descriptor, content, path)
            if durable:
                effects.fsync(descriptor, path)
        finally:
            os.close(descriptor)
        # The bytes are on disk before the rename: else a power failure may leave an empty file
        # under the name, with the old one lost (fsync(2), rename(2)).
        effects.step("replace", path)
        os.rename(beside, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(beside, dir_fd=folder)
        raise


_EXACT = 0o1000000
"""Flag next to the permission bits: they come from a replaced file, and no umask applies."""


def _permissions(mode: int, old: os.stat_result | None) -> int:
    executable = bool(mode & stat.S_IXUSR)
    if old is None:
        return 0o777 if executable else 0o666
    readable = stat.S_IMODE(old.st_mode) & 0o666
    return _EXACT | readable | ((readable & 0o444) >> 2 if executable else 0)


def _status(name: str, folder: int) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _must_be_plain(found: os.stat_result, path: str) -> None:
    if stat.S_ISREG(found.st_mode):
        return
    kinds = {stat.S_IFLNK: "a symbolic link", stat.S_IFDIR: "a folder"}
    raise InTheWay(path, kinds.get(stat.S_IFMT(found.st_mode), "a special file"))


def _remove_empty(root: Path, path: str) -> None:
    """Remove the folders above a removed file that are empty now, as git does."""
    above = path.rpartition("/")[0]
    while above:
        with _parent(root, above) as (folder, name):
            if folder is None:
                return
            effects.step("rmdir", above)
            try:
                os.rmdir(name, dir_fd=folder)
            except OSError:  # not empty, or not ours to remove: it stays
                return
        above = above.rpartition("/")[0]


def _is_beside(name: str) -> bool:
    return name.startswith(_PREFIX) and name.endswith(_SUFFIX)


_EXECUTE = 0o100


def in_the_way(root: Path, changes: Iterable[Change], *, converts: bool = False) -> tuple[str, ...]:
    """Return paths whose real file matches neither the base nor the proposal.

    That is a person's edit, or an untracked file where the task wants to put a new one. Where git
    `converts` line ends on checkout, CRLF in the real file is no edit.
    """
    return tuple(change.path for change in changes if _is_in_the_way(root, change, converts))


def _is_in_the_way(root: Path, change: Change, converts: bool) -> bool:  # noqa: FBT001 - passed on
    try:
        found = _digests(root, change.path, converts)
    except InTheWay:  # a link or a folder stands at the path or above it
        return True
    return found.isdisjoint((change.before, change.after))


def place(root: Path, changes: Iterable[Change], *, converts: bool = False) -> tuple[Change, ...]:
    """Write landed changes into the real tree; gives those that a person was faster with.

    May be repeated after a crash: a file that already is what it should be is left alone.
    Raises RunnerError when a file cannot be written; the files before it are whole.
    """
    given = tuple(changes)
    gone = [change for change in given if change.content is None]
    come = [change for change in given if change.content is not None]
    # Deletions first: if `a` becomes `a/b`, the file blocks the folder.
    done = [_has_place(root, change, converts) for change in gone]
    done += effects.for_each(lambda change: _has_place(root, change, converts), come)
    late = {change.path for change, has in zip((*gone, *come), done, strict=True) if not has}
    return tuple(change for change in given if change.path in late)


def _has_place(root: Path, change: Change, converts: bool) -> bool:  # noqa: FBT001 - passed on
    """Write one change, unless somebody's file is in its way: then False."""
    if _is_in_the_way(root, change, converts):
        return False
    if not _is_there(root, change):
        _put(root, change)
    return True


def _is_there(root: Path, change: Change) -> bool:
    """Return whether the file already has the change's content and executable bit."""
    if change.after not in _digests(root, change.path, converts=False):
        return False
    mode = mode_below(root, change.path)
    return mode is None or bool(mode & _EXECUTE) == bool(change.mode & _EXECUTE)


def _put(root: Path, change: Change) -> None:
    if change.content is None:
        unlink_below(root, change.path)
    else:
        write_below(root, change.path, change.content, change.mode & 0o777)


def _digests(root: Path, path: str, converts: bool) -> set[Digest | None]:  # noqa: FBT001 - passed on
    """Return the digest of the real file and of its content as git would store it."""
    content = read_below(root, path)
    if content is None:
        return {None}
    stored = content.replace(b"\r\n", b"\n") if converts else content
    return {digest_of(content), digest_of(stored)}
