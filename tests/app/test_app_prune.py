"""Old leftovers go, and nothing that evidence, an open task or a person needs."""

import os
import shutil
import time
from datetime import timedelta

import pytest
from built import build, copy, opened_at
from workplace import a_task

from runner.app.artifacts import prune_leftovers
from runner.app.artifacts.prune_leftovers import parse_age, prune
from runner.errors import ExitCode, RunnerError

OLD = time.time() - 100 * 86400


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """TASK-001 is DONE in its third attempt; TASK-002 is BLOCKED with a draft; both were tried."""
    return build(
        tmp_path_factory.mktemp("built"),
        a_task(
            "TASK-001",
            outputs=["a.txt"],
            command="echo $RUNNER_ATTEMPT > a.txt",
            tests=["sh -c 'echo tried; grep -q 3 a.txt'"],
            fields=["Budget: 5 attempts"],
        ),
    )


@pytest.fixture
def place(built, tmp_path, alone):
    place = copy(built, tmp_path / "shop", alone)
    blocked = a_task(
        "TASK-002", outputs=["b.txt"], command="echo $RUNNER_ATTEMPT > b.txt",
        tests=["sh -c 'echo tried; grep -q words b.txt'"], fields=["Budget: 2 attempts"],
    )  # fmt: skip
    place.commit({"TASK-GRAPH.md": place.read("TASK-GRAPH.md") + "\n" + blocked})
    ended = place.run("--no-sandbox")
    assert ended.code == ExitCode.FAILED, ended.said
    return place


def age(top):
    for at, folders, names in os.walk(top):
        for name in (*folders, *names):
            os.utime(f"{at}/{name}", (OLD, OLD), follow_symlinks=False)


def old(place):
    """Everything there is was made long ago."""
    age(place.root / "artifacts")
    age(place.home)
    return place


def pruned(place, days=90, **flags):
    told = []
    done = prune(opened_at(place), timedelta(days=days), told.extend, **flags)
    return done, told


def logs(place):
    top = place.root / "artifacts/build/logs"
    return sorted(f"{path.parent.name}/{path.name}" for path in top.glob("TASK-*/*"))


def test_logs_of_earlier_attempts_go_and_those_of_evidence_and_open_tasks_stay(place):
    assert logs(place) == ["TASK-001/1", "TASK-001/2", "TASK-001/3", "TASK-002/1", "TASK-002/2"]
    done, told = pruned(old(place))
    assert [one.name for one in told if one.kind == "logs"] == [
        "artifacts/build/logs/TASK-001/1",
        "artifacts/build/logs/TASK-001/2",
    ]
    assert logs(place) == ["TASK-001/3", "TASK-002/1", "TASK-002/2"]
    assert done.bytes > 0
    (event,) = place.happened("pruned")
    assert (event["logs"], event["bytes"]) == (2, done.bytes)
    evidence = place.runner("evidence", "1")
    assert evidence.code == 0
    assert place.run("--no-sandbox").code == ExitCode.FAILED


def test_a_dry_run_tells_the_same_and_takes_nothing(place):
    before = old(place).everything()
    done, told = pruned(place, dry_run=True)
    assert [one.kind for one in told].count("logs") == 2
    assert (done.gone, place.happened("pruned")) == ([], [])
    gone = {path for path in before if not os.path.lexists(path)}
    assert gone == set()


def test_what_is_young_stays(place):
    done, told = pruned(place)
    assert (told, done.gone) == ([], [])


def make_old_draft(place, task, branch):
    """A draft as the runner makes one, long ago."""
    at = {"GIT_AUTHOR_DATE": f"{int(OLD)} +0000", "GIT_COMMITTER_DATE": f"{int(OLD)} +0000"}
    commit = place.git("commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", branch, **at)
    place.git("update-ref", f"refs/heads/{branch}", commit)
    place.git("update-ref", f"refs/runner/drafts/{task}/{branch}", commit)
    return commit


def test_drafts_that_are_merged_or_whose_task_is_over_go_and_others_stay(place):
    make_old_draft(place, "TASK-001", "draft/TASK-001-over")
    make_old_draft(place, "TASK-009", "draft/TASK-009-not-planned")
    make_old_draft(place, "TASK-002", "draft/TASK-002-open")
    mine = make_old_draft(place, "TASK-001", "draft/TASK-001-mine")
    own = place.git("commit-tree", "HEAD^{tree}", "-p", mine, "-m", "mine")
    place.git("update-ref", "refs/heads/draft/TASK-001-mine", own)
    make_old_draft(place, "TASK-001", "draft/TASK-001-there")
    place.git("worktree", "add", "-q", "../there", "draft/TASK-001-there")
    merged = make_old_draft(place, "TASK-002", "draft/TASK-002-merged")
    place.git("merge", "-q", "--no-ff", "-m", "take it", merged)
    before = set(place.branches)
    pruned(place)
    gone = {"draft/TASK-001-over", "draft/TASK-009-not-planned", "draft/TASK-002-merged"}
    assert before - set(place.branches) == gone
    (event,) = place.happened("pruned")
    assert set(event["drafts"]) == gone


