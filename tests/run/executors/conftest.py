"""A cluster of separate processes for each module, and a home folder for each test."""

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[2] / "stories"))


@pytest.fixture(autouse=True)
def alone(monkeypatch, tmp_path_factory):
    """A home folder that only this test has."""
    home = tmp_path_factory.mktemp("home")
    for name in tuple(os.environ):
        if name.startswith(("GIT_", "RUNNER_", "XDG_", "GITHUB_")) or name in ("CI", "EMAIL"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    for name in ("CONFIG", "CACHE", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(home / name.lower()))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(home / "gitconfig"))
    return home


@pytest.fixture
def workplace(tmp_path, alone):
    """A git repository of somebody called Ada, with nothing in it yet."""
    from workplace import Workplace

    return Workplace.begin(tmp_path / "shop", alone)


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
