"""A Linux without /proc, as a bare chroot has it, is told with words."""

import os
import sys

import pytest

from runner.errors import RunnerError
from runner.process import platform


def test_linux_without_proc_is_told_and_is_no_bug(monkeypatch):
    there = os.path.exists
    monkeypatch.setattr(os.path, "exists", lambda path: path != "/proc/self/stat" and there(path))
    monkeypatch.setitem(sys.modules, "psutil", None)  # as where it is not installed
    monkeypatch.delitem(sys.modules, "runner.process.process_table", raising=False)
    monkeypatch.delattr("runner.process.process_table", raising=False)
    platform._elsewhere.cache_clear()
    try:
        with pytest.raises(RunnerError, match="/proc not found") as told:
            platform.process(1)
    finally:
        platform._elsewhere.cache_clear()
    assert told.value.hint.startswith("mount -t proc proc /proc")
