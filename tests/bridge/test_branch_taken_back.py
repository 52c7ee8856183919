"""A branch of the remote goes only where all on it was made in this clone; the folder is kept."""

import pytest
from clone_place import BRANCH, Place

from runner.errors import RunnerError
from runner.journal.lock import RunLock
from runner.project import BUILD


@pytest.fixture
def place(workplace, tmp_path):
    return Place(workplace, tmp_path)


def test_what_was_made_here_alone_goes_and_gone_is_fine(place):
    place.prepare()
    assert place.tip()
    assert place.clone.clear_branch() == ""
    assert place.tip() == ""
    assert place.clone.clear_branch() == ""
    place.clone.retire()
    assert not place.clone.read_wish()
    assert (place.clone.folder.with_name("7-ended-1") / "repository/.git").is_dir()
    place.prepare()
    place.clone.retire()
    assert place.clone.folder.with_name("7-ended-2").is_dir()


def test_a_persons_commit_keeps_the_branch(place):
    place.prepare()
    place.push("theirs.py", f"origin/{BRANCH}")
    tip = place.tip()
    assert place.clone.clear_branch() == "somebody pushed to it"
    assert place.tip() == tip


def test_a_branch_that_had_commits_before_stays(place):
    place.push("before.py")
    tip = place.tip()
    place.workplace.git("checkout", "-q", "main")
    place.prepare()
    assert place.clone.look().head == tip
    assert place.clone.clear_branch() == "it had commits before it was worked on here"
    assert place.tip() == tip


def test_a_remote_that_does_not_let_it_go_is_told_of(place):
    place.prepare()
    place.workplace.git(f"--git-dir={place.bare}", "config", "receive.denyDeletes", "true")
    assert place.clone.clear_branch() == "the remote does not let it be deleted"
    assert place.tip()


def test_while_a_run_goes_on_there_nothing_is_taken_away(place):
    place.prepare()
    with (
        RunLock(place.clone.place / BUILD),
        pytest.raises(RunnerError, match="a run goes on in"),
    ):
        place.clone.clear_branch()
    assert place.tip()
