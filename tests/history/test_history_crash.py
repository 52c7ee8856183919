"""Undo, replay, change and early cut-off, stopped before their effects: once, or not at all."""

import os
import shutil
import tempfile
from pathlib import Path

import invariants
import pytest
from cutoff_build import COMMENTED, FILES, PROVEN, changed, modes, tasks
from history_build import THREE, copied, tree
from history_crash import effects_of, stopped_at
from workplace import Workplace

EVERY = int(os.environ.get("HISTORY_CRASH_EVERY", "19"))
"""The suite takes one effect in so many; 1 takes all."""
_MEMORY = Path("/dev/shm")
COMMANDS = {
    "undo": ("undo", "TASK-003", "--yes"),
    "replay": ("replay", "TASK-001", "--yes"),
    "change": ("change", "TASK-002", "in UTC", "--yes"),
}


@pytest.fixture
def ground(tmp_path):
    if not os.access(_MEMORY, os.W_OK):
        yield tmp_path
        return
    folder = Path(tempfile.mkdtemp(prefix="history-", dir=_MEMORY))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def start(ground, alone):
    place = Workplace.begin(ground / "start", alone)
    place.plan(*THREE)
    assert place.run().code == 0
    return place


@pytest.fixture
def written(start):
    """The same with a command that a person wrote into the plan."""
    text = start.read("TASK-GRAPH.md")
    start.write({"TASK-GRAPH.md": text.replace("\n## TASK-003", "\n!change in UTC\n\n## TASK-003")})
    start.commit()
    return start


def settle(place):
    """A run that is about nothing: it puts right what a crash left, and keeps the books."""
    ended = place.run("TASK-001")
    assert ended.code in (0, 3), ended.said


def undone_once(place):
    assert not place.has("c.txt")
    assert place.statuses["TASK-003"] == "PENDING"
    assert place.git("log", "--format=%(trailers:key=Undoes,valueonly)").split() == ["TASK-003"]


def back_once(place):
    assert tree(place).keys() == {"a.txt"}
    assert list(place.statuses.values()) == ["DONE", "PENDING", "PENDING"]
    assert place.git("log", "--format=%(trailers:key=Restores,valueonly)").split() == ["TASK-001"]
    assert len(place.git("for-each-ref", "refs/runner/replay").splitlines()) == 1


def changed_once(place):
    assert place.read("artifacts/build/CHANGES.md").count("## CHANGE-") == 1
    assert place.read("TASK-GRAPH.md").count("> CHANGE-001 (") == 1
    assert place.git("show", "HEAD:TASK-GRAPH.md").count("> CHANGE-001 (") == 1
    assert "CHANGE-001" in place.git("show", "HEAD:artifacts/build/CHANGES.md")
    assert list(place.statuses.values()) == ["DONE", "STALE", "STALE"]
    assert len(place.happened("change.recorded")) == 1
    assert len(place.happened("task.staled")) == 2


HAPPENED = {
    "undo": lambda place: bool(place.git("log", "--format=%(trailers:key=Undoes)").strip()),
    "replay": lambda place: bool(place.git("log", "--format=%(trailers:key=Restores)").strip()),
    "change": lambda place: bool(place.happened("change.recorded")),
}
ONCE = {"undo": undone_once, "replay": back_once, "change": changed_once}


@pytest.mark.nightly(
    sibling="tests/history/test_history_crash.py::test_finishing_twice_is_finishing_once"
)
@pytest.mark.parametrize("shard", range(2))
@pytest.mark.parametrize("name", COMMANDS)
def test_stopped_anywhere_it_has_happened_once_or_not_at_all(start, ground, name, shard):
    words = COMMANDS[name]
    seen = effects_of(copied(start, ground / "place"), words)
    for k in range(1 + shard * EVERY, len(seen) + 1, EVERY * 2):
        place = copied(start, ground / "place")
        if not stopped_at(place, words, k):
            break
        settle(place)
        if not HAPPENED[name](place):
            assert tree(place) == tree(start), f"effect {k}: {seen[k - 1]}"
            again = place.runner(*words)
            assert again.code == 0, f"effect {k}: {seen[k - 1]}\n{again.said}"
        ONCE[name](place)
        assert place.dirt == [], f"effect {k}: {seen[k - 1]}"
        invariants.every_prefix_of_the_journal_replays(place.root)
        invariants.what_is_done_has_its_commit(place.root)
        invariants.git_finds_nothing_wrong(place.root)


