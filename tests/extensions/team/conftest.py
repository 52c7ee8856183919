"""A real store for every test that asks: SQLite, and PostgreSQL where its server can be had."""

import os
import tempfile

import pytest
from store_build import a_server


@pytest.fixture(scope="session")
def postgres():
    """One server for the whole run, whatever a test's own environment is."""
    os.environ.setdefault("XDG_RUNTIME_DIR", tempfile.gettempdir())
    with a_server() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request, tmp_path):
    """Where a store may be made that nobody else has."""
    from store_build import new_database

    from runner.extensions.team.store_engine import find_address

    if request.param == "sqlite":
        return find_address(tmp_path, str(tmp_path / "store.sqlite"))
    return new_database(request.getfixturevalue("postgres"))


@pytest.fixture
def store(address):
    """An open store with the newest schema and nothing in it."""
    from store_build import a_store

    with a_store(address) as made:
        yield made


@pytest.fixture
def workers(address, tmp_path, alone):
    """A team that has a store, and no repository yet."""
    from workers import Crew

    made = Crew(tmp_path, address)
    try:
        yield made
    finally:
        made.close()
