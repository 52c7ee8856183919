import subprocess
import sys

import pytest
from repo_build import a_repository, commit_all, git, write

from runner.repo.head import WAITING_BASE, WAITING_TIP
from runner.repo.read import Repository
from runner.repo.repo_state import DirtyFile
from runner.repo.scratch import Pool


def test_each_taken_slot_is_another_and_a_released_one_is_taken_again(tmp_path):
    pool = Pool(tmp_path)
    first, second = pool.take(), pool.take()
    assert (first.number, second.number) == (0, 1)
    assert first.folder == tmp_path / "slots/0"

    first.release()
    first.release()

    with pool.take() as again:
        assert again.number == 0
    with Pool(tmp_path).take() as other:
        assert other.number == 0


def test_a_pool_asks_no_slot_of_its_own_again(tmp_path, monkeypatch):
    pool = Pool(tmp_path)
    asked, lock = [], Pool._lock
    monkeypatch.setattr(
        Pool, "_lock", lambda self, number: asked.append(number) or lock(self, number)
    )
    held = [pool.take() for _ in range(20)]
    assert asked == list(range(20))
    held[7].release()
    assert pool.take().number == 7
    for slot in held:
        slot.release()


def test_another_process_never_gets_a_held_slot_and_a_dead_one_holds_none(tmp_path):
    code = (
        "import sys; from pathlib import Path; from runner.repo.scratch import Pool;"
        f"slot = Pool(Path({str(tmp_path)!r})).take(); print(slot.number, flush=True);"
        "sys.stdin.read()"
    )
    with Pool(tmp_path).take() as mine:
        other = subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert (mine.number, other.stdout.readline()) == (0, "1\n")
        other.kill()
        other.communicate()
        with Pool(tmp_path).take() as next_one:
            assert next_one.number == 1


def test_slots_are_private_to_their_user(tmp_path):
    with Pool(tmp_path).take() as slot:
        assert slot.folder.stat().st_mode & 0o077 == 0


# --- landings that wait above HEAD ----------------------------------------------------


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
