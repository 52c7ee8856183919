"""The store's database: SQLite for one machine, PostgreSQL for several.

The doorbell of the store: who waits for something new there is woken when somebody writes it.

PostgreSQL's NOTIFY comes with the commit of whoever rings. Of SQLite `data_version` is looked at,
which changes as soon as another connection has committed. It is only a hint: whoever waits looks
by themselves every few seconds, too.
"""

from __future__ import annotations

import os
import re
import threading
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from msgspec import Struct
from sqlalchemy import Float, event, inspect, literal_column, text

from runner import effects
from runner.config.paths import expand_home
from runner.errors import ExitCode, RunnerError
from runner.extensions.team.tables import REVISION, metadata
from runner.lazy_module import lazy_module
from runner.process.platform import file_system_of

if TYPE_CHECKING:
    import getpass
    import socket
    from collections.abc import Iterator, Mapping

    from sqlalchemy import ColumnElement, Connection, Engine
else:
    getpass = lazy_module("getpass")
    socket = lazy_module("socket")

_NETWORK = frozenset(
    {"nfs", "nfs4", "cifs", "smb2", "smb3", "smbfs", "afs", "ceph", "lustre", "gpfs", "beegfs"}
    | {"fuse.sshfs", "fuse.glusterfs", "fuse.s3fs", "fuse.rclone", "glusterfs", "ocfs2", "gfs2"}
)
"""File systems without locks across machines, on which SQLite would lose writes."""

# Up to the `@`, like SQLAlchemy: a base64 password contains slashes.
_PASSWORD = re.compile(r"(://[^:/@\s]*):[^@\s]*@")
_QUERY = re.compile(r"([?&](?:ssl)?password=)[^&\s]*", re.IGNORECASE)
_USER = re.compile(r"(://)[^:/@\s]*(?::[^@\s]*)?@")
_LOGIN = re.compile(r"[?&](?:ssl)?(?:password|user)=[^&\s]*", re.IGNORECASE)
_BUSY = 30.0
"""Seconds for which a writer waits for another."""
_CONNECT = 10
_IDLE = 30
"""Seconds after which PostgreSQL ends a transaction in which nobody says anything: a client that
was stopped, or cut off, would keep its rows locked."""
BUILDS = "runner_builds"
"""Channel notified when a worker may find something to do or to end."""
NEWS = "runner_news"
"""Channel notified when viewers may see a change; no worker wakes for it."""
_LOOK = 0.5
"""Seconds between two checks of a SQLite file."""
_AGAIN = 3.0
"""Seconds before listening to an unreachable store again."""


class StoreDownError(RunnerError):
    """The store did not answer: nothing was begun, and nothing that goes on is harmed."""


class UnfitValueError(RunnerError):
    """The store answers, and cannot keep what it was given: asking again changes nothing."""


def find_address(places_state: Path, given: str) -> str:
    """Return the store's URL; a path means SQLite, empty the default. Raises RunnerError.

    Raises RunnerError for another kind of server.
    """
    if not given:
        return f"sqlite:///{places_state / 'team' / 'store.sqlite'}"
    if "://" not in given:
        return f"sqlite:///{expand_home(given).absolute()}"
    kind, _, rest = given.partition("://")
    if kind in ("postgresql", "postgres", "postgresql+psycopg"):
        return f"postgresql+psycopg://{rest}"
    if kind == "sqlite" and rest.startswith("/"):
        return given
    raise RunnerError(
        f"unknown kind of store: {kind}",
        where=hide_password(given),
        hint="postgresql://USER@HOST/DATABASE, or a path for SQLite",
    )


def hide_password(address: str) -> str:
    """Return an address without its password and query."""
    shown = _PASSWORD.sub(r"\1:…@", address.replace("postgresql+psycopg", "postgresql"))
    return _QUERY.sub(r"\1…", shown)


def name_place(address: str) -> str:
    """Return the address of a store without user and password."""
    if address.startswith("sqlite:"):
        return address
    shown = _USER.sub(r"\1", address.replace("postgresql+psycopg", "postgresql"))
    return _LOGIN.sub("", shown).rstrip("?")


