"""What the system would not start says nothing of the work: tried again, then told as its fault."""

import errno
import os
import shutil

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


def test_a_machine_that_starts_nothing_is_no_failure_of_the_command(walled, monkeypatch):
    failing(monkeypatch, 99, errno.EROFS)
    with pytest.raises(RunnerError, match="this machine starts no command") as told:
        walled.run("echo ok")
    assert told.value.code is ExitCode.CONFLICT
    assert "run again" in told.value.hint


def test_a_scratch_tree_that_somebody_removed_is_told_as_such(bare):
    shutil.rmtree(bare.place.tree)
    with pytest.raises(RunnerError, match="the scratch tree is gone"):
        bare.run("echo ok")
