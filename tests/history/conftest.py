"""History is told in repositories of its own, at home nowhere else."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))  # invariants.py

pytest.register_assert_rewrite("invariants")


@pytest.fixture(autouse=True)
def at_home(alone):
    """Every test of this room has a home folder of its own."""


@pytest.fixture
def shop(workplace):
    """Three tasks that were built: TASK-002 goes on with a file of TASK-001, TASK-003 is alone."""
    from history_build import THREE

    workplace.plan(*THREE)
    ended = workplace.run()
    assert ended.code == 0, ended.said
    return workplace
