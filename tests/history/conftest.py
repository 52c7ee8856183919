"""History is told in repositories of its own, at home nowhere else."""

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "stories"))  # the person and their repository
sys.path.insert(0, str(Path(__file__).parents[1]))  # invariants.py

pytest.register_assert_rewrite("workplace", "invariants")


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


@pytest.fixture
def shop(workplace):
    """Three tasks that were built: TASK-002 goes on with a file of TASK-001, TASK-003 is alone."""
    from history_build import THREE

    workplace.plan(*THREE)
    ended = workplace.run()
    assert ended.code == 0, ended.said
    return workplace