class Store(Struct, frozen=True):
    """An open store; any thread and process may have one of its own. `close` lets go of it."""

    engine: Engine
    address: str

    @property
    def is_sqlite(self) -> bool:
        """Whether it serves this machine alone."""
        return self.engine.dialect.name == "sqlite"

    @property
    def shown(self) -> str:
        """Its address, for people."""
        return hide_password(self.address)

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Open a serialized transaction for writing. Raises StoreDownError."""
        with self._convert_errors(), self.engine.begin() as connection:
            yield connection

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Open a transaction that reads one consistent snapshot. Raises StoreDownError."""
        # By default PostgreSQL gives each statement another snapshot (chapter 13.2.1, Read
        # Committed).
        options = {} if self.is_sqlite else {"isolation_level": "REPEATABLE READ"}
        with (
            self._convert_errors(),
            self.engine.connect().execution_options(reads=True, **options) as connection,
            connection.begin(),
        ):
            yield connection

    @contextmanager
    def hold(self) -> Iterator[Connection]:
        """Open a connection without a transaction for listening. Raises StoreDownError."""
        with (
            self._convert_errors(),
            self.engine.connect().execution_options(
                isolation_level="AUTOCOMMIT", holds=True
            ) as connection,
        ):
            yield connection

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    @contextmanager
    def _convert_errors(self) -> Iterator[None]:
        from sqlalchemy.exc import (
            DatabaseError,
            DataError,
            IntegrityError,
            InterfaceError,
            TimeoutError,  # noqa: A004 - of its pool: all connections are taken
        )

        try:
            yield
        except IntegrityError:
            raise
        except (DataError, UnicodeEncodeError, OverflowError) as error:
            raise UnfitValueError(
                "the store cannot save this: a text is not UTF-8, or a number is too large",
                where=self.shown,
                hint="change the text or the number",
                code=ExitCode.USAGE,
            ) from error
        except (DatabaseError, InterfaceError, TimeoutError) as error:
            lines = str(getattr(error, "orig", None) or error).strip().splitlines()
            raise StoreDownError(
                "the store does not answer",
                where=self.shown,
                detail=hide_password(lines[0] if lines else ""),
                hint="start the database or correct its address, then: runner team store check",
                code=ExitCode.USAGE,
            ) from error


def clock(store: Store) -> ColumnElement[float]:
    """Return an expression for the store's clock in seconds since 1970."""
    clock_sql = (
        # 2440587.5 is 1970-01-01 as a Julian day. Not now(), which is fixed at a transaction's
        # start (PostgreSQL, 9.9.5): a claim that waited for a lock would start in the past.
        "((julianday('now') - 2440587.5) * 86400.0)"
        if store.is_sqlite
        else "extract(epoch from clock_timestamp())::double precision"
    )
    return literal_column(clock_sql, Float())


def open_engine(address: str) -> Store:
    """Open the store at an address. Raises RunnerError if it cannot be used."""
    from sqlalchemy import create_engine

    if not address.startswith("sqlite:"):
        engine = create_engine(
            address,
            pool_pre_ping=True,
            connect_args={
                "connect_timeout": _CONNECT,
                # Otherwise a dropped connection is detected only after a quarter of an hour
                # (tcp(7), tcp_retries2).
                "tcp_user_timeout": 1000 * _CONNECT,
                "options": f"-c idle_in_transaction_session_timeout={_IDLE}s",
            },
        )
        return Store(engine, address)
    path = Path(address.removeprefix("sqlite:///"))
    require_local(path)
    engine = create_engine(address, connect_args={"timeout": _BUSY})
    _set_up_sqlite(engine)
    return Store(engine, address)


def require_local(path: Path) -> None:
    """Raise RunnerError for a path on a network file system, where SQLite may not be."""
    there = next(one for one in (path, *path.parents) if one.exists())
    # WAL needs memory shared by all its processes (sqlite.org/wal.html), and locks on network file
    # systems are often ineffective (sqlite.org/howtocorrupt.html, 2.1).
    kind = file_system_of(there)
    if kind in _NETWORK:
        raise RunnerError(
            f"an SQLite store cannot be on a network file system ({kind})",
            where=str(path),
            hint="use --store postgresql://USER@HOST/DATABASE, or a path on a local disk",
        )


