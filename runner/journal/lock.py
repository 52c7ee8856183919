"""One run at a time in a folder: flock is the lock, process id and start time are only its text.

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

# --- the lock -------------------------------------------------------------------------


NAME = "run.lock"
_TEXT_LIMIT = 4096


class Holder(NamedTuple):
    """Who holds the lock, by its own words."""

    pid: int
    ticks: int
    """Start time of the process as `process.platform` tells it: since boot, or since 1970."""
    started: str
    """RFC 3339 in UTC."""
    command: str

    def lives(self) -> bool:
        """Whether that very process is there still; a number given out again is another one."""
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
        """Take the lock at once; raises RunnerError naming the process that has it."""
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
        """Give it back; the file stays, since removing it would let two hold the lock."""
        if self._descriptor < 0:
            return
        with contextlib.suppress(OSError):
            # Before the lock goes with the descriptor: who reads the text afterwards must not find
            # us in it.
            os.ftruncate(self._descriptor, 0)
        os.close(self._descriptor)
        self._descriptor = -1

    def holder(self) -> Holder | None:
        """The run that is going on, or None. Asks without taking the lock."""
        try:
            # Reading is enough: whoever only tried the lock would hold it for an instant, and a run
            # that begins in that instant would learn that another one goes on.
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
            # Not fcntl(2)'s locks: those go as soon as any descriptor of the file is closed, and
            # `holder` opens and closes one.
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
    # Not synced: these are words for people, and the lock is the kernel's, gone with the machine.
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


# --- the folder -----------------------------------------------------------------------


_OWN_WORD = frozenset({"journal.jsonl", "run.lock", "TASK-GRAPH.md"})
"""Files for which who opens them has an answer, or which are a person's."""
_DEEPEST = 3
"""Levels that are looked at: `logs/TASK-001/1`; who opens a file there follows no link itself."""


def make_plain_folder(folder: Path) -> None:
    """Make `artifacts/build`. Raises RunnerError (exit 6) where a link is on the way or in it.

    What is written through a link would be a file of the person's anywhere, with words of a plan.
    """
    # Looked at before it is made: mkdir(2) through a link makes the folder wherever that leads.
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