def test_slots_that_nobody_holds_go_and_a_held_one_stays(place):
    from runner.repo.scratch import Pool

    old(place)
    project = opened_at(place)
    folders = [path for path in (project.cache / "slots").iterdir() if path.is_dir()]
    assert folders
    with Pool(project.cache).take() as held:
        for path in (held.folder, *folders):
            os.utime(path, (OLD, OLD))
        done, _ = pruned(place)
        assert held.folder.is_dir()
        assert done.count("slot") == len(folders) - 1
    again, _ = pruned(place)
    assert again.count("slot") == 1
    assert place.run("TASK-002", "--no-sandbox").code == ExitCode.FAILED  # a slot is made anew


def test_what_workers_kept_long_ago_goes(place):
    cluster = opened_at(place).places.cache / "cluster"
    for name in ("of-old", "of-now"):
        (cluster / name / "objects-sha1.git/whole").mkdir(parents=True)
    age(cluster / "of-old")
    os.utime(cluster / "of-old", (OLD, OLD))
    done, _ = pruned(place)
    assert done.count("packs") == 1
    assert [path.name for path in cluster.iterdir()] == ["of-now"]


class Entries:
    """What `os.scandir` gives, read to its end before anybody looks at it."""

    def __init__(self, entries):
        self._entries = iter(entries)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def __iter__(self):
        return self

    def __next__(self):
        return next(self._entries)


def test_what_a_worker_takes_away_meanwhile_harms_nobody_and_stays(place, monkeypatch):
    cluster = opened_at(place).places.cache / "cluster"
    for name in ("at-work", "gone", "of-old"):
        (cluster / name / "whole").mkdir(parents=True)
        (cluster / name / "whole/tree").write_text("")
    age(cluster)
    scandir = os.scandir

    def swept_first(folder):
        if not str(folder).startswith(f"{cluster}/"):
            return scandir(folder)
        with scandir(folder) as entries:
            found = list(entries)
        if str(folder) == str(cluster / "at-work/whole"):
            (cluster / "at-work/whole/tree").unlink(missing_ok=True)
        if str(folder) == str(cluster / "gone"):
            shutil.rmtree(cluster / "gone")
        return Entries(found)

    monkeypatch.setattr(prune_leftovers.os, "scandir", swept_first)
    done, _ = pruned(place)
    monkeypatch.undo()
    assert done.count("packs") == 1
    assert [path.name for path in cluster.iterdir()] == ["at-work"]


def test_logs_that_are_still_to_be_stored_stay(place, tmp_path):
    old(place)
    project = opened_at(place, artifacts_store=str(tmp_path / "kept"))
    from runner.app.artifacts.artifact_export import export_artifacts, read_cursor

    assert read_cursor(project).waiting
    export_artifacts(project, lambda _line: None)
    done = prune(project, timedelta(days=90), lambda _found: None)
    assert done.count("logs") == 2


def test_a_link_in_the_place_of_logs_is_not_followed(place, tmp_path):
    shutil.copytree(place.root / "artifacts/build/logs/TASK-001", tmp_path / "mine")
    age(tmp_path / "mine")
    shutil.rmtree(place.root / "artifacts/build/logs/TASK-001")
    (place.root / "artifacts/build/logs/TASK-001").symlink_to(tmp_path / "mine")
    with pytest.raises(RunnerError, match="symbolic link"):
        pruned(old(place))
    assert (tmp_path / "mine/1").is_dir()


def test_nothing_goes_while_a_run_goes_on(place):
    from runner.journal.lock import RunLock

    with RunLock(place.root / "artifacts/build"), pytest.raises(RunnerError) as caught:
        pruned(old(place))
    assert caught.value.code == ExitCode.CONFLICT
    assert "TASK-001/1" in logs(place)


@pytest.mark.parametrize("text", ["", "90", "0d", "-1d", "90 months", "ninety", "d"])
def test_what_is_no_age_is_refused_with_words(text):
    with pytest.raises(RunnerError, match="not a valid age") as caught:
        parse_age(text)
    assert "90d" in caught.value.hint


def test_the_command_tells_before_and_counts_after(place):
    old(place)
    dry = place.runner("prune", "--older-than", "90d", "--dry-run")
    assert "would be removed; nothing was changed" in dry.out
    assert "logs: artifacts/build/logs/TASK-001/1" in dry.err
    ended = place.runner("prune", "--older-than", "90d")
    assert "removed, " in ended.out
    said = place.runner("prune", "--older-than", "90d", "--json").document
    assert (said["kind"], said["found"], said["bytes"]) == ("prune", [], 0)
    assert place.runner("prune", "--older-than", "soon").code == ExitCode.USAGE
