"""A temporary folder of a process that was killed is taken away by the next one; no other is."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from runner.config.temporary_folders import TemporaryFolder, remove_abandoned_folders

_LONG_AGO = time.time() - 7200
_HOLDS = (
    "import os, sys, time; from runner.config.temporary_folders import TemporaryFolder;"
    "held = TemporaryFolder('remote'); os.makedirs(held.name + '/a/b');"
    "open(held.name + '/a/b/c', 'w').close(); print(held.name, flush=True); time.sleep(60)"
)


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path


@pytest.fixture
def holder():
    """Another process that works in such a folder, and the folder."""
    with subprocess.Popen([sys.executable, "-c", _HOLDS], stdout=subprocess.PIPE) as process:
        yield process, Path(process.stdout.readline().decode().strip())
        process.kill()


def age(folder):
    os.utime(folder, (_LONG_AGO, _LONG_AGO))


def test_it_goes_with_whoever_made_it():
    with TemporaryFolder("clone") as name:
        assert Path(name).name.startswith("runner-clone-")
        assert Path(name).is_dir()
    assert not Path(name).exists()


def test_what_a_killed_process_left_goes_with_the_next_folder(holder):
    process, folder = holder
    age(folder)
    with TemporaryFolder("dask"):
        assert (folder / "a/b/c").is_file()  # somebody works in it
    process.send_signal(signal.SIGKILL)
    process.wait(10)
    age(folder)
    with TemporaryFolder("push"):
        assert not folder.exists()


def test_one_that_was_only_just_left_stays_for_a_while(holder):
    process, folder = holder
    process.kill()
    process.wait(10)
    remove_abandoned_folders()
    assert folder.is_dir()


def test_nothing_of_anybody_else_is_taken_away(place):
    kept = [place / "runner-demo-abcdefgh", place / "runner-edit-abcdefgh", place / "runner-remote"]
    for one in (*kept, place / "elsewhere"):
        one.mkdir()
        age(one)
    link = place / "runner-remote-abcdefgh"
    link.symlink_to(place / "elsewhere")
    remove_abandoned_folders()
    assert all(one.is_dir() for one in (*kept, link))
