"""An issue's branch: named by its first title, and gone only where all on it was made here."""

import subprocess

import pytest
from clone_place import BRANCH, Place
from test_bridge_story import SECRET

from runner.errors import RunnerError
from runner.extensions.bridge.bridge_command import read_branch
from runner.extensions.bridge.comment_text import is_branch_of, name_branch
from runner.journal.lock import RunLock
from runner.project import BUILD


@pytest.fixture
def place(workplace, tmp_path):
    return Place(workplace, tmp_path)


@pytest.mark.parametrize(
    ("title", "words"),
    [
        ("Export bookings as CSV", "-export-bookings-as-csv"),
        ("Größe: 5 €, @all #7 .lock", "-groe-5-all-7-lock"),
        ("..//~^:?*[\\ -- @{u} .lock.", "-u-lock"),
        ("注文を書き出す", ""),
        ("", "-untitled"),
        ("a" * 90, f"-{'a' * 40}"),
        (
            "one two three four five six seven eight nine",
            "-one-two-three-four-five-six-seven-eight",
        ),
        (f"key {SECRET}", "-key-redacted-github"),
    ],
)
def test_a_branch_has_the_first_words_of_the_title_as_git_and_every_system_can_name_them(
    title, words
):
    branch = name_branch(42, title)
    assert branch == f"runner/42{words}"
    assert is_branch_of(42, branch)
    assert not is_branch_of(4, branch)
    subprocess.run(["git", "check-ref-format", "--branch", branch], check=True, capture_output=True)


def test_it_keeps_its_first_name_whatever_the_title_and_the_comment_say_later(case):
    case.builder.there = ""
    case.label().advance()
    named = "runner/1-export-closes-7-all"
    assert case.builder.branch == named
    assert f'"branch":"{named}"' in case.status
    case.server.edit_issue("ada", case.number, title="Import")
    (comment,) = case.server.comments.values()
    for other in ("runner/1-evil", "main", "runner/2", ""):
        comment["body"] = comment["body"].replace(f'"branch":"{named}"', f'"branch":"{other}"')
        case.advance()
        assert case.builder.branch == named, "the clone is on it"
    del case.server.comments[comment["id"]]
    case.advance()
    assert case.builder.branch == named, "a comment that is gone begins no second one"
    case.server.unlabel("ada", case.number, "runner")
    assert case.label().advance() == "the plan needs review"
    assert case.builder.branch == named


def test_what_the_remote_has_of_it_goes_on_and_so_does_what_an_older_version_began(case):
    case.builder.there = "runner/1-as-it-was"
    case.label().advance()
    assert case.builder.branch == "runner/1-as-it-was"
    (comment,) = case.server.comments.values()
    old = comment["body"].replace('"branch":"runner/1-as-it-was",', "")
    assert old != comment["body"]
    comment["body"] = old
    case.builder.ready = False  # another machine
    case.server.edit_issue("ada", case.number, title="Import")
    case.advance()
    assert case.builder.branch == "runner/1"


def test_the_remotes_branches_of_one_issue_are_told_from_those_of_others(place):
    clone = place.clone
    assert clone.find_branch(7) == ""
    for other in ("runner/70-x", "x/runner/7-z", "runner/7-Z", "runner/7-a/b"):
        place.workplace.git("push", "-q", "origin", f"main:refs/heads/{other}")
    assert clone.find_branch(7) == ""
    place.workplace.git("push", "-q", "origin", "main:refs/heads/runner/7-csv")
    assert clone.find_branch(7) == "runner/7-csv"
    assert read_branch(clone.folder, 7) == ""
    place.prepare()
    assert (read_branch(clone.folder, 7), read_branch(clone.folder, 8)) == (BRANCH, "")


def test_what_was_made_here_alone_goes_and_gone_is_fine(place):
    place.prepare()
    assert place.tip()
    assert place.clone.clear_branch() == ""
    assert place.tip() == ""
    assert place.clone.clear_branch() == ""
    place.clone.retire()
    assert not place.clone.read_request_text()
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
    assert place.clone.clear_branch() == "it had commits before the work here began"
    assert place.tip() == tip


def test_a_remote_that_does_not_let_it_go_is_told_of(place):
    place.prepare()
    place.workplace.git(f"--git-dir={place.bare}", "config", "receive.denyDeletes", "true")
    assert place.clone.clear_branch() == "the remote refuses to delete it"
    assert place.tip()


def test_while_a_run_goes_on_there_nothing_is_taken_away(place):
    place.prepare()
    with (
        RunLock(place.clone.place / BUILD),
        pytest.raises(RunnerError, match="a run is active in"),
    ):
        place.clone.clear_branch()
    assert place.tip()
