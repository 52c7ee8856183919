"""The run lock of a folder: flock decides; process id and start time are only its text.

The folder that the runner keeps its files in, held to be plain: a clone may bring links.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import sys
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple, Self

from runner import effects
from runner.errors import ExitCode, RunnerError
from runner.process.platform import process

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


NAME = "run.lock"
_TEXT_LIMIT = 4096


class Holder(NamedTuple):
    """The lock's holder, by its own text."""

    pid: int
    ticks: int
    """Start time of the process from `process.platform`: since boot, or since 1970."""
    started: str
    """RFC 3339 in UTC."""
    command: str

    def lives(self) -> bool:
        """Return whether the holder's process still runs; a reused process ID does not count."""
        return self.pid > 0 and self.ticks > 0 and _ticks(self.pid) == self.ticks

    def __str__(self) -> str:
        try:
            since = datetime.fromisoformat(self.started).astimezone()
        except ValueError:
            return f"process {self.pid}"
        return f"process {self.pid}, since {since:%H:%M:%S}"


class RunLock:
    """Held from `acquire` to `release` or to the end of the process, however that comes."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / NAME
        self._descriptor = -1

    def acquire(self) -> None:
        """Acquire the lock without waiting. Raises RunnerError naming the process that holds it."""
        make_plain_folder(self.path.parent)
        descriptor = self._open()
        try:
            self._lock(descriptor)
            _write(descriptor, self.path)
        except BaseException:
            os.close(descriptor)
            raise
        self._descriptor = descriptor

    def release(self) -> None:
        """Release the lock; the file stays, so that two processes never hold the lock."""
        if self._descriptor < 0:
            return
        with contextlib.suppress(OSError):
            # Before the lock is released with the descriptor: later readers must not find this
            # process in it.
            os.ftruncate(self._descriptor, 0)
        os.close(self._descriptor)
        self._descriptor = -1

    def holder(self) -> Holder | None:
        """Return the active run's holder, or None, without taking the lock."""
        try:
            # Read only: trying the lock would hold it for a moment, and a run starting in that
            # moment would believe that another run is active.
            descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            return None
        try:
            holder = _read(descriptor)
        finally:
            os.close(descriptor)
        return holder if holder is not None and holder.lives() else None

    def __enter__(self) -> Self:
        self.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def _open(self) -> int:
        effects.step("open", self.path)
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        try:
            return os.open(self.path, flags, 0o644)
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise RunnerError(
                    "the lock file is a symbolic link", where=str(self.path), hint="remove it"
                ) from error
            raise

    def _lock(self, descriptor: int) -> None:
        try:
            # Not fcntl(2)'s locks: those are released when any descriptor of the file is closed,
            # and `holder` opens and closes one.
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = _read(descriptor)
            raise RunnerError(
                "another run is active in this folder: "
                + (str(holder) if holder else "process unknown"),
                where=str(self.path),
                hint="wait for it, or stop it"
                + (f" (`kill {holder.pid}`)" if holder else "")
                + "; then run again",
                code=ExitCode.CONFLICT,
            ) from error


def _write(descriptor: int, path: Path) -> None:
    mine = Holder(
        os.getpid(), _ticks(os.getpid()), effects.timestamp(), " ".join(sys.argv[:2])[:200]
    )
    # No fsync: the text is for people, and the kernel's lock does not survive a reboot.
    text = json.dumps(mine._asdict()).encode() + b"\n"
    os.ftruncate(descriptor, 0)
    os.lseek(descriptor, 0, os.SEEK_SET)
    effects.append(descriptor, text, path)


def _read(descriptor: int) -> Holder | None:
    try:
        fields = json.loads(os.pread(descriptor, _TEXT_LIMIT, 0))
        return Holder(
            int(fields["pid"]),
            int(fields["ticks"]),
            str(fields["started"]),
            str(fields["command"]),
        )
    except (ValueError, KeyError, TypeError, OverflowError, OSError):
        return None


def _ticks(pid: int) -> int:
    """Start time of a process in clock ticks; -1 when there is none of that number."""
    found = process(pid)
    return found.started if found and found.alive else -1


_OWN_WORD = frozenset({"journal.jsonl", "run.lock", "TASK-GRAPH.md"})
"""Files whose opener handles links itself, or which belong to the user."""
_DEEPEST = 3
"""Checked levels: `logs/TASK-001/1`; code that opens a file there follows no link itself."""


def make_plain_folder(folder: Path) -> None:
    """Create `artifacts/build`. Raises RunnerError (exit 6) for a link in its path or content.

    What is written through a link would be a file of the person's anywhere, with words of a plan.
    """
    # Check before creating: mkdir(2) follows a link and makes the folder at its target.
    for path in (folder.parent, folder):
        if path.is_symlink():
            raise _in_the_way(str(path))
    effects.make_folder(folder)
    for link in _links(str(folder), _DEEPEST):
        raise _in_the_way(link)


def _links(folder: str, deeper: int) -> Iterator[str]:
    try:
        with os.scandir(folder) as entries:
            found = [entry for entry in entries if entry.name not in _OWN_WORD]
    except OSError:  # it is gone by now, or nobody can read it: then nobody can write there
        return
    yield from (entry.path for entry in found if entry.is_symlink())
    if deeper > 1:
        for entry in found:
            if entry.is_dir(follow_symlinks=False):
                yield from _links(entry.path, deeper - 1)


def _in_the_way(path: str) -> RunnerError:
    return RunnerError(
        "a symbolic link is in the way",
        where=path,
        hint="move it away and run again; the runner never follows links",
        code=ExitCode.CONFLICT,
    )
