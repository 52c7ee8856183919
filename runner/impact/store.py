"""The cache file for impact lookups: open it, and recreate it when it is damaged.

An SQLite database, since a question must cost what it asks for and not what is kept: 10,000 tasks
and 100,000 files are asked about one path in microseconds. It lies outside of the repository,
where a clone could forge it, and may be deleted at any time: then nothing is known to be observed,
and answers are wider.
"""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from threading import RLock
from typing import TYPE_CHECKING, Self

from runner import effects
from runner.lazy_pattern import regex

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

FILE = "impact.sqlite"
_FORMAT = 2
_PATIENCE_SECONDS = 5.0
_TABLES = """
create table observed(path text, task text, contract text, rows text,
                      primary key(path, task, contract)) without rowid;
create index observed_by_task on observed(task, contract);
create table files(path text primary key, blob text) without rowid;
create table refers(key text, path text, primary key(key, path)) without rowid;
create index refers_by_path on refers(path);
create table names(path text, key text, primary key(path, key)) without rowid;
create table owners(path text primary key, tasks text) without rowid;
create table globs(number integer primary key, folder text, glob text, tasks text);
create index globs_by_folder on globs(folder);
create table notes(name text primary key, value text) without rowid;
"""


class ImpactStore:
    """An open database; any thread may ask. `folder` None keeps everything in memory only."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self.lost = False
        """Whether stored data, or data to store, was lost: answers are too narrow."""
        self._lock = RLock()
        self.connection = _open_database(folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the database."""
        self.connection.close()

    def ask(self, question: str, *values: object) -> list[tuple[str, ...]]:
        """Return the rows of a query; on a damaged file set `lost` and return none."""
        with self._lock:
            try:
                found = self.connection.execute(question, _written(values)).fetchall()
            except sqlite3.DatabaseError as error:
                self._lose(error)
                return []
        return [_read(row) for row in found]

    @contextmanager
    def change(self) -> Iterator[Writing]:
        """Write in one transaction: all of it is kept, or nothing and `lost` is set."""
        effects.step("sqlite", str(self.folder or ""))
        with self._lock:
            try:
                with self.connection:
                    yield Writing(self.connection)
            except sqlite3.DatabaseError as error:
                self._lose(error)

    def note(self, name: str) -> str:
        """Return a stored short text, or an empty string."""
        found = self.ask("select value from notes where name = ?", name)
        return found[0][0] if found else ""

    def _lose(self, error: sqlite3.DatabaseError) -> None:
        """Continue after an error without the cache; a damaged file is recreated."""
        self.lost = True
        if isinstance(error, sqlite3.OperationalError):
            return
        self.connection.close()
        if self.folder is not None:
            _remove(self.folder)
        self.connection = _open_database(self.folder)


class Writing:
    """One transaction, for whoever writes in it."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def execute(self, statement: str, values: Sequence[object] = ()) -> None:
        """Execute a statement for one row."""
        self._connection.execute(statement, _written(values))

    def executemany(self, statement: str, rows: Iterable[Sequence[object]]) -> None:
        """Execute a statement for many rows."""
        self._connection.executemany(statement, map(_written, rows))


# --- texts that are no UTF-8 ------------------------------------------------------------

# A file name need not be UTF-8: Python represents each invalid byte as a lone surrogate (PEP 383),
# which SQLite rejects. The database stores U+F700 plus the byte, as Cygwin does elsewhere; names
# that contain such characters are stored by their bytes, so that all are reversible.
_ODD = regex("[\ud800-\udfff\uf780-\uf7ff]")
_KEPT = regex("[\uf780-\uf7ff]+")
_PRIVATE = 0xF700
_ESCAPED = range(0xDC80, 0xDD00)
"""Surrogates that represent a byte."""


def _written(values: Sequence[object]) -> Sequence[object]:
    """Escape strings that SQLite cannot store."""
    if all(type(one) is not str or one.isascii() for one in values):
        return values
    return tuple(_ODD.sub(_keep, one) if type(one) is str else one for one in values)


def _keep(found: re.Match[str]) -> str:
    code = ord(found[0])
    data = bytes((code & 0xFF,)) if code in _ESCAPED else found[0].encode("utf-8", "surrogatepass")
    return "".join(chr(_PRIVATE + byte) for byte in data)


def _read(row: tuple[str, ...]) -> tuple[str, ...]:
    """Return a stored row with its escaped characters restored."""
    if all(type(one) is not str or one.isascii() for one in row):
        return row
    return tuple(_KEPT.sub(_give_back, one) if type(one) is str else one for one in row)


def _give_back(found: re.Match[str]) -> str:
    return bytes(ord(one) - _PRIVATE for one in found[0]).decode("utf-8", "surrogateescape")


# --- the file ---------------------------------------------------------------------------


def _open_database(folder: Path | None) -> sqlite3.Connection:
    """Open the database in a folder; recreate it if it is damaged or outdated."""
    for _ in range(2):
        try:
            return _connect(folder)
        except (sqlite3.DatabaseError, OSError):
            if folder is None:
                raise
            try:
                _remove(folder)
            except OSError:
                break
    return _connect(None)  # a cache that cannot be written is none


def _remove(folder: Path) -> None:
    # With its log: one that outlives its database would be replayed into the next one of that name
    # (SQLite, How To Corrupt An SQLite Database File).
    for suffix in ("", "-wal", "-shm"):
        effects.unlink(folder / f"{FILE}{suffix}")


def _connect(folder: Path | None) -> sqlite3.Connection:
    if folder is not None:
        effects.make_folder(folder)
    place = ":memory:" if folder is None else str(folder / FILE)
    # Any thread may query, since a lock here serialises them: the module's check is unnecessary.
    connection = sqlite3.connect(place, timeout=_PATIENCE_SECONDS, check_same_thread=False)
    try:
        _prepare(connection, place)
    except BaseException:
        connection.close()
        raise
    return connection


def _prepare(connection: sqlite3.Connection, place: str) -> None:
    """Create missing tables. Raises DatabaseError for another format."""
    # a power cut may lose the last records, which digests detect, but damages nothing (SQLite, WAL)
    connection.execute("pragma journal_mode = wal")
    connection.execute("pragma synchronous = normal")
    (found,) = connection.execute("pragma user_version").fetchone()
    if found == 0:
        effects.step("sqlite", place)
        # Tables and version in one transaction: tables without a version would be made again, and
        # the file be deleted as damaged.
        connection.executescript(f"begin;{_TABLES}pragma user_version = {_FORMAT};commit;")
    elif found != _FORMAT:
        raise sqlite3.DatabaseError("another format")
