"""What the system refuses is told apart: what a person sets right, and what the machine failed."""

import errno
import os
import subprocess

import pytest

from runner import effects
from runner.errors import ExitCode, refusal_of


def refused(code):
    return refusal_of(OSError(code, os.strerror(code), "/somewhere/a.txt"))


@pytest.mark.parametrize(
    "code",
    [errno.EMFILE, errno.ENOMEM, errno.EAGAIN, errno.EIO, errno.ENOENT],
)
def test_where_the_machine_failed_it_is_as_where_it_starts_no_command(code):
    error = refused(code)
    assert error.code is ExitCode.CONFLICT
    assert "run again" in error.hint
    assert error.where == "/somewhere/a.txt"


@pytest.mark.parametrize(
    "code",
    [errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR],
)
def test_what_a_person_has_to_set_right_is_a_matter_of_use(code):
    assert refused(code).code is ExitCode.USAGE


@pytest.mark.parametrize("code", [errno.EINVAL, errno.EBADF])
def test_what_nobody_should_have_asked_for_is_a_bug(code):
    assert refused(code) is None


@pytest.fixture
def full(tmp_path):
    """A folder on a disk without room."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "t", disk], check=False
    ).returncode:
        pytest.skip("only who may mount has a disk to fill")
    (disk / "filler").write_bytes(bytes(64 << 10))
    yield disk
    subprocess.run(["umount", "-l", disk], check=True)


def test_a_full_disk_is_told_with_the_file_and_the_file_system(full):
    with pytest.raises(OSError, match="No space left") as met:
        effects.write_file(full / "a.txt", b"x")
    told = refusal_of(met.value)
    assert told.message == "the disk is full"
    assert told.code is ExitCode.USAGE
    assert told.where == str(full / "a.txt")
    assert told.hint == f"free some space on the file system at {full} and run again"


def test_a_full_disk_of_which_the_error_names_no_file_is_found(full, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(full))
    told = refusal_of(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
    assert told.where == str(full)
    assert told.hint == f"free some space on the file system at {full} and run again"
