"""Deliver events to receivers: each receiver has its own thread, and a cursor on disk.

One small SQLite file in the user's state folder has a cursor for each receiver and journal.
Full synchronisation keeps a moved cursor after a power cut. One process serves one receiver of one
source: the lock is flock(2), and goes with its process.

A cursor moves after the receiver's acknowledgement: a process that dies between the two sends the
last events once more, under the same keys. Unacknowledged events are retried, without end when
following, and delay only later events of the same receiver.

`Poster` sends one POST request after the other to one address, with limits of time and bytes. It
never follows a redirect: a person named the address. It uses only status and Retry-After of a
response, and ignores proxies and netrc of the environment.
"""

from __future__ import annotations

import contextlib
import os
import random
import socket
import sqlite3
import ssl
import threading
import time
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import TYPE_CHECKING, NamedTuple, Protocol
from urllib.parse import urlsplit

from msgspec import Struct

from runner import __version__, effects
from runner.errors import ExitCode, RunnerError
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from runner.extensions.telemetry.outbox import Outbox, Outgoing


MOST_BYTES = 512 << 10
"""Bytes of one message: a longer one is sent without its event's own fields."""
_FIRST, _LONGEST = 0.5, 300.0
_LONGEST_ASKED = 3600.0


class ReceiverDownError(Exception):
    """The receiver did not acknowledge: `acknowledged` of what it was sent, from the first on.

    Passed from a receiver to its delivery; never shown as an error of the runner.
    """

    def __init__(self, why: str, acknowledged: int = 0, wait: float = 0.0) -> None:
        super().__init__(why)
        self.why = why
        self.acknowledged = acknowledged
        self.wait = min(max(0.0, wait), _LONGEST_ASKED)
        """Seconds for which the receiver asked for no requests."""


class Receiver(Protocol):
    """One receiver."""

    name: str
    shown: str
    """Address in displayable form."""

    def send(self, messages: Sequence[Outgoing]) -> None:
        """Send messages in order and wait for each acknowledgement. Raises ReceiverDownError."""

    def close(self) -> None:
        """Close the connection."""


class ReceiverBackoff:
    """Pauses that double while a receiver is away, each a little different from the others'."""

    def __init__(self) -> None:
        self._tries = 0

    def pause(self, asked: float) -> float:
        """Return the seconds until the next attempt, at least those that the receiver requests."""
        spread = random.uniform(0.8, 1.2)  # noqa: S311 - so that many do not knock at once
        seconds = min(_LONGEST, _FIRST * 2.0 ** min(self._tries, 12)) * spread
        self._tries += 1
        return max(asked, seconds)

    def reset(self) -> None:
        """Reset the pause after a response."""
        self._tries = 0


_SECONDS = 10.0
_MOST_ANSWER = 64 << 10
_REDIRECTS = range(300, 400)
_ACCEPTED = range(200, 300)
_ASKS_TO_WAIT = (429, 503)


