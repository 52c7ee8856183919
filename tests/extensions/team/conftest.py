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
def each_store(request):
    """The kinds of store that a test runs on, one after the other."""
    return request.param


def _make_address(kind, request, tmp_path):
    from store_build import new_database

    from runner.extensions.team.store_engine import find_address

    if kind == "sqlite":
        return find_address(tmp_path, str(tmp_path / "store.sqlite"))
    return new_database(request.getfixturevalue("postgres"))


@pytest.fixture
def address(each_store, request, tmp_path):
    """Where a store may be made that nobody else has."""
    return _make_address(each_store, request, tmp_path)


@pytest.fixture
def store(address):
    """An open store with the newest schema and nothing in it."""
    from store_build import a_store

    with a_store(address) as made:
        yield made


@pytest.fixture
def workers(request, tmp_path, alone):
    """A team that has a store, and no repository yet.

    The store is SQLite unless the test names `each_store`: what differs between the two is tested
    without workers (test_store, test_claim, test_queue).
    """
    from workers import Crew

    both = "each_store" in request.fixturenames
    kind = request.getfixturevalue("each_store") if both else "sqlite"
    made = Crew(tmp_path, _make_address(kind, request, tmp_path))
    try:
        yield made
    finally:
        made.close()
