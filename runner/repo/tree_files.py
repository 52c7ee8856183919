"""Clean a folder, write files without following links, and detect writes.

Removal also takes hidden and locked files. `stat` gives the quick answer to whether anybody wrote
to a tree.
"""

from __future__ import annotations

# ruff: noqa: PTH101, PTH108, PTH114, PTH118 - names are bytes, as git has them
import errno
import hashlib
import os
import re
import stat
import tempfile
import time
from contextlib import closing, suppress
from typing import TYPE_CHECKING, AnyStr, TypeAlias

from msgspec import Struct

from runner import effects
from runner.errors import RunnerError
from runner.lazy_module import lazy_module
from runner.lazy_pattern import regex
from runner.repo.git import UnusualError, raw, text
from runner.repo.trees import FOLDER, SYMLINK, TICK, TreeChange, TreeEntry

if TYPE_CHECKING:
    import mmap
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
    from pathlib import Path

    from runner.repo.trees import Prefix
else:
    mmap = lazy_module("mmap")


def sweep(tree: Path, keep: Collection[bytes], go_on: Callable[[], None]) -> set[bytes]:
    """Remove everything below `tree` that is not in `keep` or a folder above one of those.

    Follows no link; gives those folders. `go_on` is called before each removal and may raise.
    Raises OSError where something resists.
    """
    folders = parents(keep)
    pending = [(os.fsencode(tree), b"")]
    while pending:
        folder, below = pending.pop()
        for entry in effects.list_folder(folder):
            path = below + entry.name
            if not entry.is_dir(follow_symlinks=False):
                if path not in keep:
                    go_on()
                    os.unlink(entry.path)
            elif path in folders:
                pending.append((entry.path, path + b"/"))
            else:
                effects.remove_tree(entry.path, go_on)
    return folders


def require_no_link(tree: Path, folders: Iterable[bytes]) -> None:
    """Raise UnusualError where one of these folders of a tree is a link now.

    `git ls-files` looks for files behind such a link, `git add` does not.
    """
    top = os.fsencode(tree)
    if any(os.path.islink(os.path.join(top, folder)) for folder in folders):
        raise UnusualError


def take_away(path: Path, go_on: Callable[[], object] = bool) -> None:
    """Remove whatever is at a path, if anything is; no link is followed. Raises OSError."""
    if path.is_dir() and not path.is_symlink():
        effects.remove_tree(path, go_on)
    else:
        path.unlink(missing_ok=True)


def move_aside(beside: Path, folders: Iterable[Path]) -> None:
    """Rename the folders and remove them if possible."""
    for folder in folders:
        if os.path.lexists(folder):
            folder.rename(beside / f"aside-{effects.new_id()}")
    for old in beside.glob("aside-*"):
        with suppress(OSError):
            take_away(old)


def parents(paths: Collection[bytes]) -> set[bytes]:
    """Return every parent folder of these relative paths."""
    found: set[bytes] = set()
    for path in paths:
        above = path.rpartition(b"/")[0]
        while above and above not in found:
            found.add(above)
            above = above.rpartition(b"/")[0]
    return found


def remove_special_files(tree: Path) -> None:
    """Remove pipes, sockets and devices below a folder: git would wait on them for ever."""
    for folder, _, names in walk(os.fsencode(tree)):
        for name in names:
            path = os.path.join(folder, name)
            mode = os.lstat(path).st_mode
            if not (stat.S_ISREG(mode) or stat.S_ISLNK(mode)):
                os.unlink(path)


def make_readable(tree: Path) -> None:
    """Make every file and folder below a folder readable for its owner; links are not followed."""
    for folder, _, names in walk(os.fsencode(tree)):
        for name in names:
            path = os.path.join(folder, name)
            mode = os.lstat(path).st_mode
            if stat.S_ISREG(mode) and not mode & stat.S_IRUSR:
                os.chmod(path, stat.S_IMODE(mode) | stat.S_IRUSR)
        with suppress(OSError):  # a path too long to be opened: whoever asks git hears of it
            for entry in effects.list_folder(folder):
                if entry.is_dir(follow_symlinks=False):
                    effects.unlock(entry.path)


def walk(top: AnyStr) -> Iterator[tuple[AnyStr, list[AnyStr], list[AnyStr]]]:
    """Yield folders with the names of their folders and other entries, top-down.

    As os.walk, which before Python 3.12 calls itself for every level: a thousand of them, which
    any command makes, end it with RecursionError.
    """
    pending = [top]
    while pending:
        folder = pending.pop()
        folders: list[AnyStr] = []
        others: list[AnyStr] = []
        with suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                (folders if entry.is_dir() else others).append(entry.name)
            yield folder, folders, others
            below = (os.path.join(folder, name) for name in reversed(folders))
            pending += [path for path in below if not os.path.islink(path)]


