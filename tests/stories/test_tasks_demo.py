"""The example that comes with the runner: stopped, killed and begun again, it ends the same."""

import os
import random
import shutil
import signal
import time
from pathlib import Path

import pytest
from workplace import Workplace

EXAMPLE = Path(__file__).parents[2] / "examples" / "bookings"
OURS = ("TASK-GRAPH.md", "FILE_OWNERSHIP_MAP.md", "artifacts/build/CHECKPOINT.md")
"""Documents in which the order of a run can be seen."""


def a_copy(folder, home):
    shutil.copytree(EXAMPLE, folder)
    place = Workplace.begin(folder, home)
    place.commit(message="plan")
    return place


def tree(place):
    listed = place.git("ls-tree", "-r", "HEAD").splitlines()
    return {line for line in listed if line.split("\t")[1] not in OURS}


def is_whole(place):
    ids = [f"TASK-{n:03}" for n in range(1, 13)]
    assert place.statuses == dict.fromkeys(ids, "DONE")
    assert sorted(place.landings) == ids[:-1]  # the last one is a check
    assert place.dirt == []
    assert [branch for branch in place.branches if branch != "main"] == []


def finish(place):
    runs = place.start("run", "--trust", "-q")
    out, err = runs.communicate(timeout=600)
    assert runs.returncode == 0, (out, err)


@pytest.mark.nightly(
    sibling="tests/journal/test_journal_state.py::test_an_interrupted_attempt_counts_for_nothing_and_gives_the_status_back"
)
def test_the_example_stopped_midway_and_begun_again_is_the_same(tmp_path, alone):
    place = a_copy(tmp_path / "stopped", alone)
    runs = place.start("run", "--trust")
    for line in runs.stderr:
        if "TASK-003 DONE" in line:
            break
    runs.send_signal(signal.SIGTERM)
    out, err = runs.communicate(timeout=300)
    assert runs.returncode == 130, (out, err)
    assert "IN-PROGRESS" not in place.read("TASK-GRAPH.md")
    assert "- Status: DONE" in place.git("show", "HEAD:TASK-GRAPH.md")
    assert place.dirt == []
    landed = place.landings
    assert 0 < len(landed) < 11
    finish(place)
    is_whole(place)
    assert place.landings[: len(landed)] == landed
    assert place.read("README.md") == (EXAMPLE / "README.md").read_text()


@pytest.mark.skipif(not os.environ.get("CAMPAIGN_SECONDS"), reason="a part of the campaign")
@pytest.mark.parametrize("seed", range(6))
def test_campaign_the_example_killed_again_and_again_ends_in_the_same_tree(tmp_path, alone, seed):
    whole = a_copy(tmp_path / "whole", alone)
    finish(whole)
    is_whole(whole)
    place = a_copy(tmp_path / "killed", alone)
    chance = random.Random(seed)
    for _ in range(6):
        runs = place.start("run", "--trust", "-q")
        time.sleep(chance.uniform(0.1, 1.8))
        runs.kill()
        runs.communicate(timeout=300)
    finish(place)
    is_whole(place)
    assert tree(place) == tree(whole)