class Poster:
    """A connection that is kept while it works."""

    def __init__(self, url: str, seconds: float = _SECONDS) -> None:
        place = urlsplit(url)
        self._host, self._port = place.hostname or "", place.port
        self._path = (place.path or "/") + (f"?{place.query}" if place.query else "")
        self._is_tls = place.scheme == "https"
        self._seconds = seconds
        self._connection: HTTPConnection | None = None

    def post(self, body: bytes, headers: Mapping[str, str]) -> None:
        """Post a request. Raises ReceiverDownError unless a 2xx response comes in time."""
        try:
            status, wait = self._send_with_reconnect(body, headers)
        except (OSError, HTTPException, ValueError) as error:
            self.close()
            why = str(error) or type(error).__name__
            raise ReceiverDownError(f"no answer: {display(why)[:200]}") from error
        if status in _REDIRECTS:
            raise ReceiverDownError(f"redirect ({status}) not followed")
        if status not in _ACCEPTED:
            raise ReceiverDownError(f"answered with status {status}", wait=wait)

    def _send_with_reconnect(self, body: bytes, headers: Mapping[str, str]) -> tuple[int, float]:
        """Send a request, again on a new connection if the server had closed the idle one."""
        if self._connection is None:
            return self._ask(body, headers)
        began = time.monotonic()
        try:
            return self._ask(body, headers)
        except (ConnectionError, ssl.SSLEOFError):
            if time.monotonic() - began >= self._seconds:  # it was us who ended it
                raise
            self.close()
        return self._ask(body, headers)

    def _ask(self, body: bytes, headers: Mapping[str, str]) -> tuple[int, float]:
        connection = self._connection or self._connect()
        with self._deadline(connection):
            sent = {"User-Agent": f"task-graph-runner/{__version__}", **headers}
            connection.request("POST", self._path, body, sent)
            answer = connection.getresponse()
            rest = answer.read(_MOST_ANSWER)
        wait = _seconds(answer.getheader("Retry-After", ""))
        if len(rest) == _MOST_ANSWER or answer.will_close:
            self.close()  # what else it says is not ours to read
        return answer.status, wait if answer.status in _ASKS_TO_WAIT else 0.0

    def _connect(self) -> HTTPConnection:
        made: HTTPConnection
        if self._is_tls:
            context = ssl.create_default_context()
            made = HTTPSConnection(self._host, self._port, timeout=self._seconds, context=context)
        else:
            made = HTTPConnection(self._host, self._port, timeout=self._seconds)
        # Set here, so that the deadline has a socket to shut down; connecting uses the socket's own
        # timeout.
        made.connect()
        self._connection = made
        return made

    @contextlib.contextmanager
    def _deadline(self, connection: HTTPConnection) -> Iterator[None]:
        """Enforce a total timeout, since a socket's timeout applies to each read."""

        def cut() -> None:
            with contextlib.suppress(OSError, AttributeError):
                # A close in another thread does not wake a blocked read (close(2), multithreaded
                # processes); shutdown does.
                connection.sock.shutdown(socket.SHUT_RDWR)

        timer = threading.Timer(self._seconds, cut)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _seconds(value: str) -> float:
    # Only the form in seconds (RFC 9110, 10.2.3): a date depends on the other side's clock.
    return float(value) if value.isascii() and value.isdigit() and len(value) < 6 else 0.0  # noqa: PLR2004


_TABLES = """
CREATE TABLE IF NOT EXISTS cursors (
  door TEXT, journal TEXT, seq INTEGER, place INTEGER, time TEXT, PRIMARY KEY (door, journal)
);
CREATE TABLE IF NOT EXISTS faults (door TEXT PRIMARY KEY, fault TEXT, since TEXT, tries INTEGER)
"""
_BUSY = 30.0


