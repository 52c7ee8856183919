import os
import subprocess
import time
from pathlib import Path

import pytest
from repo_build import a_change, a_repository, git

from runner.repo.commit import commit_tree
from runner.repo.index_lock import is_pruning, is_there, wait_for_pruning
from runner.repo.read import Repository
from runner.repo.refs import (
    branch_exists,
    draft,
    drop_ref,
    keep_ref,
    list_refs,
    own_name,
    read_ref,
    slug,
    sweep_drafts,
)
from runner.run.landing.git_locks import move_branch


def test_a_draft_is_a_branch_on_the_base(tmp_path):
    a_repository(tmp_path, {"a": "1"})
    with Repository.open(tmp_path) as repo:
        base = repo.head().commit
        branch = draft(
            repo, "TASK-003", "Booking model: v2!", base, (a_change("b"),), "did not pass"
        )

        assert branch == "draft/TASK-003-booking-model-v2"
        assert branch_exists(repo, branch)
        assert repo.blob(branch, "b") == b"new\n"
        assert repo.head().commit == base
    assert git(tmp_path, "rev-parse", f"{branch}^") == base
    assert git(tmp_path, "status", "--porcelain") == ""


def test_older_drafts_stay_and_equal_work_is_kept_once(tmp_path):
    a_repository(tmp_path, {"a": "1"})
    with Repository.open(tmp_path) as repo:
        base = repo.head().commit
        made = [
            draft(repo, "TASK-003", "x", base, (a_change("b", text),), "m")
            for text in ("one", "two", "one", "two", "three")
        ]
        contents = [repo.blob(name, "b") for name in made]

    assert made == ["draft/TASK-003-x", "draft/TASK-003-x-2"] * 2 + ["draft/TASK-003-x-3"]
    assert contents == [b"one", b"two", b"one", b"two", b"three"]


def test_a_draft_before_the_first_commit_is_a_root_commit(tmp_path):
    a_repository(tmp_path)
    with Repository.open(tmp_path) as repo:
        branch = draft(repo, "TASK-001", "x", None, (a_change("b"),), "m")
        assert draft(repo, "TASK-001", "x", None, (a_change("b"),), "m") == branch
        assert repo.head().commit is None


def test_a_branch_called_draft_is_in_nobodys_way(tmp_path):
    a_repository(tmp_path, {"a": "1"})
    git(tmp_path, "branch", "draft")
    with Repository.open(tmp_path) as repo:
        branch = draft(repo, "TASK-003", "x", repo.head().commit, (a_change("b"),), "m")

        assert branch == "draft-TASK-003-x"
        assert branch_exists(repo, branch)


def test_slugs_are_parts_of_branch_names(tmp_path):
    a_repository(tmp_path)
    for title in ("Héllo wörld", "...", "a..b~^:?*[\\", "@{x}", "x.lock", "-dash", "w " * 80):
        git(tmp_path, "check-ref-format", "--branch", f"draft/TASK-1-{slug(title)}")
    assert slug("☃") == "work"


def test_a_commit_is_kept_under_a_ref_of_our_own_and_let_go(tmp_path):
    a_repository(tmp_path, {"a": "1"})
    with Repository.open(tmp_path) as repo:
        commit = repo.head().commit
        keep_ref(repo, "run/1", commit)
        assert read_ref(repo, "run/1") == commit
        drop_ref(repo, "run/1")
        drop_ref(repo, "run/1")
        assert read_ref(repo, "run/1") is None
        assert not branch_exists(repo, "nothing")


@pytest.mark.parametrize("folder", ["", "packages/api"])
def test_drafts_that_git_packed_are_swept_like_any_other(tmp_path, folder):
    a_repository(tmp_path, {f"{folder}/a".lstrip("/"): "1"})
    with Repository.open(tmp_path / folder) as repo:
        base = repo.head().commit
        gone = draft(repo, "TASK-003", "x", base, (a_change("b"),), "m")
        git(tmp_path, "pack-refs", "--all")
        stays = draft(repo, "TASK-004", "y", base, (a_change("b"),), "m")
        refs = list_refs(repo, own_name(repo, "drafts"))
        assert refs == (f"TASK-003/{gone}", f"TASK-004/{stays}")
        (repo.folders.common / "refs/runner/x.lock").write_text("")
        sweep_drafts(repo, lambda task: task == "TASK-003")
        assert (branch_exists(repo, gone), branch_exists(repo, stays)) == (False, True)
        assert list_refs(repo, own_name(repo, "drafts")) == (f"TASK-004/{stays}",)
    assert "TASK-003" not in git(tmp_path, "for-each-ref")


def test_refs_are_listed_as_git_lists_them_however_it_keeps_them(tmp_path):
    a_repository(tmp_path, {"a": "1"})
    with Repository.open(tmp_path) as repo:
        for name in ("held/A", "held/A2/b", "held/Ä", "heldx/A"):
            keep_ref(repo, name, repo.head().commit)
        assert list_refs(repo, "held") == ("A", "A2/b", "Ä")
        git(tmp_path, "pack-refs", "--all")
        keep_ref(repo, "held/B", repo.head().commit)
        drop_ref(repo, "held/A")
        assert list_refs(repo, "held") == ("A2/b", "B", "Ä")
        assert list_refs(repo, "nothing") == ()


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
