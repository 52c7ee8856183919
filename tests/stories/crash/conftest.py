"""Crash stories happen in a house of their own: on a memory disk where there is one."""

import os
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))  # invariants.py, for every kind of test

pytest.register_assert_rewrite("invariants", "crash_house")

_MEMORY = Path("/dev/shm")


@pytest.fixture(scope="session")
def ground(tmp_path_factory):
    """A folder for many short-lived repositories; fsync costs nothing there."""
    if not os.access(_MEMORY, os.W_OK):
        yield tmp_path_factory.mktemp("crash")
        return
    folder = Path(tempfile.mkdtemp(prefix="crash-", dir=_MEMORY))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def small(ground):
    """The small graph: two tasks, what it comes to, and how many effects that takes."""
    from crash_house import SMALL, Story

    return Story.told(ground / "small", SMALL)


@pytest.fixture(scope="session")
def whole(ground):
    """The graph with every kind of task, what it comes to, and how many effects that takes."""
    from crash_house import WHOLE, Story

    return Story.told(ground / "whole", WHOLE)