def test_a_line_of_the_plan_is_taken_once_wherever_the_run_is_stopped(written, ground):
    words = ("run", "--trust", "TASK-001")
    for k in range(1, 400, EVERY):
        place = copied(written, ground / "place")
        if not stopped_at(place, words, k):
            break
        settle(place)
        changed_once(place)
        assert place.dirt == [], f"effect {k}"
        invariants.every_prefix_of_the_journal_replays(place.root)


def test_finishing_twice_is_finishing_once(start, ground):
    words = COMMANDS["replay"]
    seen = effects_of(copied(start, ground / "place"), words)
    index = ("replace", str(ground / "place/.git/index"))
    after = seen.index(index) + 1
    place = copied(start, ground / "place")
    assert stopped_at(place, words, after)
    assert stopped_at(place, ("run", "--trust", "TASK-001"), 20)
    settle(place)
    settle(place)
    back_once(place)
    assert len(place.happened("history.moved")) == 1


# --- `commit-by-task` over landings that wait -----------------------------------------


WORDS = ("commit-by-task",)


def test_it_goes_on_to_one_commit_a_task(workplace, tmp_path):
    workplace.write({"runner.toml": 'git.commit = "manual"\n'})
    workplace.plan(*THREE)
    assert workplace.run().code == 0
    effects = effects_of(copied(workplace, tmp_path / "place"), WORDS)
    for k in range(1, len(effects) + 1, EVERY):
        place = copied(workplace, tmp_path / "place")
        stopped_at(place, WORDS, k)
        where = f"effect {k}: {effects[k - 1]}"
        said = place.runner(*WORDS)
        assert said.code == 0, f"{where}\n{said.said}"
        assert place.landings == ["TASK-001", "TASK-002", "TASK-003"], where
        left = [line for line in place.dirt if not invariants.is_document(line[3:])]
        assert [line for line in left if "artifacts" not in line] == [], where
        refs = place.git("for-each-ref", "--format=%(objectname)", "refs/worktree", "refs/runner")
        assert set(refs.split()) <= {place.head}, where  # nothing waits above it
        again = place.run()
        assert again.code == 0, f"{where}\n{again.said}"
        assert set(place.statuses.values()) == {"DONE"}, where
        assert not place.happened("attempt.started")[3:], where


RUN = ("run", "--trust", "--no-sandbox", "--no-verify-at-end")


@pytest.fixture
def approved(workplace):
    workplace.write(FILES)
    workplace.plan(*tasks())
    assert workplace.run("--no-sandbox").code == 0
    changed(workplace, COMMENTED)
    return workplace


@pytest.mark.nightly(
    sibling="tests/run/test_run_early_cutoff.py::test_a_release_is_kept_until_it_is_done"
)
def test_stopped_anywhere_it_goes_on_and_nobody_implements_what_is_only_proven(approved, tmp_path):
    count, since = len(approved.events), len(approved.events)
    many = len(effects_of(copied(approved, tmp_path / "whole"), RUN))
    for share in (0.35, 0.5, 0.6, 0.7, 0.8):
        # By another path: what was laid out in the cache for the last one would be spared.
        place = copied(approved, tmp_path / f"stopped at {share}")
        assert len(place.events) == count
        assert stopped_at(place, RUN, int(many * share)), share
        ended = place.run("--no-sandbox")
        assert ended.code == 0, ended.said
        assert set(place.statuses.values()) == {"DONE"}
        assert {one for one in modes(place, since) if one[1] == "build"} == {PROVEN[0]}
