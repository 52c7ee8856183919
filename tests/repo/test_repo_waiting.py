"""Landings that wait above HEAD: they are what HEAD says, and what they made is not dirty."""

import pytest
from repo_build import a_repository, commit_all, git, write

from runner.repo.head import WAITING_BASE, WAITING_TIP
from runner.repo.read import Repository
from runner.repo.repo_state import DirtyFile


@pytest.fixture
def waiting(tmp_path):
    """A repository in which a landing made `new`, changed `old` and deleted `gone`."""
    folder = a_repository(tmp_path, {"old": "1", "gone": "1", "mine": "1"})
    base = git(folder, "rev-parse", "HEAD")
    write(folder, {"new": "2", "old": "2"})
    (folder / "gone").unlink()
    tip = commit_all(folder, "landing")
    git(folder, "reset", "-q", base)
    git(folder, "update-ref", WAITING_TIP, tip)
    git(folder, "update-ref", WAITING_BASE, base)
    return folder, base, tip


def state_of(folder):
    with Repository.open(folder) as repo:
        return repo.state()


def test_head_is_the_last_of_them_and_its_ref_is_what_moves(waiting):
    folder, base, tip = waiting
    with Repository.open(folder) as repo:
        head, below = repo.head(), repo.find_head()
    assert (head.commit, head.beneath, head.ref, head.named) == (
        tip,
        base,
        WAITING_TIP,
        "refs/heads/main",
    )
    assert (below.commit, below.beneath, below.ref) == (base, None, "refs/heads/main")


def test_they_count_only_above_the_commit_that_they_stand_on(waiting):
    folder, _, _ = waiting
    git(folder, "commit", "-q", "--allow-empty", "-m", "another")
    with Repository.open(folder) as repo:
        assert repo.head() == repo.find_head()


def test_what_they_made_is_not_dirty(waiting):
    folder, _, _ = waiting
    assert git(folder, "status", "--porcelain").splitlines() == [" D gone", " M old", "?? new"]
    state = state_of(folder)
    assert (state.dirty, state.untracked) == ((), ())


def test_what_a_person_made_of_it_is_dirty_even_where_git_finds_nothing(waiting):
    folder, _, _ = waiting
    write(folder, {"mine": "2", "new": "3", "old": "1", "other": "x"})
    state = state_of(folder)
    changed = ("mine", "new", "old")
    assert state.dirty == tuple(DirtyFile(path, staged=False, unstaged=True) for path in changed)
    assert state.untracked == ("other",)


def test_staging_what_they_made_changes_nothing(waiting):
    folder, _, _ = waiting
    git(folder, "add", "-A")
    state = state_of(folder)
    assert (state.dirty, state.untracked) == ((), ())
