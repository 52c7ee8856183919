import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from runner.config.paths import Places, expand_home
from runner.config.temporary_folders import TemporaryFolder, remove_abandoned_folders


def test_folders_are_those_of_the_xdg_specification():
    places = Places.of({"HOME": "/home/ann"})
    assert places.settings_file == Path("/home/ann/.config/runner/runner.toml")
    assert places.cache == Path("/home/ann/.cache/runner")
    assert places.state == Path("/home/ann/.local/state/runner")


def test_xdg_variables_are_honoured_and_relative_ones_ignored():
    places = Places.of({"HOME": "/home/ann", "XDG_CACHE_HOME": "/c", "XDG_STATE_HOME": "state"})
    assert places.cache == Path("/c/runner")
    assert places.state == Path("/home/ann/.local/state/runner")


def test_a_repository_has_one_folder_however_it_is_reached(tmp_path):
    real, other = tmp_path / "my repo", tmp_path / "other"
    real.mkdir()
    other.mkdir()
    (tmp_path / "link").symlink_to(real)
    places = Places.of({"HOME": "/home/ann"})
    assert places.repository_cache(tmp_path / "link") == places.repository_cache(real)
    assert places.repository_cache(real) != places.repository_cache(other)
    assert places.repository_cache(real).name.startswith("my-repo-")


def test_a_home_that_nobody_has_is_a_name_like_any_other(monkeypatch):
    monkeypatch.setenv("HOME", "/home/ada")
    assert expand_home("~/data") == Path("/home/ada/data")
    assert expand_home("~nobody-is-called-so/data") == Path("~nobody-is-called-so/data")


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
