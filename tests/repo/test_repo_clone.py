"""A push and a clone run nothing that the repository's own configuration names."""

import fcntl
import os
import subprocess

import pytest

from runner.errors import RunnerError
from runner.repo.clone import CloneCache
from runner.repo.read import Repository
from runner.repo.remote import (
    address_of,
    find_left_out,
    head_name,
    own_text,
    prepare_push,
    prepare_question,
    record_push,
)


@pytest.fixture
def clone(tmp_path, monkeypatch):
    """A repository with a bare remote `origin` beside it, and a person's configuration."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    (tmp_path / "gitconfig").write_text("[user]\n\tname = Ada\n\temail = ada@example.org\n")
    root = tmp_path / "clone"
    git(tmp_path, "init", "-q", "--bare", "bare.git")
    git(tmp_path, "init", "-q", "-b", "main", "clone")
    git(root, "commit", "-q", "--allow-empty", "-m", "one")
    git(root, "remote", "add", "origin", "../bare.git")
    with Repository.open(root) as repository:
        yield repository


def git(folder, *words):
    done = subprocess.run(["git", *words], cwd=folder, capture_output=True, check=False, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def push(repository, *refs, environ=None):
    with prepare_push(repository, "origin", refs, environ or dict(os.environ)) as said:
        return subprocess.run(
            said.argv,
            cwd=repository.root,
            env=dict(said.environment),
            capture_output=True,
            check=False,
            text=True,
        )


def test_the_question_for_a_remotes_head_runs_nothing_that_is_planted(clone, tmp_path):
    root, mark = clone.root, tmp_path / "mark"
    git(root, "push", "-q", "origin", "main:refs/heads/trunk")
    git(tmp_path, "--git-dir=bare.git", "symbolic-ref", "HEAD", "refs/heads/trunk")
    planted(root, mark)
    with Repository.open(root) as fresh, prepare_question(fresh, "origin", os.environ) as said:
        asked = subprocess.run(
            said.argv, cwd=root, env=dict(said.environment), capture_output=True, check=True
        )
    assert head_name(asked.stdout.decode()) == "trunk"
    assert head_name("") == ""
    assert not mark.exists()


def planted(root, mark):
    """Everything that a push could start, each of which would leave `mark` behind."""
    for key, value in (
        ("core.sshCommand", f"touch {mark}; false"),
        ("core.askPass", f"touch {mark}"),
        ("core.fsmonitor", f"touch {mark}"),
        ("core.gitProxy", f"touch {mark}"),
        ("credential.helper", f"!touch {mark}"),
        ("remote.origin.receivepack", f"touch {mark}; git-receive-pack"),
        ("remote.origin.uploadpack", f"touch {mark}; git-upload-pack"),
        ("remote.origin.vcs", "planted"),
        (f"url.ext::sh -c touch% {mark}% .insteadOf", "../"),
        ("protocol.ext.allow", "always"),
        ("push.gpgSign", "true"),
        ("gpg.program", f"touch {mark}"),
    ):
        git(root, "config", key, value)
    hook = root / ".git/hooks/pre-push"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {mark}\n")
    hook.chmod(0o755)


def test_a_branch_and_a_tag_arrive_and_nothing_that_was_planted_runs(clone, tmp_path):
    mark = tmp_path / "pwned"
    planted(clone.root, mark)
    (tmp_path / "git-remote-planted").write_text(f"#!/bin/sh\ntouch {mark}\n")
    (tmp_path / "git-remote-planted").chmod(0o755)
    git(clone.root, "tag", "-a", "v1", "-m", "first")
    environ = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = push(clone, "refs/heads/main", "refs/tags/v1", environ=environ)
    assert done.returncode == 0, done.stderr
    bare = tmp_path / "bare.git"
    assert git(bare, "rev-parse", "main") == git(clone.root, "rev-parse", "main")
    assert git(bare, "cat-file", "-t", "v1") == "tag"
    assert not mark.exists()
    record_push(clone, "origin", "refs/heads/main")
    assert git(bare, "rev-parse", "main") == git(clone.root, "rev-parse", "origin/main")
    keys = ("core.sshcommand", "core.askpass", "core.gitproxy", "credential.helper")
    assert find_left_out(clone)[:4] == keys


def test_ssh_is_asked_by_the_persons_own_command_also_one_for_this_folder(clone, tmp_path):
    planted(clone.root, tmp_path / "pwned")
    with (tmp_path / "gitconfig").open("a") as file:
        file.write(f'[includeIf "gitdir:{clone.root}/"]\n\tpath = {tmp_path}/more\n')
    (tmp_path / "more").write_text(f"[core]\n\tsshCommand = \"touch '{tmp_path}/mine'; false\"\n")
    git(clone.root, "config", "remote.origin.url", "ssh://host.invalid/x")
    assert push(clone, "refs/heads/main").returncode != 0
    assert (tmp_path / "mine").exists()
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("ext::sh -c 'touch pwned'", "would start the program ext"),
        ("fd::3", "would start the program fd"),
        ("inner.git", "is inside this repository"),
        ("file://{root}/inner.git", "is inside this repository"),
        ("--upload-pack=touch pwned", "has no address"),
    ],
)
def test_an_address_that_would_run_what_came_along_is_refused(clone, address, why):
    git(clone.root, "config", "remote.origin.pushurl", address.format(root=clone.root))
    with pytest.raises(RunnerError, match=why) as refused:
        address_of(clone, "origin")
    assert refused.value.code == 3
    assert refused.value.hint == "git remote set-url --push origin ADDRESS"


def test_a_remote_that_is_not_there_is_to_be_added(clone):
    git(clone.root, "remote", "remove", "origin")
    with pytest.raises(RunnerError, match="has no address") as refused:
        address_of(clone, "origin")
    assert refused.value.hint == "git remote add origin ADDRESS"
    git(clone.root, *refused.value.hint.replace("ADDRESS", "https://host.invalid/x").split()[1:])
    assert git(clone.root, "remote", "get-url", "--push", "origin") == "https://host.invalid/x"


@pytest.mark.parametrize(("helper", "may"), [("vault", True), ("ext", False)])
def test_a_helper_that_the_person_allows_is_used_but_none_that_runs_anything(
    clone, tmp_path, helper, may
):
    with (tmp_path / "gitconfig").open("a") as file:
        file.write(f'[protocol "{helper}"]\n\tallow = always\n')
    git(clone.root, "config", "remote.origin.url", f"{helper}::touch pwned")
    if may:
        assert address_of(clone, "origin") == f"{helper}::touch pwned"
        return
    with pytest.raises(RunnerError, match="would start the program"):
        address_of(clone, "origin")


def test_what_git_reads_of_the_persons_file_is_what_the_file_says(clone, tmp_path):
    values = ('a "quoted" \\ value', " blanks ", "two\nlines\tand a tab", "# no; remark", "")
    for value in values:
        git(tmp_path, "config", "--file", "gitconfig", "--add", 'odd.Sub "x".\\.Key', value)
    (tmp_path / "copy").write_text(own_text(clone.configuration()))
    read = git(tmp_path, "config", "--file", "copy", "-z", "--get-all", 'odd.Sub "x".\\.key')
    assert tuple(read.removesuffix("\0").split("\0")) == values


WHO = ("Ada", "ada@example.org")


def a_remote(folder, name, size=1000):
    place = folder / f"{name}-work"
    subprocess.run(["git", "init", "-q", "-b", "main", place], check=True)
    (place / "file").write_bytes(os.urandom(size))
    told = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    subprocess.run(["git", "-C", place, "add", "-A"], check=True)
    subprocess.run(["git", "-C", place, *told, "commit", "-q", "-m", "one"], check=True)
    return str(place)


def test_a_clone_stands_on_its_own(tmp_path, alone):
    remote = a_remote(tmp_path, "shop")
    cache = CloneCache(tmp_path / "cache", 1 << 30)
    cache.clone(remote, "main", tmp_path / "a", WHO, os.environ)
    cache.place_of(remote).rename(tmp_path / "gone")
    done = subprocess.run(["git", "-C", tmp_path / "a", "fsck", "--full"], check=False)
    assert done.returncode == 0
    said = subprocess.run(
        ["git", "-C", tmp_path / "a", "config", "user.name"], capture_output=True, check=True
    )
    assert said.stdout == b"Ada\n"


def test_those_not_used_for_longest_go_and_what_is_in_use_stays(tmp_path, alone):
    cache = CloneCache(tmp_path / "cache", 1 << 30)
    remotes = [a_remote(tmp_path, name, 200_000) for name in ("one", "two", "three")]
    for number, remote in enumerate(remotes):
        cache.clone(remote, "main", tmp_path / f"c{number}", WHO, os.environ)
    places = [cache.place_of(remote) for remote in remotes]
    for number, place in enumerate(places):
        os.utime(place, (number, number))
    small = CloneCache(tmp_path / "cache", 450_000)
    with places[0].with_suffix(".lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        small.trim()
    assert [place.exists() for place in places] == [True, False, True]
    CloneCache(tmp_path / "cache", 1).trim()
    assert [place.exists() for place in places] == [False, False, True]


def test_a_remote_that_is_away_costs_no_copy(tmp_path, alone):
    remote = a_remote(tmp_path, "shop")
    cache = CloneCache(tmp_path / "cache", 1 << 30)
    cache.clone(remote, "main", tmp_path / "a", WHO, os.environ)
    (tmp_path / "shop-work").rename(tmp_path / "moved")
    with pytest.raises(RunnerError, match="does not answer"):
        cache.clone(remote, "main", tmp_path / "b", WHO, os.environ)
    assert cache.place_of(remote).is_dir()
    assert not (tmp_path / "b").exists()
    with pytest.raises(RunnerError):
        cache.clone(str(tmp_path / "moved"), "mian", tmp_path / "b", WHO, os.environ)
    assert not (tmp_path / "b").exists()
