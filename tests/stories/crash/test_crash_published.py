"""A run that publishes, cut off before any effect: remote and clone come to the same end."""

import os
import random
import subprocess
from dataclasses import dataclass

import invariants
import pytest
from crash_house import SMALL, House
from crash_ways import STOPPED, stop_at, stop_before, stop_behind

SEED = int(os.environ.get("CRASH_SEED", "1"))
EVERY = int(os.environ.get("CRASH_PUBLISHED_EVERY", "128"))
"""One number in so many, of the effects from the first word with the remote to the last."""
SHARDS = 2
TALKS = 7
"""Taken, asked if it takes pushes, two landings, renewed at the end, the record, given back."""


@dataclass(frozen=True)
class Published(House):
    """A house whose branch is in a bare remote beside it."""

    @property
    def environment(self):
        told = {"RUNNER_GIT_PUBLISH": "origin", "LOGNAME": "ada"}
        return {**super().environment, **told}

    @classmethod
    def begun(cls, folder):
        house = cls(House.built(folder, SMALL).folder)
        house.git("init", "-q", "--bare", "-b", "main", "../remote.git")
        house.git("remote", "add", "origin", "../remote.git")
        house.git("push", "-q", "-u", "origin", "main")
        return house

    def copied(self, folder):
        return Published(super().copied(folder).folder)

    def at(self, ref):
        words = ["git", f"--git-dir={self.folder / 'remote.git'}", "rev-parse", "-q", "--verify"]
        done = subprocess.run([*words, ref], capture_output=True, text=True, check=False)
        return done.stdout.strip()


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """A house to begin in, and the effects of a run that nothing disturbs."""
    folder = tmp_path_factory.mktemp("published")
    start = Published.begun(folder / "start")
    place = start.copied(folder / "place")
    ended = place.run()
    assert ended.code == 0, ended.said
    talks = [n for n, (kind, _) in enumerate(ended.effects, 1) if kind == "push"]
    assert len(talks) == TALKS
    cuts = list(range(talks[0] - 3, len(ended.effects) + 1))
    return start, folder / "place", ended, cuts


def _talks(kind, _target):
    return kind == "push"


def goes_on(house, where):
    again = house.run()
    assert again.code == 0, f"{where}\n{again.said}"
    here = house.git("rev-parse", "HEAD").strip()
    assert house.at("main") == here, where
    assert not house.at("refs/runner/lease/main"), where
    assert house.git("status", "--porcelain").splitlines() == [], where
    assert sorted(one.task for one in house.landings()) == ["TASK-001", "TASK-002"], where
    invariants.nothing_landed_twice(house.repo)
    invariants.git_finds_nothing_wrong(house.repo)


@pytest.mark.parametrize("shard", range(SHARDS))
def test_a_run_cut_off_before_an_effect_goes_on_to_the_same_end(told, shard):
    start, place, ended, numbers = told
    first = random.Random(SEED).randrange(EVERY)
    for k in numbers[first + shard * EVERY :: EVERY * SHARDS]:
        house = start.copied(place)
        cut = house.run(watch=stop_at(k))
        # A cache that there was no time for is an effect less: the last number may never come.
        assert cut.code == STOPPED or (cut.code == 0 and len(cut.effects) < k), cut.said
        kind, target = ended.effects[k - 1]
        goes_on(house, f"effect {k}: {kind} {target}")


def test_a_lease_left_at_the_very_end_is_given_back_by_a_run_with_nothing_to_do(told):
    start, place, *_ = told
    for way in (stop_behind(_talks, TALKS - 1), stop_before(_talks, TALKS)):
        house = start.copied(place)
        assert house.run(watch=way).code == STOPPED
        assert house.at("refs/runner/lease/main")
        goes_on(house, way.__qualname__)


def test_a_run_with_nothing_to_do_needs_no_remote(told):
    start, place, *_ = told
    house = start.copied(place)
    assert house.run(watch=stop_before(_talks, TALKS)).code == STOPPED
    away = house.folder / "remote.git"
    away.rename(away.with_name("away.git"))
    again = house.run()
    assert again.code == 0
    assert "may still hold the lease of origin, which expires by itself" in again.said
    away.with_name("away.git").rename(away)
    goes_on(house, "the remote is back")


def test_what_arrived_in_the_remote_alone_comes_here(told):
    """Each landing and the record: the push was made, and the branch here is not moved yet."""
    start, place, _, _ = told
    for times in (1, 2, 3):
        house = start.copied(place)
        assert house.run(watch=stop_before(_moves_the_branch, times)).code == STOPPED
        assert house.at("main") != house.git("rev-parse", "HEAD").strip()
        goes_on(house, f"push {times}")


def _moves_the_branch(kind, target):
    return (kind, target) == ("ref", "refs/heads/main")
