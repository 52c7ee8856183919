"""A commit that is on no branch yet, and another git that deletes what nothing refers to."""

import os
import subprocess
import time
from pathlib import Path

import pytest
from repo_build import a_change, a_repository, git

from runner.repo.commit import commit_tree
from runner.repo.index_lock import is_pruning, is_there, wait_for_pruning
from runner.repo.read import Repository
from runner.run.landing.git_locks import move_branch


@pytest.fixture
def repo(tmp_path):
    a_repository(tmp_path, {"a": "1\n"})
    with Repository.open(tmp_path) as repository:
        yield repository


def collecting(repo, *words, seconds):
    """A process that is called as a `git gc` with these words, and says so where git does."""
    name = " ".join(("git", "gc", *words))
    process = subprocess.Popen(["bash", "-c", f"exec -a '{name}' sleep {seconds}"])
    while b"gc" not in Path(f"/proc/{process.pid}/cmdline").read_bytes():
        time.sleep(0.01)
    said = f"{process.pid} {os.uname().nodename}"
    (repo.folders.common / "gc.pid").write_text(said)
    return process


def test_a_branch_never_moves_to_what_was_collected(repo, tmp_path):
    before = git(tmp_path, "rev-parse", "HEAD")
    head = repo.head()
    made = commit_tree(repo, head.commit, (a_change("b", "2\n"),), "feat: b")
    assert is_there(repo, made.sha)
    git(tmp_path, "gc", "-q", "--prune=now")
    assert not is_there(repo, made.sha)
    assert not move_branch(repo, head, made.sha)
    assert git(tmp_path, "rev-parse", "HEAD") == before
    again = commit_tree(repo, head.commit, (a_change("b", "2\n"),), "feat: b")
    assert move_branch(repo, head, again.sha), "made again, all of it is there again"
    assert git(tmp_path, "fsck", "--strict") == ""


def test_while_one_deletes_nothing_moves(repo):
    head = repo.head()
    made = commit_tree(repo, head.commit, (a_change("b", "2\n"),), "feat: b")
    process = collecting(repo, "--prune=now", seconds=0.6)
    assert is_pruning(repo)
    assert move_branch(repo, head, made.sha)
    assert process.poll() is not None, "it was waited for"


def test_one_that_looked_before_the_branch_moved_has_it_go_back(repo, tmp_path, monkeypatch):
    before, head = git(tmp_path, "rev-parse", "HEAD"), repo.head()
    made = commit_tree(repo, head.commit, (a_change("b", "2\n"),), "feat: b")
    looks = iter((False, True))

    def wait(_repo):
        if took := next(looks):
            (repo.folders.objects / made.sha[:2] / made.sha[2:]).unlink()
        return took

    monkeypatch.setattr("runner.run.landing.git_locks.wait_for_pruning", wait)
    assert not move_branch(repo, head, made.sha)
    assert git(tmp_path, "rev-parse", "HEAD") == before


def test_one_that_spares_what_is_young_is_not_waited_for(repo, tmp_path):
    process = collecting(repo, "--auto", seconds=30)
    try:
        assert not wait_for_pruning(repo)
        git(tmp_path, "config", "gc.pruneExpire", "now")
        with Repository.open(tmp_path) as again:
            assert is_pruning(again)
    finally:
        process.kill()
        process.wait()
    assert not is_pruning(repo), "who made it is gone"


def test_one_of_another_person_is_one_too(repo, monkeypatch):
    def refuse(_number: int, _signal: int) -> None:
        raise PermissionError

    process = collecting(repo, "--prune=now", seconds=30)
    try:
        monkeypatch.setattr(os, "kill", refuse)  # root may signal everybody
        assert is_pruning(repo)
    finally:
        monkeypatch.undo()
        process.kill()
        process.wait()


@pytest.mark.parametrize("said", ["", "x", "1", "1 another-host", "0 here", f"{'9' * 20} here"])
def test_what_says_nothing_of_this_machine_is_no_collection(repo, said):
    (repo.folders.common / "gc.pid").write_text(said)
    assert not is_pruning(repo)
