"""What the system would not start says nothing of the work: tried again, then told as its fault."""

import errno
import os
import selectors
import shutil
import time
from pathlib import Path

import pytest

from runner.errors import ExitCode, RunnerError
from runner.process import child
from runner.process.base import Ended


def failing(monkeypatch, times, error):
    """Let the first calls of memfd_create(2) fail, as the system would."""
    left, really = [times], os.memfd_create

    def create(name):
        if left[0]:
            left[0] -= 1
            raise OSError(error, os.strerror(error))
        return really(name)

    monkeypatch.setattr(child.os, "memfd_create", create)


@pytest.mark.parametrize("error", [errno.EROFS, errno.EAGAIN, errno.EMFILE])
def test_what_fails_once_is_tried_again(walled, monkeypatch, error):
    failing(monkeypatch, 2, error)
    ran = walled.run("echo ok")
    assert (ran.ended, ran.exit) == (Ended.EXITED, 0)


def test_what_was_started_and_cannot_be_heard_is_ended_before_it_starts_again(bare, monkeypatch):
    really, left = selectors.DefaultSelector, [1]

    def heard():
        if left and left.pop():
            time.sleep(0.2)  # so that it has begun
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return really()

    before = sum(1 for _ in Path("/proc/self/fd").iterdir())
    monkeypatch.setattr(child.selectors, "DefaultSelector", heard)
    assert bare.run("echo x >> began; sleep 0.5; echo x >> ended").passed
    time.sleep(0.5)
    assert (bare.place.tree / "began").read_text() == "x\nx\n"
    assert (bare.place.tree / "ended").read_text() == "x\n"
    assert sum(1 for _ in Path("/proc/self/fd").iterdir()) <= before


def test_a_machine_that_starts_nothing_is_no_failure_of_the_command(walled, monkeypatch):
    failing(monkeypatch, 99, errno.EROFS)
    with pytest.raises(RunnerError, match="this machine cannot start commands") as told:
        walled.run("echo ok")
    assert told.value.code is ExitCode.CONFLICT
    assert "run again" in told.value.hint


def test_a_scratch_tree_that_somebody_removed_is_told_as_such(bare):
    shutil.rmtree(bare.place.tree)
    with pytest.raises(RunnerError, match="the scratch tree is missing"):
        bare.run("echo ok")
