"""The one place that touches disk, clock and randomness, so that tests can count and stop it."""

from __future__ import annotations

import fcntl
import os
import stat
import time
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeAlias, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    A = TypeVar("A")
    B = TypeVar("B")

Watch: TypeAlias = "Callable[[str, str], None]"
"""Called with (kind, target) just before an effect happens; may raise or end the process."""

_MANY = 64
"""From this number on, files are written in parallel; fewer are written in order."""
_AT_ONCE = 16
_watches: list[Watch] = []


def watch(callback: Watch) -> None:
    """Register a callback that runs before every effect, for tests."""
    _watches.append(callback)


def unwatch(callback: Watch) -> None:
    """Stop calling `callback`."""
    _watches.remove(callback)


def step(kind: str, target: str | Path) -> None:
    """Notify the watchers of an effect that is about to happen."""
    for callback in _watches:
        callback(kind, str(target))


# --- disk -----------------------------------------------------------------------------


def write_file(
    path: Path,
    content: bytes | bytearray | Sequence[bytes | memoryview],
    *,
    mode: int = 0o644,
    expected: bytes | None = None,
    durable: bool = True,
) -> bool:
    """Replace a file whole and durably: write beside, fsync, rename, fsync the folder.

    `content` may be in pieces, which are written one after the other.

    What is not `durable` is whole for every reader, and after the power failed it may be anything:
    only for a cache whose reader takes nothing but what fits.

    With `expected`, only while the file still holds these bytes just before the rename, where one
    that is not there holds none: somebody may have saved it meanwhile. Gives whether it was
    replaced. Raises OSError; the old file is then untouched and nothing is left beside it.
    """
    # In the same folder, because rename(2) is atomic only within a file system; hidden, and with
    # pid and time, so that two writers never share one and a cleanup can find its owner.
    beside = path.with_name(f".{path.name}.{os.getpid()}.{time.monotonic_ns()}.tmp")
    step("open", path)
    # Exclusive: a link planted under this name is not followed, open(2), O_EXCL.
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        try:
            # The umask removed bits from open(2)'s mode; a replaced file keeps its mode.
            os.fchmod(descriptor, mode)
            for piece in _gather(content):
                append(descriptor, piece, path)
            if durable:
                fsync(descriptor, path)
        finally:
            os.close(descriptor)
        step("replace", path)
        # No file system has compare-and-swap for files: check as late as possible, after everything
        # slow (the write, the fsync).
        if expected is not None and not _holds(path, expected):
            beside.unlink()
            return False
        os.replace(beside, path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    if durable:
        # The rename changes the folder, which an fsync of the file does not cover: fsync(2).
        fsync_folder(path.parent)
    return True


_PIECE = 1 << 20


def _gather(
    pieces: bytes | bytearray | Sequence[bytes | memoryview],
) -> Iterator[bytes | bytearray]:
    """Yield the bytes in pieces of about 1 MB, to save system calls."""
    if isinstance(pieces, bytes | bytearray):
        yield pieces
        return
    held: list[bytes | memoryview] = []
    size = 0
    for piece in pieces:
        for at in range(0, len(piece), _PIECE):
            held.append(piece[at : at + _PIECE])
            size += len(held[-1])
            if size >= _PIECE:
                yield b"".join(held)
                held, size = [], 0
    yield b"".join(held)


def _holds(path: Path, content: bytes) -> bool:
    """Check whether a file has this content, in pieces to limit memory."""
    try:
        with path.open("rb") as file:
            places = range(0, len(content) + 1, _PIECE)
            pieces = all(file.read(_PIECE) == content[at : at + _PIECE] for at in places)
            return pieces and not file.read(1)
    except FileNotFoundError:
        return not content


def mode_of(path: Path) -> int:
    """Return the permission bits of a file, or 0o644 for a new one."""
    try:
        return path.stat().st_mode & 0o777
    except FileNotFoundError:
        return 0o644


def append(descriptor: int, content: bytes | bytearray, target: str | Path = "") -> None:
    """Write all bytes to an open file, at its position."""
    step("write", target)
    view = memoryview(content)
    try:
        while view:
            # write(2) may write fewer bytes (a signal, a nearly full disk) without an error.
            view = view[os.write(descriptor, view) :]
    except OSError as error:
        add_path(error, target)
        raise


def fsync(descriptor: int, target: str | Path = "") -> None:
    """Sync an open file to disk. Errors are raised and never retried."""
    step("fsync", target)
    try:
        os.fsync(descriptor)
    except OSError as error:
        add_path(error, target)
        raise


def add_path(error: OSError, target: str | Path) -> None:
    """Add the path to an error, since the system names none for a descriptor."""
    error.filename = error.filename or str(target) or None


def fsync_folder(folder: Path) -> None:
    """Sync the names in a folder to disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fsync(descriptor, folder)
    finally:
        os.close(descriptor)


def unlink(path: Path) -> None:
    """Remove a file; one that is not there is fine."""
    step("unlink", path)
    path.unlink(missing_ok=True)


def make_folder(path: Path, *, mode: int = 0o777) -> None:
    """Create a folder and its parents if they do not exist."""
    if path.is_dir():
        return
    step("mkdir", path)
    path.mkdir(mode=mode, parents=True, exist_ok=True)


def remove_tree(top: Path | bytes, go_on: Callable[[], object] = bool) -> None:
    """Remove a folder however deep, following no link; whoever asks for it says so by `step`.

    Inner folders are moved up beside `top` first, so that no path grows too long and nothing
    recurses. `go_on` is called before each removal and may raise. Raises OSError where something
    resists.
    """
    pending = [os.fsencode(top)]
    beside, number = pending[0], 0
    while pending:
        folder = pending.pop()
        for entry in list_folder(folder):
            go_on()
            if entry.is_dir(follow_symlinks=False):
                unlock(entry.path)
                number += 1
                moved = b"%b.%d.%d" % (beside, os.getpid(), number)
                os.rename(entry.path, moved)  # noqa: PTH104 - names are bytes, as git has them
                pending.append(moved)
            else:
                os.unlink(entry.path)  # noqa: PTH108 - likewise
        os.rmdir(folder)  # noqa: PTH106 - likewise


def list_folder(folder: bytes) -> list[os.DirEntry[bytes]]:
    """Return the entries of a folder, after granting its owner full permissions."""
    unlock(folder)
    with os.scandir(folder) as entries:
        return list(entries)


def unlock(folder: bytes) -> None:
    """Grant the owner of a folder full permissions on it."""
    mode = stat.S_IMODE(os.lstat(folder).st_mode)
    if mode & stat.S_IRWXU != stat.S_IRWXU:
        # rmdir and unlink need write and search permission on the folder only: Go caches are
        # read-only even for their owner.
        os.chmod(folder, mode | stat.S_IRWXU)  # noqa: PTH101 - likewise


@contextmanager
def try_lock(path: Path, *, create: bool = True) -> Iterator[bool]:
    """Try to lock a file without waiting, and yield whether the lock was acquired.

    Raises OSError where the file cannot be opened, or is missing and not to be created.
    """
    flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | (os.O_CREAT if create else 0)
    descriptor = os.open(path, flags, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        # Keep the file: after its removal two processes could each lock a file of this name. The
        # lock belongs to the descriptor, flock(2), so a dead owner releases it.
        os.close(descriptor)


@contextmanager
def wait_lock(path: Path) -> Iterator[None]:
    """Wait for the lock of a file and hold it, against threads and processes. Raises OSError."""
    descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)  # the file stays, as above


def for_each(work: Callable[[A], B], items: Sequence[A]) -> list[B]:
    """Apply `work` to every item, several in parallel, and return the results in order.

    Of many items several are worked on at once: a disk makes a group of files durable in the time
    that it takes for one. `work` must not depend on the order. The first error ends it.
    """
    if len(items) < _MANY:
        return [work(item) for item in items]
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        try:
            return list(pool.map(work, items))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


# --- clock and ids --------------------------------------------------------------------


def now() -> datetime:
    """Return the current time in UTC."""
    return datetime.now(UTC)


def timestamp() -> str:
    """Return the current time as RFC 3339 in UTC with microseconds."""
    return now().isoformat(timespec="microseconds").replace("+00:00", "Z")


def monotonic() -> float:
    """Return the monotonic clock in seconds."""
    return time.monotonic()


def random_bytes(count: int) -> bytes:
    """Return unpredictable random bytes, for example for a key."""
    return os.urandom(count)


def new_id() -> str:
    """Create a UUIDv7 (RFC 9562, section 5.7): 48 bits of milliseconds, 74 random bits.

    Made here since a library for it, with what it imports, costs 50 ms at every start.
    """
    random = int.from_bytes(os.urandom(10))
    value = (time.time_ns() // 1_000_000 & 0xFFFF_FFFF_FFFF) << 80
    value |= 0x7 << 76 | (random >> 62 & 0xFFF) << 64
    value |= 0b10 << 62 | random & 0x3FFF_FFFF_FFFF_FFFF
    text = f"{value:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
