"""Copies of remotes that clones are made from: bounded, shared, and made anew where damaged."""

import fcntl
import os
import subprocess

import pytest

from runner.errors import RunnerError
from runner.repo.clone import CloneCache

WHO = ("Ada", "ada@example.org")


def a_remote(folder, name, size=1000):
    place = folder / f"{name}-work"
    subprocess.run(["git", "init", "-q", "-b", "main", place], check=True)
    (place / "file").write_bytes(os.urandom(size))
    told = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    subprocess.run(["git", "-C", place, "add", "-A"], check=True)
    subprocess.run(["git", "-C", place, *told, "commit", "-q", "-m", "one"], check=True)
    return str(place)


def test_a_clone_stands_on_its_own(tmp_path, alone):
    remote = a_remote(tmp_path, "shop")
    cache = CloneCache(tmp_path / "cache", 1 << 30)
    cache.clone(remote, "main", tmp_path / "a", WHO, os.environ)
    cache.place_of(remote).rename(tmp_path / "gone")
    done = subprocess.run(["git", "-C", tmp_path / "a", "fsck", "--full"], check=False)
    assert done.returncode == 0
    said = subprocess.run(
        ["git", "-C", tmp_path / "a", "config", "user.name"], capture_output=True, check=True
    )
    assert said.stdout == b"Ada\n"


def test_those_not_used_for_longest_go_and_what_is_in_use_stays(tmp_path, alone):
    cache = CloneCache(tmp_path / "cache", 1 << 30)
    remotes = [a_remote(tmp_path, name, 200_000) for name in ("one", "two", "three")]
    for number, remote in enumerate(remotes):
        cache.clone(remote, "main", tmp_path / f"c{number}", WHO, os.environ)
    places = [cache.place_of(remote) for remote in remotes]
    for number, place in enumerate(places):
        os.utime(place, (number, number))
    small = CloneCache(tmp_path / "cache", 450_000)
    with places[0].with_suffix(".lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        small.trim()
    assert [place.exists() for place in places] == [True, False, True]
    CloneCache(tmp_path / "cache", 1).trim()
    assert [place.exists() for place in places] == [False, False, True]


def test_a_remote_that_is_away_costs_no_copy(tmp_path, alone):
    remote = a_remote(tmp_path, "shop")
    cache = CloneCache(tmp_path / "cache", 1 << 30)
    cache.clone(remote, "main", tmp_path / "a", WHO, os.environ)
    (tmp_path / "shop-work").rename(tmp_path / "moved")
    with pytest.raises(RunnerError, match="does not answer"):
        cache.clone(remote, "main", tmp_path / "b", WHO, os.environ)
    assert cache.place_of(remote).is_dir()
    assert not (tmp_path / "b").exists()
    with pytest.raises(RunnerError):
        cache.clone(str(tmp_path / "moved"), "mian", tmp_path / "b", WHO, os.environ)
    assert not (tmp_path / "b").exists()
