"""A cluster of separate processes for each module, and a home folder for each test."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(autouse=True)
def at_home(alone):
    """Every test of this room has a home folder of its own."""


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory):
    """A scheduler that all tests of a module share; each brings its own workers."""
    pytest.importorskip("distributed")
    from yard import Scheduler

    started = Scheduler.start(tmp_path_factory.mktemp("scheduler"))
    yield started
    started.close()


@pytest.fixture(scope="module")
def healthy(scheduler, tmp_path_factory):
    """Two workers that nobody hurts, shared by a module: to start one takes a second."""
    from yard import Yard

    place = Yard(scheduler, tmp_path_factory.mktemp("healthy"))
    place.worker(wait=False)
    place.worker()
    yield place
    place.close()


@pytest.fixture
def yard(scheduler, tmp_path):
    """Where a test starts workers, which end with it."""
    from yard import Yard

    place = Yard(scheduler, tmp_path / "workers")
    yield place
    place.close()