# Each folder is opened from its parent, never by path: if a command replaces it by a link between
# check and use, that fails with ENOTDIR or ELOOP (openat(2), open(2)).
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Non-blocking: opening a pipe without a writer would wait forever (fifo(7)).
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
_USUAL = regex(rb"(?:(?!\.git)[\w+@=,. -]+/)*(?!\.git)[\w+@=,. -]+", re.IGNORECASE)
_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def put(tree: Path, path: str, mode: int, content: bytes | None) -> None:
    """Write these bytes to `path` below `tree`, or remove the file for None.

    Not durable: for trees that can be made again. Raises RunnerError when something on the way
    is no folder.
    """
    parts = raw(path).split(b"/")
    if any(part in {b"", b".", b"..", b".git"} or b"\0" in part for part in parts):
        raise RunnerError(f"{path} is not a valid path of the project")
    effects.step("open", path)
    try:
        opened = open_folders(tree, parts[:-1], make=content is not None)
    except NotADirectoryError as error:
        raise RunnerError(
            f"{path} cannot be written: one of its parents is not a folder"
        ) from error
    try:
        if len(opened) == len(parts):
            _replace(opened[-1], parts[-1], mode, content)
        if content is None:
            _prune(opened, parts)
    finally:
        for descriptor in opened:
            os.close(descriptor)


def read_plain(tree: Path, path: bytes) -> tuple[int, bytes]:
    """Return git's mode and the bytes of a plain file; 0 and empty bytes if it does not exist.

    No link is followed. Raises UnusualError for all that git may see otherwise: what is no plain
    file, cannot be read, or has a name that git could refuse or know by another.
    """
    if not _USUAL.fullmatch(path):
        raise UnusualError
    return read_regular(tree, path)


def read_regular(tree: Path, path: bytes) -> tuple[int, bytes]:
    """Return mode and bytes of a regular file, or 0 and no bytes. Raises UnusualError."""
    *folders, name = path.split(b"/")
    opened: list[int] = []
    try:
        opened += open_folders(tree, folders, make=False)
        if len(opened) <= len(folders):
            return 0, b""
        opened.append(os.open(name, _READ, dir_fd=opened[-1]))
        mode = os.fstat(opened[-1]).st_mode
        if not stat.S_ISREG(mode):
            raise UnusualError
        with os.fdopen(opened[-1], "rb", closefd=False) as file:
            return 0o100755 if mode & stat.S_IXUSR else 0o100644, file.read()
    except FileNotFoundError:
        return 0, b""
    except OSError as error:
        raise UnusualError from error
    finally:
        for descriptor in opened:
            os.close(descriptor)


def compare_plain(
    tree: Path,
    prefix: Prefix,
    known: Callable[[str], TreeEntry | None],
    name: Callable[[bytes], str],
    paths: Iterable[bytes],
) -> list[tuple[TreeChange, bytes]]:
    """Return the paths whose plain file differs from `known`, with their bytes.

    `name` is git's for a file's bytes. Raises UnusualError as `read_plain` does.
    """
    differing = []
    for path in paths:
        mode, content = read_plain(tree, path)
        there = known(text(path))
        was = there if there and there.mode != FOLDER else TreeEntry(0, "")
        sha = name(content) if mode else ""
        if was != TreeEntry(mode, sha):
            at = TreeChange(prefix.inside(text(path)), was.mode, mode, was.sha, sha)
            differing.append((at, content))
    return differing


def put_file(tree: Path, path: bytes, mode: int, write: Callable[[int], None]) -> None:
    """Create a plain file at `path` below `tree`, filled by `write`; no link is followed.

    Raises OSError where something on the way is no folder.
    """
    *folders, name = path.split(b"/")
    effects.step("open", text(path))
    opened = open_folders(tree, folders, make=True)
    try:
        _remove(opened[-1], name)
        opened.append(os.open(name, _FILE, stat.S_IMODE(mode), dir_fd=opened[-1]))
        write(opened[-1])
    finally:
        for descriptor in opened:
            os.close(descriptor)


def open_folders(tree: Path, parts: Sequence[bytes], *, make: bool) -> list[int]:
    """Open a folder of a tree from each one above it; fewer where one is not there.

    Raises NotADirectoryError for a link or a file on the way.
    """
    opened = [os.open(tree, _FOLDER)]
    try:
        for part in parts:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(part, dir_fd=opened[-1])
            try:
                opened.append(os.open(part, _FOLDER, dir_fd=opened[-1]))
            except FileNotFoundError:
                break
    except BaseException:
        for descriptor in opened:
            os.close(descriptor)
        raise
    return opened