@contextlib.contextmanager
def _convert_errors(path: Path) -> Iterator[None]:
    """Turn an error of the database, such as a full disk, into a RunnerError."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise RunnerError(
            f"the delivery cursors cannot be read or written: {error}",
            where=str(path),
            hint="check the free disk space; if the file is damaged, move it away: the runner then "
            "sends all events again, with the same IDs",
        ) from error


class ReceiverStatus(NamedTuple):
    """The state of one receiver: the acknowledged position, and the reason for a pause, if any."""

    door: str
    events: int
    last: str
    fault: str
    since: str
    tries: int


class CursorFile:
    """The cursors of one source; each thread has its own connection."""

    def __init__(self, path: Path) -> None:
        self.path = path
        effects.make_folder(path.parent, mode=0o700)
        effects.step("open", path)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
        with contextlib.closing(self._connect()) as connection, _convert_errors(self.path):
            connection.executescript(_TABLES)

    def _connect(self) -> sqlite3.Connection:
        with _convert_errors(self.path):
            connection = sqlite3.connect(self.path, timeout=_BUSY, isolation_level=None)
            connection.execute("PRAGMA journal_mode=WAL")
            # With NORMAL, WAL stays consistent but may lose its last commits in a power failure
            # (sqlite.org, pragma synchronous).
            connection.execute("PRAGMA synchronous=FULL")
            return connection

    @contextlib.contextmanager
    def door(self, name: str) -> Iterator[ReceiverCursors]:
        """Open the cursors of one receiver. Raises RunnerError if they are not accessible."""
        with contextlib.closing(self._connect()) as connection:
            yield ReceiverCursors(connection, name, self.path)

    def list_statuses(self) -> tuple[ReceiverStatus, ...]:
        """Return the status of each receiver that ever got an event or failed."""
        query = """
            SELECT door, sum(seq), max(time), max(fault), max(since), max(tries) FROM (
              SELECT door, seq, time, '' AS fault, '' AS since, 0 AS tries FROM cursors
              UNION ALL SELECT door, 0, '', fault, since, tries FROM faults)
            GROUP BY door ORDER BY door"""
        with contextlib.closing(self._connect()) as connection, _convert_errors(self.path):
            return tuple(ReceiverStatus(*row) for row in connection.execute(query))

    @contextlib.contextmanager
    def lock(self) -> Iterator[bool]:
        """Try to lock the cursors, and yield whether the lock was acquired."""
        with effects.try_lock(self.path.with_suffix(".lock")) as is_ours:
            yield is_ours


def take_over(old: Path, new: Path) -> Path:
    """Move cursors to their new path unless a process uses them, and return the path to use.

    Raises RunnerError where they cannot be read.
    """
    if old == new or new.exists() or not old.exists():
        return new
    with effects.try_lock(old.with_suffix(".lock")) as is_ours:
        if not is_ours:
            return old
        with contextlib.closing(sqlite3.connect(old, timeout=_BUSY)) as last, _convert_errors(old):
            # The last connection to close merges the log into the database and deletes it
            # (sqlite.org/wal.html, 2): one file remains to be moved.
            last.execute("SELECT count(*) FROM cursors").fetchone()
        effects.step("replace", new)
        with contextlib.suppress(FileNotFoundError):  # another process moved it just now
            os.replace(old, new)
        effects.unlink(old.with_suffix(".lock"))
    return new


def require_sole_process(*, is_ours: bool, where: Path) -> None:
    """Raise RunnerError where another process tells the same already."""
    if not is_ours:
        raise RunnerError(
            "another process already delivers these events",
            where=str(where),
            hint="to see its progress: runner team events --doors",
            code=ExitCode.CONFLICT,
        )


class ReceiverCursors:
    """The cursors of one receiver; they move only after it acknowledged."""

    def __init__(self, connection: sqlite3.Connection, door: str, path: Path) -> None:
        self._connection, self._door, self._path = connection, door, path
        query = "SELECT journal, seq, place FROM cursors WHERE door = ?"
        with _convert_errors(path):
            rows = connection.execute(query, (door,)).fetchall()
        self._known = {str(journal): (int(seq), int(place)) for journal, seq, place in rows}

    def place(self, journal: str) -> tuple[int, int]:
        """Return the last acknowledged event's number and the offset of the next one."""
        return self._known.get(journal, (0, 0))

    def move(self, message: Outgoing) -> None:
        """Save the cursor of an acknowledged message before returning.

        Raises RunnerError where it cannot be written: then it is sent once more.
        """
        effects.step("cursor", message.key)
        with _convert_errors(self._path):
            self._connection.execute(
                "INSERT INTO cursors VALUES (?, ?, ?, ?, ?) ON CONFLICT (door, journal) DO UPDATE"
                " SET seq = excluded.seq, place = excluded.place, time = excluded.time",
                (self._door, message.journal, message.seq, message.offset, effects.timestamp()),
            )
        self._known[message.journal] = (message.seq, message.offset)

    def note_fault(self, fault: str) -> None:
        """Record why the receiver gets nothing now; empty if it does."""
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


_AT_ONCE = 100
"""Messages between two moves of a cursor."""
POLL = 0.2


class Duty(Protocol):
    """The repeated work for one receiver."""

    name: str
    shown: str

    def go_on(self, cursors: ReceiverCursors) -> int:
        """Deliver new events and return their number. Raises ReceiverDownError and RunnerError."""

    def close(self) -> None:
        """Close all open resources."""


