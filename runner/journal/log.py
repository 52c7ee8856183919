"""The journal file, open for appending: one write a record, durable on request."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from threading import Lock
from typing import TYPE_CHECKING, Self

from runner import __version__, effects
from runner.errors import RunnerError
from runner.journal.events import NAMES, Event, Record, Unknown
from runner.journal.lock import make_plain_folder
from runner.journal.records import (
    BadRecordError,
    Mark,
    NewerRecordError,
    UnfitRecordError,
    damage,
    decode,
    encode,
    last_line,
    newer,
    read_journal,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import TracebackType

PRODUCER = f"runner/{__version__}"
# O_APPEND: the kernel seeks to the end and writes in one step, open(2), so that no writer
# overwrites another's record. O_NONBLOCK: opening a planted pipe would block forever.
_FLAGS = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_REMEMBERED = 4096


class Journal:
    """Appends records, from any number of threads and processes; the file's order is the truth.

    Make one with `Journal.open`. `run` goes into every record and may be set at any time.
    """

    def __init__(self, path: Path, descriptor: int, *, run: str = "", via: str = "") -> None:
        self.path = path
        self.run = run
        self._via = via
        self._descriptor = descriptor
        self._writing = Lock()
        self._syncing = Lock()
        self._end = 0  # where the last whole record we know of ends
        self._sure = False  # whether the file ended there when we last looked
        self._durable = 0
        self._seq = 0
        self._origins: dict[str, str] = {}
        self._broken: OSError | None = None

    @classmethod
    def open(cls, path: Path, *, run: str = "", via: str = "") -> Journal:
        """Open or make the journal, and cut a last line that is not whole.

        `via` is from where a person's word comes, such as `page`; records tell it as producer.

        Raises RunnerError when the line before is damaged too, when a newer runner wrote the
        journal, or when the path is no plain file of our own (a link, a pipe).
        """
        make_plain_folder(path.parent)
        journal = cls(path, _open(path), run=run, via=via)
        try:
            with journal._lock():  # its own
                journal._look()  # its own
            if journal._end == 0:  # its own
                # New file: its bytes become durable with the first record, its name only by this
                # (fsync(2)).
                effects.fsync_folder(path.parent)
        except BaseException:
            journal.close()
            raise
        return journal

    def append(
        self,
        event: Event,
        *,
        task: str = "",
        attempt: int = 0,
        cause: Record | str = "",
        origin: str = "",
        durable: bool = False,
        via: str = "",
    ) -> Record:
        """Write one event; with `durable` it and all before it are on disk on return.

        `cause` is the record that led to it, or its id; then `origin` is needed only where that
        record is older than this object. `via` says from where one word of a person comes, as that
        of `open` does of all. Raises OSError; after an error of fsync every further append raises,
        since what is on disk is no longer known.
        """
        with self._lock():
            self._catch_up()
            # Assign number and time under the lock, so that both only grow in the file.
            record = self._record(event, task, attempt, cause, origin, via or self._via)
            line = encode(record)
            self._write(line)
            self._seq = record.seq
            end = self._end
        # From here on without the lock: while the disk syncs, other threads and processes append,
        # and one fsync serves all of them.
        self._remember(record)
        if durable:
            self._sync(end)
        return record._replace(crc=line[-11:-3].decode())

    def sync(self) -> None:
        """Sync all appended records to disk."""
        with self._writing:
            end = self._end
        self._sync(end)

    def read(self) -> Iterator[Record]:
        """Yield all records from the beginning. Raises RunnerError if the journal is damaged."""
        return read_journal(self.path)

    @property
    def place(self) -> Mark:
        """End of the journal, for a snapshot of the state up to here."""
        return Mark(self._end, -1, self._seq)

    def close(self) -> None:
        """Close the file; repeated calls have no effect."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _record(
        self, event: Event, task: str, attempt: int, cause: Record | str, origin: str, via: str
    ) -> Record:
        name = event.type if isinstance(event, Unknown) else NAMES[type(event)]
        new = effects.new_id()
        led = cause.id if isinstance(cause, Record) else cause
        if isinstance(cause, Record):
            origin = origin or cause.origin
        first = origin or (self._origins.get(led, led) if led else new)
        moment = effects.timestamp()
        return Record(
            *(new, self._seq + 1, moment, self.run, name, task, attempt, led, first),
            *(f"{PRODUCER} via {via}" if via else PRODUCER, event),
        )

    def _write(self, line: bytes) -> None:
        self._sure = False  # until the write is whole, nobody knows
        effects.append(self._descriptor, line, self.path)
        self._end += len(line)
        self._sure = True

    def _sync(self, end: int) -> None:
        """Sync up to `end`; one fsync serves all threads that wrote before it."""
        with self._syncing:
            self._refuse_broken()
            if end <= self._durable:
                return
            # Read before the fsync: records appended meanwhile may not be on disk.
            reached = self._end
            try:
                effects.fsync(self._descriptor, self.path)
            except OSError as error:
                self._broken = error
                raise
            self._durable = max(self._durable, end, reached)

    def _refuse_broken(self) -> None:
        # After a failed fsync Linux marks the pages clean, and the next fsync returns 0 although
        # nothing was written (fsync(2), ERRORS; PostgreSQL's "fsyncgate" of 2018). So it is not
        # retried.
        if self._broken is not None:
            raise OSError(
                self._broken.errno or errno.EIO,
                "an earlier write to the journal failed, so the runner writes nothing more",
                str(self.path),
            )

    def _remember(self, record: Record) -> None:
        if len(self._origins) >= _REMEMBERED:
            self._origins.clear()
        self._origins[record.id] = record.origin

    def _lock(self) -> _Exclusive:
        return _Exclusive(self._writing, self._descriptor)

    def _catch_up(self) -> None:
        """Read records that others appended, so that no number is used twice."""
        self._refuse_broken()
        found = os.fstat(self._descriptor)
        # A checkout or `git clean` may delete the file under an open descriptor: appends would go
        # to an inode without a name.
        if found.st_nlink == 0 or found.st_size < self._end:
            raise RunnerError(
                "the journal was removed or truncated while the runner was writing it",
                where=str(self.path),
                hint="restore the journal from a backup if you have one, then run again",
            )
        if not self._sure or found.st_size != self._end:
            self._look()

    def _look(self) -> None:
        """Find the file's end and last number; a last line that is not whole is mended or cut."""
        size = os.fstat(self._descriptor).st_size
        start, line = last_line(self._descriptor, size)
        record = self._whole(line, start)
        if record is None and line:
            effects.step("truncate", self.path)
            # Only under the lock: without it this partial line may be another process's write in
            # progress. Its run got no confirmation, so no code has acted on the record.
            os.ftruncate(self._descriptor, start)
            size = start
            start, line = last_line(self._descriptor, size)
            record = self._whole(line, start)
            if record is None and line:
                raise damage(
                    self.path, Mark(start, -1), "this record is incomplete, but not the last"
                )
        elif line and not line.endswith(b"\n"):
            effects.append(self._descriptor, b"\n", self.path)  # whole but for its line end
            size += 1
        self._end, self._seq, self._sure = size, record.seq if record else 0, True

    def _whole(self, line: bytes, start: int) -> Record | None:
        try:
            return decode(line, wanted=())
        except NewerRecordError as error:
            raise newer(self.path, Mark(start, -1), error) from error
        except UnfitRecordError as error:
            raise damage(self.path, Mark(start, -1), str(error)) from error
        except BadRecordError:
            return None


class _Exclusive:
    """This thread and no other, this process and no other, at the journal's end."""

    __slots__ = ("_descriptor", "_threads")

    def __init__(self, threads: Lock, descriptor: int) -> None:
        self._threads = threads
        self._descriptor = descriptor

    def __enter__(self) -> None:
        # Both, in this order: flock(2) belongs to the open file, which all threads of this process
        # share, so it does not exclude them from each other.
        self._threads.acquire()
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        except BaseException:
            self._threads.release()
            raise

    def __exit__(self, *_: object) -> None:
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)
        finally:
            self._threads.release()


def _open(path: Path) -> int:
    effects.step("open", path)
    try:
        descriptor = os.open(path, _FLAGS | os.O_CREAT, 0o644)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise _not_plain(path) from error
        raise
    # Check the opened file, not the path, which may be another file by then.
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise _not_plain(path)
    return descriptor


def _not_plain(path: Path) -> RunnerError:
    return RunnerError(
        "the journal is not a plain file",
        where=str(path),
        hint="move that file away; the runner does not write through links, pipes or devices",
    )
