"""How far each receiver was told of each journal: one small file in the user's state folder.

SQLite with full synchronisation: a cursor that was moved is moved after a power cut, too. One
process tells one receiver of one source; the lock is flock(2), and goes with its process.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from typing import TYPE_CHECKING, NamedTuple

from runner import effects
from runner.errors import ExitCode, RunnerError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from runner.outward.outbox import Message

_TABLES = """
CREATE TABLE IF NOT EXISTS cursors (
  door TEXT, journal TEXT, seq INTEGER, place INTEGER, time TEXT, PRIMARY KEY (door, journal)
);
CREATE TABLE IF NOT EXISTS faults (door TEXT PRIMARY KEY, fault TEXT, since TEXT, tries INTEGER)
"""
_BUSY = 30.0


@contextlib.contextmanager
def _heard(path: Path) -> Iterator[None]:
    """What the database says, such as that the disk is full, as a RunnerError."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise RunnerError(
            f"how far was told cannot be read or written: {error}",
            where=str(path),
            hint="look at the room on the disk; or move the file away: then all is told again, "
            "under the same keys",
        ) from error


class Told(NamedTuple):
    """How one receiver stands: what it acknowledged, and why it gets nothing, if it does not."""

    door: str
    events: int
    last: str
    fault: str
    since: str
    tries: int


class ToldFile:
    """The cursors of one source; each thread has its own connection."""

    def __init__(self, path: Path) -> None:
        self.path = path
        effects.make_folder(path.parent, mode=0o700)
        effects.step("open", path)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
        with contextlib.closing(self._connect()) as connection, _heard(self.path):
            connection.executescript(_TABLES)

    def _connect(self) -> sqlite3.Connection:
        with _heard(self.path):
            connection = sqlite3.connect(self.path, timeout=_BUSY, isolation_level=None)
            connection.execute("PRAGMA journal_mode=WAL")
            # With NORMAL, WAL stays consistent but may lose its last commits in a power cut
            # (sqlite.org, pragma synchronous).
            connection.execute("PRAGMA synchronous=FULL")
            return connection

    @contextlib.contextmanager
    def door(self, name: str) -> Iterator[DoorCursors]:
        """The cursors of one receiver, while entered. Raises RunnerError where they cannot move."""
        with contextlib.closing(self._connect()) as connection:
            yield DoorCursors(connection, name, self.path)

    def list_told(self) -> tuple[Told, ...]:
        """How each receiver stands that was ever told something."""
        said = """
            SELECT door, sum(seq), max(time), max(fault), max(since), max(tries) FROM (
              SELECT door, seq, time, '' AS fault, '' AS since, 0 AS tries FROM cursors
              UNION ALL SELECT door, 0, '', fault, since, tries FROM faults)
            GROUP BY door ORDER BY door"""
        with contextlib.closing(self._connect()) as connection, _heard(self.path):
            return tuple(Told(*row) for row in connection.execute(said))

    @contextlib.contextmanager
    def lock(self) -> Iterator[bool]:
        """Whether this process, and no other, tells what this file is about, while entered."""
        with effects.try_lock(self.path.with_suffix(".lock")) as is_ours:
            yield is_ours


def take_over(old: Path, new: Path) -> Path:
    """Where cursors are that once had another name: moved, but not from under who tells by them.

    Raises RunnerError where they cannot be read.
    """
    if old == new or new.exists() or not old.exists():
        return new
    with effects.try_lock(old.with_suffix(".lock")) as is_ours:
        if not is_ours:
            return old
        with contextlib.closing(sqlite3.connect(old, timeout=_BUSY)) as last, _heard(old):
            # The last one that closes a database puts its log into it and takes that away
            # (sqlite.org/wal.html, 2): one file is left to be moved.
            last.execute("SELECT count(*) FROM cursors").fetchone()
        effects.step("replace", new)
        with contextlib.suppress(FileNotFoundError):  # another process moved it just now
            os.replace(old, new)
        effects.unlink(old.with_suffix(".lock"))
    return new


def require_alone(*, is_ours: bool, where: Path) -> None:
    """Raise RunnerError where another process tells the same already."""
    if not is_ours:
        raise RunnerError(
            "another process delivers these events already",
            where=str(where),
            hint="one is enough; runner events --doors shows how far it is",
            code=ExitCode.CONFLICT,
        )


class DoorCursors:
    """How far one receiver was told; moved only after it acknowledged."""

    def __init__(self, connection: sqlite3.Connection, door: str, path: Path) -> None:
        self._connection, self._door, self._path = connection, door, path
        said = "SELECT journal, seq, place FROM cursors WHERE door = ?"
        with _heard(path):
            rows = connection.execute(said, (door,)).fetchall()
        self._known = {str(journal): (int(seq), int(place)) for journal, seq, place in rows}

    def place(self, journal: str) -> tuple[int, int]:
        """The number of the last event that was acknowledged, and where the next one begins."""
        return self._known.get(journal, (0, 0))

    def move(self, message: Message) -> None:
        """This one was acknowledged, and all before it of its journal; on disk on return.

        Raises RunnerError where it cannot be written: then it is told once more.
        """
        effects.step("cursor", message.key)
        with _heard(self._path):
            self._connection.execute(
                "INSERT INTO cursors VALUES (?, ?, ?, ?, ?) ON CONFLICT (door, journal) DO UPDATE"
                " SET seq = excluded.seq, place = excluded.place, time = excluded.time",
                (self._door, message.journal, message.seq, message.offset, effects.timestamp()),
            )
        self._known[message.journal] = (message.seq, message.offset)

    def note_fault(self, fault: str) -> None:
        """Why it gets nothing now; empty: it does."""
        with contextlib.suppress(sqlite3.DatabaseError):  # a note for people, and no more
            self._note(fault)

    def _note(self, fault: str) -> None:
        if not fault:
            self._connection.execute("DELETE FROM faults WHERE door = ?", (self._door,))
            return
        self._connection.execute(
            "INSERT INTO faults VALUES (?, ?, ?, 1) ON CONFLICT (door) DO UPDATE"
            " SET fault = excluded.fault, tries = tries + 1",
            (self._door, fault, effects.timestamp()),
        )