class ReceiverWork:
    """Events of an outbox to one door."""

    def __init__(self, door: Receiver, outbox: Outbox) -> None:
        self.name, self.shown = door.name, door.shown
        self._door, self._outbox = door, outbox

    def go_on(self, cursors: ReceiverCursors) -> int:
        """Deliver the events after the cursors in order, and return their number."""
        number = 0
        try:
            for some in _group(self._outbox.read(cursors)):
                self._send(some, cursors)
                number += len(some)
        except ReceiverDownError:
            self._outbox.look_again()
            raise
        return number

    def _send(self, some: Sequence[Outgoing], cursors: ReceiverCursors) -> None:
        try:
            self._door.send(some)
        except ReceiverDownError as away:
            if away.acknowledged:
                cursors.move(some[away.acknowledged - 1])
            raise
        cursors.move(some[-1])

    def close(self) -> None:
        """Close the door."""
        self._door.close()


def _group(messages: Iterable[Outgoing]) -> Iterator[list[Outgoing]]:
    """Yield groups of consecutive messages of one journal."""
    some: list[Outgoing] = []
    for message in messages:
        if some and (some[0].journal != message.journal or len(some) == _AT_ONCE):
            yield some
            some = []
        some.append(message)
    if some:
        yield some


class Patience(Struct, frozen=True):
    """When a delivery ends: see `deliver`."""

    stop: threading.Event
    is_over: Callable[[], bool]
    """Whether no more messages will come."""
    seconds: float
    """Seconds for retrying an unreachable receiver once no more messages will come."""


def deliver(
    works: Sequence[Duty], file: CursorFile, patience: Patience, tell: Callable[[str], None]
) -> tuple[str, ...]:
    """Send to every receiver, until nothing more is to come and all is sent, or patience ends.

    Gives the names of those that did not get all. `tell` hears when one falls silent and is back.
    """
    behind: list[str] = []
    threads = [
        threading.Thread(target=_serve, args=(work, file, patience, tell, behind), name=work.name)
        for work in works
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        # In slices: the kernel may deliver a signal to any thread, but only Python's main thread
        # handles it, once it runs (signal(7); CPython's `signal`, "Signals and threads").
        while thread.is_alive():
            thread.join(POLL)
    return tuple(sorted(behind))


def _serve(
    work: Duty, file: CursorFile, patience: Patience, tell: Callable[[str], None], behind: list[str]
) -> None:
    is_complete = False
    try:
        with file.door(work.name) as cursors:
            is_complete = _follow(work, cursors, patience, tell)
    except RunnerError as error:
        tell(f"{work.name}: {error.message}")
    finally:
        if not is_complete:  # whatever it was that ended this thread
            behind.append(work.name)
        work.close()


def _follow(
    work: Duty, cursors: ReceiverCursors, patience: Patience, tell: Callable[[str], None]
) -> bool:
    """Deliver until the end; return whether the receiver got everything."""
    backoff, fault, silent, is_known = ReceiverBackoff(), "", 0.0, False
    while True:
        is_over = patience.is_over()  # asked before: the next process sends what comes later
        try:
            work.go_on(cursors)
        except (ReceiverDownError, RunnerError) as error:
            why, asked = _reason(error)
            if why != fault:
                tell(f"{work.name} ({work.shown}): {why}")
            cursors.note_fault(why)
            fault, pause = why, backoff.pause(asked)
            silent += pause if is_over else 0.0
            if silent > patience.seconds or patience.stop.wait(pause):
                return False
            continue
        if fault:
            tell(f"{work.name} ({work.shown}) answers again")
        if fault or not is_known:  # what another process noted is over, too
            cursors.note_fault("")
        fault, silent, is_known = "", 0.0, True
        backoff.reset()
        if is_over:
            return True
        if patience.stop.wait(POLL):
            return True


def _reason(error: ReceiverDownError | RunnerError) -> tuple[str, float]:
    if isinstance(error, ReceiverDownError):
        return error.why, error.wait
    return error.message, 0.0