def _set_up_sqlite(engine: Engine) -> None:
    def connected(raw: Any, _record: object) -> None:  # Any: the driver's own connection
        raw.isolation_level = None  # the driver begins nothing by itself
        for word in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
            raw.execute(f"PRAGMA {word}")

    def began(connection: Connection) -> None:
        options = connection.get_execution_options()
        # A reader that becomes a writer fails at once if another process wrote in between; waiting
        # does not help (sqlite.org/isolation.html): writers use BEGIN IMMEDIATE.
        if not options.get("holds"):
            connection.exec_driver_sql("BEGIN" if options.get("reads") else "BEGIN IMMEDIATE")

    event.listen(engine, "connect", connected)
    event.listen(engine, "begin", began)


def read_revision(store: Store) -> str:
    """Return the store's schema revision; empty without one. Raises StoreDownError."""
    with store.read() as connection:
        if not inspect(connection).has_table("alembic_version"):
            return ""
        return str(connection.execute(text("SELECT version_num FROM alembic_version")).scalar())


@contextmanager
def open_store(address: str) -> Iterator[Store]:
    """Open a store whose schema matches this runner. Raises RunnerError for any other."""
    path = address.removeprefix("sqlite:///")
    if path != address and not os.path.exists(path):  # noqa: PTH110 - text
        raise _make_missing(address)
    store = open_engine(address)
    try:
        found = read_revision(store)
        if not found:
            raise _make_missing(address)
        if found != REVISION:
            is_older = found < REVISION
            raise RunnerError(
                f"the store has schema {found}, but this runner needs {REVISION}",
                where=store.shown,
                hint="runner team store backup FILE, then runner team store init"
                if is_older
                else "update the runner (`pip install -U task-graph-runner`)",
            )
        yield store
    finally:
        store.close()


@contextmanager
def new_store(address: str) -> Iterator[Store]:
    """Open a store regardless of its content; the file of a SQLite store is created."""
    make_place(address)
    store = open_engine(address)
    try:
        yield store
    finally:
        store.close()


def _make_missing(address: str) -> RunnerError:
    return RunnerError(
        "the store does not exist yet", where=hide_password(address), hint="runner team store init"
    )


def make_place(address: str) -> None:
    """Create folder and file of a SQLite store with private permissions."""
    path = address.removeprefix("sqlite:///")
    if path != address:
        require_local(Path(path))
        effects.make_folder(Path(path).parent, mode=0o700)
        effects.step("open", path)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))


def list_tables() -> tuple[str, ...]:
    """Return the names of the tables, referenced ones first."""
    return tuple(table.name for table in metadata.sorted_tables)


def find_actor(environ: Mapping[str, str]) -> str:
    """Return the current user as `name@host`, as in leases."""
    try:
        name = environ.get("LOGNAME") or getpass.getuser()
    except (OSError, KeyError):
        name = "somebody"
    return f"{name}@{socket.gethostname()}"


def ring(connection: Connection, channel: str = BUILDS) -> None:
    """Notify the listeners of a channel on commit; SQLite needs no notification."""
    if connection.dialect.name == "postgresql":
        connection.execute(text(f"SELECT pg_notify('{channel}', '')"))


class Doorbell:
    """Sets `rung` when something new may be in the store, while entered; by a thread of its own."""

    def __init__(self, store: Store, rung: threading.Event, *channels: str) -> None:
        self._store = store
        self._rung = rung
        self._channels = channels or (BUILDS,)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._listen, name="doorbell", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(_AGAIN)

    def _listen(self) -> None:
        wait = self._wait_for_file if self._store.is_sqlite else self._wait_for_notice
        while not self._over.is_set():
            with suppress(RunnerError):
                wait()
            self._over.wait(_AGAIN)

    def _wait_for_file(self) -> None:
        with self._store.hold() as connection:
            seen = None
            while not self._over.wait(_LOOK):
                # Unchanged by this connection's own commits; any other connection's commit changes
                # it (sqlite.org, pragma data_version).
                version = connection.exec_driver_sql("PRAGMA data_version").scalar()
                if version != seen:
                    seen = version
                    self._rung.set()

    def _wait_for_notice(self) -> None:
        with self._store.hold() as connection:
            for channel in self._channels:
                connection.exec_driver_sql(f"LISTEN {channel}")
            driver: Any = connection.connection.driver_connection  # psycopg's own
            self._rung.set()  # what was written before the first word is heard is looked at, too
            while not self._over.is_set():
                for _ in driver.notifies(timeout=1.0, stop_after=1):
                    self._rung.set()
