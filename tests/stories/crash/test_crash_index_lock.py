"""The lock of git's index around a landing: no crash and no other git takes back a proven file."""

import subprocess
from itertools import cycle

import invariants
import pytest
from crash_house import House
from crash_ways import STOPPED, stop_at, stop_before

PROVEN = ("one.txt",)


def person_commits(house):
    """A person's `git commit -am`; whether git let them."""
    (house.repo / "mine.txt").write_text("mine, changed\n")
    done = subprocess.run(
        ["git", "commit", "-qam", "mine"],
        cwd=house.repo,
        env=house.environment,
        capture_output=True,
        check=False,
    )
    return done.returncode == 0


def landed_files(house):
    """The files of all tasks that landed, as the branch has them now."""
    return set(house.git("ls-tree", "-r", "--name-only", "HEAD").split()) & set(PROVEN)


def steps_of_landing(story):
    """The effects of the first landing, from the lock of the index to the index in its place."""
    opened, placed = story.before_moving("index"), story.moving("index")
    return range(opened[0], placed[0] + 2)


def test_after_a_kill_at_each_step_no_commit_of_a_person_takes_back_a_proven_file(small):
    refused = 0
    for k in steps_of_landing(small):
        house = small.begin()
        assert house.run(watch=stop_at(k)).code == STOPPED
        had = bool(house.landings())
        refused += not person_commits(house)
        assert not had or landed_files(house) == set(PROVEN), small.told_at(k)
        ended = house.run("--allow-dirty")
        assert ended.code == 0, f"{small.told_at(k)}\n{ended.said}"
        invariants.nothing_landed_twice(house.repo)
        invariants.git_finds_nothing_wrong(house.repo)
        assert sorted(one.task for one in house.landings()) == ["TASK-001", "TASK-002"]
        assert house.git("show", "HEAD:one.txt") == "one\ntwo\n", small.told_at(k)
    assert refused


def test_any_command_finishes_or_removes_the_lock_that_a_killed_run_left(small):
    seen, commands = set(), cycle(("status", "doctor", "validate"))
    for k in steps_of_landing(small):
        house = small.begin()
        house.run(watch=stop_at(k))
        lock = house.repo / ".git/index.lock"
        if not lock.exists():
            continue
        ended = house.runner(next(commands))
        had = bool(house.landings())
        seen.add(had)
        assert ("finished commit" if had else "removed the index.lock") in ended.said
        assert not lock.exists(), small.told_at(k)
        changed = house.git("status", "--porcelain", "--", *PROVEN)
        assert not changed, small.told_at(k)
        assert person_commits(house)
        assert not had or landed_files(house) == set(PROVEN), small.told_at(k)
    assert seen == {True, False}


@pytest.fixture
def cut_off(small):
    """A run that was killed when the branch had moved; the file and the index have not."""
    house = small.begin()
    house.run(watch=stop_at(small.moving("refs/heads/main")[0] + 1))
    assert house.landings()
    assert not (house.repo / "one.txt").exists()
    return house


def forget_second_name(house):
    for own in (house.repo / ".git/runner").glob("*-index@*"):
        own.unlink()


def test_a_lock_whose_second_name_is_lost_is_known_by_the_journal(cut_off):
    forget_second_name(cut_off)
    assert "finished commit" in cut_off.runner("status").said
    assert cut_off.read("one.txt") == b"one\n"
    assert cut_off.git("status", "--porcelain", "--", "one.txt") == ""


@pytest.mark.parametrize("other", ["new file", "new bytes"])
def test_a_lock_of_another_git_is_never_touched(cut_off, other):
    lock = cut_off.repo / ".git/index.lock"
    if other == "new file":
        lock.unlink()
        lock.write_bytes(b"git's")
    else:
        forget_second_name(cut_off)
        with lock.open("ab") as file:
            file.write(b"git's")
    before = (lock.stat().st_ino, lock.read_bytes())
    for command in ("status", "doctor"):
        ended = cut_off.runner(command)
        assert "index.lock" not in ended.said.replace(str(lock), "")
        assert (lock.stat().st_ino, lock.read_bytes()) == before
    ended = cut_off.run()
    assert ended.code == 6, ended.said
    assert f"nothing can land ({lock})" in ended.said
    assert (lock.stat().st_ino, lock.read_bytes()) == before
    lock.unlink()  # what the hint says
    ended = cut_off.run()
    assert ended.code == 0, ended.said


def test_a_lock_that_is_held_keeps_the_branch_where_it_is_and_the_work_lands_later(small):
    house = small.begin()
    before = house.git("rev-parse", "HEAD")
    lock = house.repo / ".git/index.lock"
    lock.touch()
    ended = house.run()
    assert ended.code == 6, ended.said
    assert f"nothing can land ({lock})" in ended.said
    assert house.git("rev-parse", "HEAD") == before
    assert not (house.repo / "one.txt").exists()
    lock.unlink()
    ended = house.run()
    assert ended.code == 0, ended.said
    assert "TASK-001 test only" in ended.said or "TASK-001 started" not in ended.said
    small.same_end(house, "after a lock")


class Linked(House):
    """The house's linked work tree."""

    @property
    def repo(self):
        return self.folder / "linked"


def test_a_linked_worktree_has_a_lock_of_its_own(small):
    house = small.begin()
    linked = Linked(house.folder)
    house.git("worktree", "add", "-q", "-b", "side", str(linked.repo))
    lock = house.repo / ".git/index.lock"
    lock.touch()
    placed = stop_before(lambda kind, target: kind == "replace" and target.endswith("/index"), 1)
    assert linked.run(watch=placed).code == STOPPED
    own = house.repo / ".git/worktrees/linked/index.lock"
    assert own.exists()
    assert "finished commit" in linked.runner("status").said
    assert not own.exists()
    assert linked.read("one.txt") == b"one\n"
    ended = linked.run()
    assert ended.code == 0, ended.said
    assert lock.exists()
    lock.unlink()
    assert house.git("status", "--porcelain") == ""
