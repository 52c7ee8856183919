"""The doorbell of the store: who waits for something new there is woken when somebody writes it.

PostgreSQL's NOTIFY comes with the commit of whoever rings. Of SQLite `data_version` is looked at,
which changes as soon as another connection has committed. It is only a hint: whoever waits looks
by themselves every few seconds, too.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

from sqlalchemy import text

from runner.errors import RunnerError

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from runner.extensions.team.store_engine import Store

BUILDS = "runner_builds"
"""Rung where a worker may find something to do, or to end."""
NEWS = "runner_news"
"""Rung where somebody who looks on may see something else; no worker wakes for it."""
_LOOK = 0.5
"""Seconds between two looks at a SQLite file."""
_AGAIN = 3.0
"""Seconds before a store that was away is listened to again."""


def ring(connection: Connection, channel: str = BUILDS) -> None:
    """Wake whoever waits, once this transaction is there; SQLite tells them by itself."""
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
                # It stays the same for what this connection commits itself, and counts what any
                # other did (sqlite.org, pragma data_version).
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
