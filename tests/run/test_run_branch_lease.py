"""The lease of a branch, with a real remote whose answers get lost: what is there then counts."""

import os
import stat
import subprocess
from types import SimpleNamespace

import pytest

from runner.errors import RunnerError
from runner.repo.read import Repository
from runner.repo.remote import RemoteDownError
from runner.run.landing import branch_lease
from runner.run.landing.publish_at_end import open_lease

LEASE = "refs/runner/lease/main"
# A push is carried out, and whoever made it hears nothing of it: neither then nor when they ask.
DROPPED = (
    '#!/bin/sh\ntest "$1" = committed || exit 0\ntest -e drop || exit 0\n'
    'here=$(pwd)\nmv "$here" "$here.away"\nkill -9 $PPID\n'
)


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A clone and its bare remote, whose next answer can be dropped."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    (tmp_path / "gitconfig").write_text("[user]\n\tname = Ada\n\temail = ada@example.org\n")
    root, bare = tmp_path / "clone", tmp_path / "bare.git"
    git(tmp_path, "init", "-q", "--bare", "-b", "main", "bare.git")
    git(tmp_path, "init", "-q", "-b", "main", "clone")
    git(root, "commit", "-q", "--allow-empty", "-m", "one")
    git(root, "remote", "add", "origin", str(bare))
    git(root, "push", "-q", "origin", "main")
    hook = bare / "hooks" / "reference-transaction"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(DROPPED)
    hook.chmod(hook.stat().st_mode | stat.S_IXUSR)
    with Repository.open(root) as repository:
        yield SimpleNamespace(
            root=root, bare=bare, away=tmp_path / "bare.git.away", repository=repository
        )


def git(folder, *words):
    done = subprocess.run(["git", *words], cwd=folder, capture_output=True, check=False, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def lease_of(place, seconds=600.0):
    """A lease whose own renewals come too late for a test."""
    return open_lease(place.repository, "origin", seconds, os.environ, place.root / "cache")


def come_back(place):
    """The remote answers again."""
    place.away.rename(place.bare)
    (place.bare / "drop").unlink()


def value_of(place):
    return git(place.bare, "for-each-ref", "--format=%(objectname)", LEASE)


def lose_an_answer(place, lease):
    """One renewal that arrives, and of which nothing is heard; the value that is there then."""
    before = value_of(place)
    (place.bare / "drop").touch()
    with pytest.raises(RemoteDownError):
        lease.renew()
    come_back(place)
    assert value_of(place) != before
    return value_of(place)


def test_a_renewal_whose_answer_never_came_is_given_back_all_the_same(place):
    with lease_of(place) as lease:
        lose_an_answer(place, lease)
    assert not value_of(place)
    assert not lease.memory.token


def test_it_is_given_back_where_the_answer_to_that_is_lost_too(place, monkeypatch):
    monkeypatch.setattr(branch_lease, "_PATIENCE", 0.5)
    lease = lease_of(place)
    with lease:
        (place.bare / "drop").touch()
        lease._give_back()
        come_back(place)
    assert not value_of(place)


def test_a_holder_whose_answer_was_lost_goes_on(place):
    with lease_of(place) as lease:
        sent = lose_an_answer(place, lease)
        assert lease.renew()
        assert value_of(place) == sent
        assert lease.renew()
        assert value_of(place) != sent
        assert not lease.trouble


def test_what_somebody_else_took_meanwhile_is_left_to_them(place):
    with lease_of(place) as lease:
        lose_an_answer(place, lease)
        theirs = git(place.root, "commit-tree", "-m", "theirs", "HEAD^{tree}")
        git(place.root, "push", "-q", "--force", "origin", f"{theirs}:{LEASE}")
    assert value_of(place) == theirs


def test_a_remote_that_takes_no_deletion_keeps_it_and_the_clone_its_token(place):
    hook = place.bare / "hooks" / "update"
    hook.write_text('#!/bin/sh\ncase "$3" in *[1-9a-f]*) exit 0;; esac\nexit 1\n')
    hook.chmod(hook.stat().st_mode | stat.S_IXUSR)
    with lease_of(place) as lease:
        token = lease.memory.token
    assert value_of(place)
    assert lease.memory.token == token
    with lease_of(place) as again:  # by it, it is known as its own: no ttl is waited for
        assert again.taken_from is None


def test_who_gave_way_at_the_beginning_has_all_the_time_for_its_pushes(place):
    lease = lease_of(place)
    with lease:
        before = lease._remote.seconds
        lease._give_back()
        assert lease._remote.seconds == before


def test_a_take_of_which_nothing_more_is_heard_ends_with_words(place):
    (place.bare / "drop").touch()
    with pytest.raises(RunnerError, match="origin does not answer"), lease_of(place):
        pass
    come_back(place)
    with lease_of(place) as lease:
        assert lease.taken_from is None
    assert not value_of(place)
