"""A command that fails on a full disk says nothing of the work."""

import os
import subprocess

import pytest
from process_bench import Bench, a_place

from runner.errors import RunnerError
from runner.process.sandbox import NoSandbox


@pytest.fixture
def small(tmp_path):
    """A bench on a disk of two megabytes, and the disk."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "t", disk], check=False).returncode:
        pytest.skip("only who may mount has a disk to fill")
    yield Bench(a_place(disk), NoSandbox()), disk
    subprocess.run(["umount", "-l", disk], check=True)


def test_a_command_that_fills_the_disk_is_no_failed_check(small):
    context, _ = small
    with pytest.raises(RunnerError, match="the disk is full") as met:
        context.run("head -c 9000000 /dev/zero > big")
    assert "free some space" in met.value.hint


def test_one_that_tidied_up_behind_itself_is_none_either(small):
    context, _ = small
    with pytest.raises(RunnerError, match="the disk is full"):
        context.run("head -c 9000000 /dev/zero > big; rm big; exit 1")


def test_a_command_that_passes_on_a_full_disk_has_passed(small):
    context, disk = small
    left = os.statvfs(disk)
    (disk / "filler").write_bytes(bytes(left.f_bavail * left.f_frsize - 20_000))
    assert context.run("true").passed


def test_words_alone_are_not_believed_where_there_is_room(bare):
    ran = bare.run("echo 'No space left on device' >&2; exit 1")
    assert (ran.exit, ran.passed) == (1, False)
