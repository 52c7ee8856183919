"""A branch of the remote goes only where all on it was made in this clone; the folder is kept."""

import os

import pytest
from shop import BASE

from runner.app.observer import Silent
from runner.bridge.issue_clone import IssueClone
from runner.errors import RunnerError
from runner.journal.lock import RunLock
from runner.project import BUILD, Project

BRANCH = "runner/7"


class Place:
    """A remote with a shop in it, and the clone of one issue."""

    def __init__(self, workplace, folder):
        self.workplace, self.bare = workplace, folder / "shop.git"
        workplace.plan(BASE)
        workplace.git("init", "-q", "--bare", "-b", "main", str(self.bare))
        workplace.git("remote", "add", "origin", str(self.bare))
        workplace.git("push", "-q", "-u", "origin", "main")
        workplace.runner("status", "--trust")
        self.project = Project.open(workplace.root, {**os.environ, "CI": "true"})
        self.clone = IssueClone(self.project, "origin", BRANCH, folder / "state/7", Silent())

    def prepare(self):
        from runner.config.trust import Trust

        Trust(self.project.places.state).give(self.project.root, "asked")
        self.clone.keep_wish("# Export")
        self.clone.prepare("main")
        return self

    def tip(self):
        found = self.workplace.git(f"--git-dir={self.bare}", "for-each-ref", f"refs/heads/{BRANCH}")
        return found.partition(" ")[0]

    def push(self, file, onto="origin/main"):
        """What a person pushes to the branch, from a clone of their own."""
        self.workplace.git("fetch", "-q", "origin")
        self.workplace.git("checkout", "-q", "-B", BRANCH, onto)
        self.workplace.commit({file: "theirs\n"})
        self.workplace.git("push", "-q", "origin", BRANCH)


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
    assert not place.clone.has_wish()
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
