"""The one place that touches disk, clock and randomness, so that a test can count and stop it."""

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
"""Files from which on several are written at once; fewer are written in their order."""
_AT_ONCE = 16
_watches: list[Watch] = []


def watch(callback: Watch) -> None:
    """Have `callback` called before every effect, for tests."""
    _watches.append(callback)


def unwatch(callback: Watch) -> None:
    """Stop calling `callback`."""
    _watches.remove(callback)


def step(kind: str, target: str | Path) -> None:
    """Say that an effect is about to happen; every effect of the house says so first."""
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
    # In the same folder, as rename(2) is one step only within a file system; hidden, and with pid
    # and time, so that two writers never share one and a sweep can tell whose it was.
    beside = path.with_name(f".{path.name}.{os.getpid()}.{time.monotonic_ns()}.tmp")
    step("open", path)
    # Exclusive: a link that somebody put under this name is not followed, open(2), O_EXCL.
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        try:
            # The umask took bits from what open(2) was given; a file that is replaced keeps its
            # own.
            os.fchmod(descriptor, mode)
            for piece in _gather(content):
                append(descriptor, piece, path)
            if durable:
                fsync(descriptor, path)
        finally:
            os.close(descriptor)
        step("replace", path)
        # No file system has a compare-and-swap of files: what is left is to look as late as can be,
        # when all that takes time (the write, the fsync) is over.
        if expected is not None and not _holds(path, expected):
            beside.unlink()
            return False
        os.replace(beside, path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    if durable:
        # A rename is in the folder, and an fsync of the file says nothing of that: fsync(2).
        fsync_folder(path.parent)
    return True


_PIECE = 1 << 20


def _gather(
    pieces: bytes | bytearray | Sequence[bytes | memoryview],
) -> Iterator[bytes | bytearray]:
    """The same bytes in pieces of about a megabyte: a call of the system for each, not a word."""
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
    """Piece by piece: a plan may be megabytes, and both texts of it are in memory already."""
    try:
        with path.open("rb") as file:
            places = range(0, len(content) + 1, _PIECE)
            pieces = all(file.read(_PIECE) == content[at : at + _PIECE] for at in places)
            return pieces and not file.read(1)
    except FileNotFoundError:
        return not content


def mode_of(path: Path) -> int:
    """The mode that a file of a person keeps when it is replaced; that of a new one elsewhere."""
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
            # write(2) may take less than it was given (a signal, a disk nearly full), without an
            # error.
            view = view[os.write(descriptor, view) :]
    except OSError as error:
        add_path(error, target)
        raise


def fsync(descriptor: int, target: str | Path = "") -> None:
    """Make an open file durable. An error is never retried and never believed."""
    step("fsync", target)
    try:
        os.fsync(descriptor)
    except OSError as error:
        add_path(error, target)
        raise


def add_path(error: OSError, target: str | Path) -> None:
    """Have an error say which path was meant: of a descriptor the system names none."""
    error.filename = error.filename or str(target) or None


def fsync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
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
    """Make a folder and its parents; one that is there is fine."""
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
    """What is in a folder, which its owner may change from now on."""
    unlock(folder)
    with os.scandir(folder) as entries:
        return list(entries)


def unlock(folder: bytes) -> None:
    """Let the owner of a folder do with it what they like."""
    mode = stat.S_IMODE(os.lstat(folder).st_mode)
    if mode & stat.S_IRWXU != stat.S_IRWXU:
        # rmdir and unlink need write and search on the folder and nothing of the file: caches of Go
        # are read-only for their owner, too.
        os.chmod(folder, mode | stat.S_IRWXU)  # noqa: PTH101 - likewise


@contextmanager
def try_lock(path: Path, *, create: bool = True) -> Iterator[bool]:
    """Whether the lock of a file is ours while entered: it is tried, and never waited for.

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
        # The file stays: were it removed, two processes could each hold a lock on a file of this
        # name. The lock goes with the descriptor, flock(2), so that a dead owner loses it.
        os.close(descriptor)


@contextmanager
def wait_lock(path: Path) -> Iterator[None]:
    """The lock of a file, waited for; of threads and processes alike. Raises OSError."""
    descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)  # the file stays, as above


def for_each(work: Callable[[A], B], items: Sequence[A]) -> list[B]:
    """`work` done for every item, its answers in the order of the items.

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
    """The time of day in UTC."""
    return datetime.now(UTC)


def timestamp() -> str:
    """The time of day as RFC 3339 in UTC with microseconds."""
    return now().isoformat(timespec="microseconds").replace("+00:00", "Z")


def monotonic() -> float:
    """Seconds that only ever grow."""
    return time.monotonic()


def random_bytes(count: int) -> bytes:
    """So many bytes that nobody can guess, such as a key."""
    return os.urandom(count)


def new_id() -> str:
    """A fresh UUIDv7 (RFC 9562, section 5.7): 48 bits of milliseconds, 74 random ones.

    Made here since a library for it, with what it imports, costs 50 ms at every start.
    """
    random = int.from_bytes(os.urandom(10))
    value = (time.time_ns() // 1_000_000 & 0xFFFF_FFFF_FFFF) << 80
    value |= 0x7 << 76 | (random >> 62 & 0xFFF) << 64
    value |= 0b10 << 62 | random & 0x3FFF_FFFF_FFFF_FFFF
    text = f"{value:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