def _replace(folder: int, name: bytes, mode: int, content: bytes | None) -> None:
    _remove(folder, name)
    if content is None:
        return
    if stat.S_IFMT(mode) == SYMLINK:
        os.symlink(content, name, dir_fd=folder)
        return
    descriptor = os.open(name, _FILE, 0o777 if mode & 0o100 else 0o666, dir_fd=folder)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)


def _remove(folder: int, name: bytes) -> None:
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        return
    except IsADirectoryError:
        os.rmdir(name, dir_fd=folder)


def _prune(opened: Sequence[int], parts: Sequence[bytes]) -> None:
    """Remove the folders that a deletion left empty, as git does."""
    for folder, name in reversed(list(zip(opened[:-1], parts[:-1], strict=False))):
        try:
            os.rmdir(name, dir_fd=folder)
        except OSError:  # not empty: so is everything above it
            return


_Row: TypeAlias = "tuple[int, int, int, int]"


_MOST_READ = 2_000, 1 << 26
"""Maximum number of files, and of their bytes, read to detect changes."""


class StatCache(Struct, frozen=True):
    """Every file and folder of a tree by number, mode, size and change time.

    A change time cannot be set back by a program, so content cannot be put back unseen; and a
    folder's moves with every name that comes or goes, so asking for the known paths is enough.
    Where change times do not tell of every change, the files' digests stand beside them.
    """

    rows: tuple[tuple[str, _Row], ...]
    """Empty if a part of the tree could not be read."""
    newest: int
    """Latest change time in it, in nanoseconds since the epoch."""
    contents: tuple[bytes, ...] | None = None
    """Digests of plain files among the rows, in order; None if stat(2) is sufficient."""

    @property
    def holds(self) -> bool:
        """Whether the tree still looks like this."""
        try:
            same = bool(self.rows) and all(_row(os.lstat(path)) == row for path, row in self.rows)
            return same and (self.contents is None or self.contents == _digest(self.rows))
        except OSError:
            return False


def signature(folder: Path, *, read: bool = False) -> StatCache:
    """Return the signature of a tree; it never matches if a part is unreadable.

    `read`: what its files hold, too, since their change times do not tell; of a tree with too much
    to read it never holds.
    """
    top = os.fspath(folder)
    try:
        found = os.lstat(top)
        below = _walk(top) if stat.S_ISDIR(found.st_mode) else ()
        rows = tuple((path, _row(one)) for path, one in ((top, found), *below))
        contents = _digest(rows) if read else None
    except OSError:
        return StatCache((), 0)
    return StatCache(rows, max(changed for _, (_, _, _, changed) in rows), contents)


def await_signature(folder: Path) -> StatCache:
    """Return a tree's signature after its files are older than one clock tick.

    Waits until its files are older than a clock's tick: one that is changed within the tick of its
    making could look the same.
    """
    read = not tells_changes(folder.parent)  # it is a slot's: what is tried leaves it alone
    found = signature(folder, read=read)
    age = time.time() - found.newest / 1e9
    if age < TICK:
        time.sleep(TICK - max(age, 0.0))
        found = signature(folder, read=read)
    return found


def _digest(rows: Sequence[tuple[str, _Row]]) -> tuple[bytes, ...]:
    """Return the digests of the plain files. Raises OSError if there is too much to read."""
    plain = [(path, size) for path, (_, mode, size, _) in rows if stat.S_ISREG(mode)]
    most, together = _MOST_READ
    if len(plain) > most or sum(size for _, size in plain) > together:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
    return tuple(_digest_file(path) for path, _ in plain)


def _digest_file(path: str) -> bytes:
    with os.fdopen(os.open(path, _READ), "rb") as file:
        return hashlib.blake2b(file.read(), digest_size=16).digest()


def _row(found: os.stat_result) -> _Row:
    return found.st_ino, found.st_mode, found.st_size, found.st_ctime_ns


def _walk(top: str) -> Iterator[tuple[str, os.stat_result]]:
    pending = [top]
    while pending:
        with os.scandir(pending.pop()) as entries:
            for entry in entries:
                yield entry.path, entry.stat(follow_symlinks=False)
                if entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)


_STEP = 0.002
_PAGE = 4096
_known: dict[int, bool] = {}
"""Results by device number; two threads get the same result."""


def tells_changes(folder: Path) -> bool:
    """Return whether every change of a file below a folder updates its change time.

    In memory (tmpfs) it does not: a page that was read through a shared mapping is writable from
    then on, and what is written there moves no time at all (the kernel's `vma_wants_writenotify`:
    shmem writes nothing back, so it asks for no notice). So it is tested once for each device with
    a file in the folder, and not guessed from the name of a file system, which may lie on top of
    another one. A folder that cannot be written is not trusted.
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
        os.unlink(path)
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
