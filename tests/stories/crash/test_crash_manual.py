"""Work that nobody commits for the person: a run that is cut off goes on to the same tree."""

import os
import subprocess
import sys

import invariants
import pytest
from crash_house import WHOLE, House
from crash_ways import STOPPED, power_cut_at, stop_at

EVERY = int(os.environ.get("MANUAL_CRASH_EVERY", "97"))
"""The suite takes one effect in so many; 1 takes all."""
FILES = ("one.txt", "mine.txt", "staged.txt", "dirty.txt")


@pytest.fixture(scope="module")
def start(ground):
    """The graph with every kind of task, beside staged and unsaved work of the person's."""
    house = House.built(ground / "manual" / "start", WHOLE)
    (house.repo / "runner.toml").write_text('git.commit = "manual"\n')
    (house.repo / "dirty.txt").write_text("as it was\n")
    house.git("add", "-A")
    house.git("commit", "-q", "-m", "settings")
    (house.repo / "staged.txt").write_text("staged\n")
    (house.repo / "dirty.txt").write_text("unsaved\n")
    house.git("add", "staged.txt")
    return house


@pytest.fixture(scope="module")
def built(start, ground):
    """An undisturbed run."""
    house = start.copied(ground / "manual" / "end")
    ended = house.run("--allow-dirty")
    assert ended.code == 0, ended.said
    return house, ended


def commit_by_task(house):
    done = subprocess.run(
        [sys.executable, "-m", "runner", "commit-by-task"],
        cwd=house.repo,
        env=house.environment,
        capture_output=True,
        check=False,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def goes_on(house, start, end, where):
    """The next run ends like an undisturbed one; then the work can be committed, once a task."""
    ended = house.run("--allow-dirty")
    assert ended.code == 0, f"{where}\n{ended.said}"
    assert house.git("rev-parse", "HEAD") == start.git("rev-parse", "HEAD"), where
    assert house.git("ls-files", "-s") == start.git("ls-files", "-s"), where
    for path in FILES:
        assert house.read(path) == end.read(path), f"{where}: {path}"
    assert house.read("out.txt"), where
    assert not (house.repo / "deep/er/two.txt").exists(), where
    commit_by_task(house)
    assert sorted(one.task for one in house.landings()) == ["TASK-001", "TASK-002", "TASK-004"]
    left = house.git("status", "--porcelain").splitlines()
    ours = [line for line in left if not invariants.is_document(line[3:])]
    assert [line for line in ours if "artifacts" not in line] == [" M dirty.txt", "A  staged.txt"]
    invariants.git_finds_nothing_wrong(house.repo)
    again = house.run("--allow-dirty")
    assert again.code == 0, f"{where}\n{again.said}"
    invariants.nothing_landed_twice(house.repo)


@pytest.mark.nightly(
    sibling="tests/history/test_history_crash.py::test_finishing_twice_is_finishing_once"
)
@pytest.mark.parametrize("way", ["stop", "power"])
def test_a_run_that_is_cut_off_goes_on_to_the_same_tree(start, built, ground, way):
    end, undisturbed = built
    count = len(undisturbed.effects)
    for k in range(3 if way == "stop" else 11, count + 1, EVERY):
        house = start.copied(ground / "manual" / "place")
        watch = stop_at(k) if way == "stop" else power_cut_at(k, house.repo, torn=k % 41)
        assert house.run("--allow-dirty", watch=watch).code == STOPPED
        kind, target = undisturbed.effects[k - 1]
        goes_on(house, start, end, f"{way} at effect {k}: {kind} {target}")


def test_a_persons_commit_after_the_crash_is_carried_under_what_landed(start, built, ground):
    end, undisturbed = built
    for k in range(7, len(undisturbed.effects) + 1, EVERY):
        house = start.copied(ground / "manual" / "place")
        house.run("--allow-dirty", watch=stop_at(k))
        house.git("commit", "-q", "--no-verify", "-m", "mine", "staged.txt")
        ended = house.run("--allow-dirty")
        assert ended.code == 0, f"effect {k}\n{ended.said}"
        commit_by_task(house)
        assert sorted(one.task for one in house.landings()) == ["TASK-001", "TASK-002", "TASK-004"]
        assert house.git("show", "HEAD:one.txt").encode() == end.read("one.txt")
