"""What the system refuses is told apart: what a person sets right, and what the machine failed."""

import errno
import os

import pytest

from runner.errors import ExitCode, refusal_of


def refused(code):
    return refusal_of(OSError(code, os.strerror(code), "/somewhere/a.txt"))


@pytest.mark.parametrize(
    "code",
    [errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENOMEM, errno.EAGAIN, errno.EIO, errno.ENOENT],
)
def test_where_the_machine_failed_it_is_as_where_it_starts_no_command(code):
    error = refused(code)
    assert error.code is ExitCode.CONFLICT
    assert "run again" in error.hint
    assert error.where == "/somewhere/a.txt"


@pytest.mark.parametrize("code", [errno.EACCES, errno.EPERM, errno.EROFS])
def test_what_may_not_be_written_is_to_be_set_right(code):
    assert refused(code).code is ExitCode.USAGE


@pytest.mark.parametrize("code", [errno.EINVAL, errno.EBADF, errno.ENOTDIR])
def test_what_nobody_should_have_asked_for_is_a_bug(code):
    assert refused(code) is None
