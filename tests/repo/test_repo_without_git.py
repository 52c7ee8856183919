"""Landings leave what a person's own `git commit` of the same files leaves: commits and index."""

import itertools
import os
import random
import shutil
import subprocess
import time
from datetime import UTC, datetime

import pytest
from repo_build import a_change, a_repository, git, put_in_real_tree, write

from runner import effects
from runner.repo import index_file
from runner.repo.commit import commit_tree, swap_branch
from runner.repo.git import UnusualError
from runner.repo.index_file import read_index
from runner.repo.index_lock import INDEX, LockFile, Synced, free_dead_locks, sync_index
from runner.repo.read import Repository
from runner.repo.trees import TICK, TreeEntry

MESSAGE = "feat(TASK-001): x\n\nTask: TASK-001\nAttempt: 1\n"
FOLDERS = ("", "a/", "a/b/", "a/b/c/", "a-b/", "a.b/", "ab/", "z/ü/", "deep/" * 9)
NAMES = ("x", "x.py", "y y.txt", "é", "a", "b", "n" * 200, "-", "tab\tname", "x" * 4200)
MODES = (0o100644, 0o100755)


@pytest.fixture
def started(monkeypatch):
    """The processes of git that were started since, by their first word."""
    words = []

    def watch(kind, target):
        if kind == "git":
            words.append(target)

    effects.watch(watch)
    yield words
    effects.unwatch(watch)


def land(repo, changes):
    """Everything of a landing that touches git."""
    head = repo.head()
    made = commit_tree(repo, head.commit, changes, MESSAGE, names_files=True)
    assert swap_branch(repo, head, head.commit, made.sha, "runner: land")
    return made, sync_index(repo, [one.path for one in changes], head.commit, made.sha)


def names_in(folder):
    return [at.name for at in folder.iterdir()] if folder.exists() else []


def settle(folder):
    """As if the index had been written a while ago, so that no entry of it is racy."""
    later = time.time() + 5
    os.utime(folder / ".git" / INDEX, (later, later))


def seen(folder):
    """What of a repository has to be the same, whoever made it."""
    return (
        git(folder, "rev-parse", "HEAD", "main"),
        git(folder, "ls-files", "-s", "-z", "-v"),
        git(folder, "write-tree"),
    )


def commit_by_git(folder, changes, like):
    """The same commit as `like` of another repository, by git's own commands for people."""
    put_in_real_tree(folder, changes)
    of_it = ("log", "-1", "--format=%ct%n%B", like[1])
    seconds, _, message = git(like[0], *of_it).partition("\n")
    (folder / ".git/message").write_text(message.rstrip("\n") + "\n")
    git(folder, "add", "-A", "-f", "--", *(one.path for one in changes))
    when = {f"GIT_{role}_DATE": f"{seconds} +0000" for role in ("AUTHOR", "COMMITTER")}
    words = ("commit", "-q", "--cleanup=verbatim", "-F", ".git/message", "--no-verify", "--only")
    subprocess.run(
        ["git", "--literal-pathspecs", *words, "--", *(one.path for one in changes)],
        cwd=folder,
        env={**os.environ, **when, "TZ": "UTC"},
        check=True,
        capture_output=True,
    )


def generated(chance, files):
    """Some changes of the files that are there, as a task makes them."""
    paths = chance.sample(sorted(files), min(len(files), chance.randint(0, 3)))
    changes = []
    for path in paths:
        if chance.random() < 0.3:
            changes.append(a_change(path, None))
            files.pop(path)
        else:
            files[path] = f"{chance.random()}\n"
            changes.append(a_change(path, files[path], mode=chance.choice(MODES)))
    for _ in range(chance.randint(0 if changes else 1, 3)):
        path = chance.choice(FOLDERS) + chance.choice(NAMES[:-1])
        clash = any(one.startswith(f"{path}/") or path.startswith(f"{one}/") for one in files)
        if path not in files and not clash:
            files[path] = f"{chance.random()}\n"
            changes.append(a_change(path, files[path], mode=chance.choice(MODES)))
    known = {one.path: one for one in changes}
    return tuple(known.values())


def compare(tmp_path, monkeypatch, seed, landings):
    """The same landings by both ways; gives how many there were."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    chance = random.Random(seed)
    files = {f"{at}{name}": "begin\n" for at in FOLDERS for name in ("first", "second")}
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    a_repository(ours, files)
    shutil.copytree(ours, theirs, symlinks=True)
    seconds = itertools.count(1_700_000_000)
    told = 0
    with Repository.open(ours) as repo:
        for number in range(landings):
            changes = generated(chance, files)
            if not changes:
                continue
            now = datetime.fromtimestamp(next(seconds), UTC)
            monkeypatch.setattr(effects, "now", lambda now=now: now)
            made, synced = land(repo, changes)
            assert synced == Synced()
            put_in_real_tree(ours, changes)
            commit_by_git(theirs, changes, (ours, made.sha))
            told += 1
            assert seen(ours) == seen(theirs), (seed, number)
        assert {git(folder, "status", "--porcelain") for folder in (ours, theirs)} == {""}
        assert names_in(ours / ".git/runner") == []
    assert git(ours, "fsck", "--strict", "--unreachable") == ""
    log = git(ours, "reflog", "show", "main", "--format=%gs").splitlines()
    assert log[:-1] == ["runner: land"] * told
    return told


@pytest.mark.parametrize("seed", range(2))
def test_generated_landings_are_what_a_person_would_have_committed(tmp_path, monkeypatch, seed):
    assert compare(tmp_path, monkeypatch, seed, 15) > 10


SECONDS = int(os.environ.get("CAMPAIGN_SECONDS", "0"))
FIRST = 1000 * (1 + int(os.environ.get("CAMPAIGN_SEED", "0")))


@pytest.mark.skipif(not SECONDS, reason="set CAMPAIGN_SECONDS to run a campaign")
def test_a_campaign_of_landings_by_both_ways(tmp_path, monkeypatch, record_property):
    until, told = time.monotonic() + SECONDS, 0
    for seed in itertools.count(FIRST):
        told += compare(tmp_path / str(seed), monkeypatch, seed, 100)
        shutil.rmtree(tmp_path / str(seed))
        if time.monotonic() > until:
            break
    record_property("tried", told)
    assert told > 50


def test_a_landing_starts_few_processes_beside_those_that_are_kept(tmp_path, started):
    a_repository(tmp_path, {"src/a.py": "1\n", "gone": "1\n"})
    settle(tmp_path)
    time.sleep(2 * TICK)  # a configuration that is younger is read again
    with Repository.open(tmp_path) as repo:
        land(repo, (a_change("first", "1\n"),))
        settle(tmp_path)
        kept, once = (
            ["cat-file", *["hash-object"] * 3],
            ["update-index", "update-ref"],
        )
        assert sorted(started) == sorted(["config", *kept, *once])
        started.clear()
        land(repo, (a_change("src/a.py", "2\n"), a_change("gone", None), a_change("b/c", "1\n")))
    assert sorted(started) == once
    assert git(tmp_path, "ls-tree", "-r", "--name-only", "HEAD").split() == [
        "b/c",
        "first",
        "src/a.py",
    ]
    assert git(tmp_path, "diff", "--cached", "HEAD") == ""


def test_a_landing_within_the_second_of_a_commit_hides_no_change(tmp_path):
    a_repository(tmp_path, {"a": "one\n", "b": "one\n", "empty": "", "link": "1\n"})
    (tmp_path / "link").unlink()
    (tmp_path / "link").symlink_to("a")
    git(tmp_path, "add", "-A")
    git(tmp_path, "-c", "user.name=Ada", "-c", "user.email=a@b", "commit", "-qm", "a link")
    index = tmp_path / ".git" / INDEX
    times = index.stat()
    same = (tmp_path / "a").stat()
    (tmp_path / "a").write_text("two\n")  # of the same size, and its time set back
    os.utime(tmp_path / "a", ns=(same.st_atime_ns, same.st_mtime_ns))
    os.utime(index, (times.st_atime, int(same.st_mtime)))
    with Repository.open(tmp_path) as repo:
        land(repo, (a_change("new", "1\n"),))
        write(tmp_path, {"new": "1\n"})
    settle(tmp_path)
    assert git(tmp_path, "status", "--porcelain") == " M a"
    assert git(tmp_path, "diff", "--name-only") == "a"
    assert git(tmp_path, "fsck", "--strict") == ""


def with_index_v4(folder):
    git(folder, "update-index", "--index-version", "4")


def with_split_index(folder):
    git(folder, "update-index", "--split-index")


def with_untracked_cache(folder):
    git(folder, "update-index", "--force-untracked-cache")


def with_monitor(folder):
    git(folder, "config", "core.fsmonitor", "true")


def with_sparse_index(folder):
    git(folder, "sparse-checkout", "init", "--cone", "--sparse-index")
    git(folder, "sparse-checkout", "set", "src")


def with_packed_branch(folder):
    git(folder, "pack-refs", "--all", "--prune")


def without_logs(folder):
    shutil.rmtree(folder / ".git/logs")
    git(folder, "config", "core.logAllRefUpdates", "false")


def with_shared_rights(folder):
    git(folder, "config", "core.sharedRepository", "group")


def with_a_promisor(folder):
    git(folder, "config", "remote.origin.promisor", "true")


def with_a_submodule(folder):
    inner = a_repository(folder.parent / "inner", {"i": "1\n"})
    git(folder, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "lib")
    git(folder, "commit", "-qm", "submodule")


def with_links(folder):
    (folder / "src/link").symlink_to("a.py")
    (folder / "src/run.sh").write_text("#!/bin/sh\n")
    (folder / "src/run.sh").chmod(0o755)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "links")


def detached(folder):
    git(folder, "checkout", "-q", "--detach")


FORMS = (
    with_index_v4,
    with_split_index,
    with_untracked_cache,
    with_monitor,
    with_sparse_index,
    with_packed_branch,
    without_logs,
    with_shared_rights,
    with_a_promisor,
    with_a_submodule,
    with_links,
    detached,
)


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_every_form_of_repository_is_landed_in_as_git_would(tmp_path, monkeypatch, form):
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    monkeypatch.setattr(effects, "now", lambda: datetime.fromtimestamp(1_700_000_000, UTC))
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    a_repository(ours, {"src/a.py": "1\n", "other/b": "1\n"})
    form(ours)
    shutil.copytree(ours, theirs, symlinks=True)
    changes = (a_change("src/a.py", "2\n", mode=0o100755), a_change("src/new", "1\n"))
    with Repository.open(ours) as repo:
        made, _ = land(repo, changes)
    put_in_real_tree(ours, changes)
    commit_by_git(theirs, changes, (ours, made.sha))
    for words in (
        ("ls-files", "-s", "-v"),
        ("status", "--porcelain"),
        ("rev-parse", "HEAD"),
        ("fsck", "--no-dangling"),
    ):
        assert git(ours, *words) == git(theirs, *words)


def test_a_branch_that_is_left_while_git_holds_its_lock_is_not_moved(tmp_path):
    """`git checkout -b` takes no lock of the index."""
    a_repository(tmp_path, {"a": "1\n"})
    with Repository.open(tmp_path) as repo:
        head = repo.head()
        made = commit_tree(repo, head.commit, (a_change("b"),), MESSAGE)
        git(tmp_path, "checkout", "-q", "-b", "other")
        assert not swap_branch(repo, head, head.commit, made.sha)
        assert git(tmp_path, "rev-parse", "main", "other").split() == [head.commit] * 2
        git(tmp_path, "checkout", "-q", "main")
        held = []

        def watch(kind, _target):
            if kind == "ref":
                held.extend((tmp_path / ".git" / name).exists() for name in LOCKS)

        effects.watch(watch)
        assert swap_branch(repo, head, head.commit, made.sha)
        effects.unwatch(watch)
    assert held == [True, True]


LOCKS = ("HEAD.lock", "refs/heads/main.lock")


def test_a_run_that_is_killed_before_the_branch_moves_leaves_no_lock_of_git(tmp_path):
    a_repository(tmp_path, {"a": "1\n"})
    with Repository.open(tmp_path) as repo:
        head = repo.head()
        made = commit_tree(repo, head.commit, (a_change("b"),), MESSAGE)
        child = os.fork()
        if not child:
            effects.watch(lambda kind, _: kind == "ref" and os._exit(7))
            swap_branch(repo, head, head.commit, made.sha)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 7 << 8
    until = time.monotonic() + 10
    while any((tmp_path / ".git" / name).exists() for name in LOCKS):
        assert time.monotonic() < until
        time.sleep(0.01)
    assert git(tmp_path, "rev-parse", "main") == head.commit


def test_a_sha_256_repository_is_git_s(tmp_path, started):
    git(tmp_path, "init", "-q", "--object-format=sha256", "-b", "main")
    write(tmp_path, {"a": "1\n"})
    git(tmp_path, "add", "-A")
    git(tmp_path, "-c", "user.name=A", "-c", "user.email=a@b", "commit", "-qm", "begin")
    settle(tmp_path)
    with Repository.open(tmp_path) as repo:
        land(repo, (a_change("a", "2\n"),))
    put_in_real_tree(tmp_path, (a_change("a", "2\n"),))
    assert "update-ref" in started
    assert git(tmp_path, "status", "--porcelain") == ""


def test_a_linked_worktree_is_git_s(tmp_path, started):
    a_repository(tmp_path / "main", {"a": "1\n"})
    git(tmp_path / "main", "worktree", "add", "-q", "-b", "other", str(tmp_path / "linked"))
    with Repository.open(tmp_path / "linked") as repo:
        made, _ = land(repo, (a_change("a", "2\n"),))
    assert "update-ref" in started
    assert git(tmp_path / "main", "rev-parse", "other") == made.sha


def test_a_file_that_changed_within_the_second_of_the_index_is_not_hidden(tmp_path):
    a_repository(tmp_path, {"a": "one\n", "b": "1\n"})
    at = (tmp_path / "a").stat().st_mtime
    os.utime(tmp_path / ".git/index", (at, at))
    (tmp_path / "a").write_text("two\n")
    os.utime(tmp_path / "a", (at, at))
    with Repository.open(tmp_path) as repo:
        land(repo, (a_change("c", "1\n"),))
    put_in_real_tree(tmp_path, (a_change("c", "1\n"),))
    assert git(tmp_path, "status", "--porcelain") == "M a".rjust(4)


@pytest.mark.parametrize("cut", [b"DIRC", b"", b"DIRC\0\0\0\2\0\0\0\x09", None])
def test_a_damaged_index_is_never_given_a_new_sum(tmp_path, cut):
    a_repository(tmp_path, {"a": "one\n"})
    data = (tmp_path / ".git/index").read_bytes()
    (tmp_path / "index").write_bytes(data[:40] + b"?" + data[41:] if cut is None else cut)
    with pytest.raises(UnusualError):
        read_index(tmp_path / "index")


@pytest.mark.parametrize("seed", range(2))
def test_an_index_that_was_written_here_is_known_as_it_would_be_read(tmp_path, seed):
    chance = random.Random(seed)
    files = {f"{chance.choice('abc')}/{n}{'x' * (n % 9)}": f"{n}" for n in range(40)}
    a_repository(tmp_path, files)
    path = tmp_path / ".git" / INDEX
    settle(tmp_path)
    for turn in range(12):
        index = read_index(path)
        there = [index._name(number) for number in range(len(index.begins) - 1)]
        entries = dict.fromkeys(chance.sample(there, 2))
        names = (
            f"{chance.choice('abd')}/new{turn}{n}{'y' * n}" for n in range(chance.randint(0, 3))
        )
        new = TreeEntry(0o100644, chance.randbytes(20).hex())
        entries |= {name.encode(): new for name in names} | {there[0]: new}
        path.write_bytes(index.with_entries(entries))
        settle(tmp_path)
        known = read_index(path)
        index_file._places.clear()
        assert list(known.begins) == list(read_index(path).begins)
        assert known.racy == read_index(path).racy == ()
    listed = git(tmp_path, "ls-files", "-z").encode().split(b"\0")[:-1]
    assert listed == [known._name(number) for number in range(len(known.begins) - 1)]


def test_what_is_known_of_indexes_is_bounded(monkeypatch):
    monkeypatch.setattr(index_file, "_places", {})
    monkeypatch.setattr(index_file, "_MOST_PLACES", 10)
    for number in range(9):
        index_file._remember(bytes([number]), range(4), 0)
    assert [*index_file._places] == [b"\x06", b"\x07", b"\x08"]


# --- locks ----------------------------------------------------------------------------


def test_what_somebody_locks_waits_and_nothing_is_left(tmp_path):
    a_repository(tmp_path, {"a": "1\n"})
    settle(tmp_path)
    for name in ("HEAD.lock", "refs/heads/main.lock"):
        (tmp_path / ".git" / name).write_text("")
        with Repository.open(tmp_path) as repo:
            head = repo.head()
            made = commit_tree(repo, head.commit, (a_change("b"),), MESSAGE)
            assert not swap_branch(repo, head, head.commit, made.sha)
        (tmp_path / ".git" / name).unlink()
        left = list((tmp_path / ".git").rglob("*.lock"))
        assert left == [] == names_in(tmp_path / ".git/runner")
    assert git(tmp_path, "rev-parse", "HEAD") == head.commit


def test_what_is_left_beside_a_lock_that_is_gone_goes_and_no_lock_of_others(tmp_path):
    a_repository(tmp_path, {"a": "1\n"})
    folder = tmp_path / ".git"
    child = os.fork()
    if not child:
        LockFile.take(folder, INDEX, "a@b").write(b"half")
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    free_dead_locks(folder)
    # `stale_index_lock` decides about that one
    assert (folder / "index.lock").read_bytes() == b"half"
    (folder / "index.lock").unlink()
    (folder / "index.lock").write_text("git's")
    free_dead_locks(folder)
    assert (folder / "index.lock").read_text() == "git's"
    assert names_in(folder / "runner") == []
    (folder / "index.lock").unlink()
    living = LockFile.take(folder, INDEX, "a@b")
    free_dead_locks(folder)
    with living:
        assert len(names_in(folder / "runner")) == 1
    assert names_in(folder / "runner") == []


def test_locks_of_refs_that_an_older_version_left_go(tmp_path):
    a_repository(tmp_path, {"a": "1\n"})
    folder = tmp_path / ".git"
    (folder / "runner").mkdir()
    for name, quoted in (("HEAD", "HEAD"), ("refs/heads/main", "refs%2Fheads%2Fmain")):
        own = folder / "runner" / f"{effects.new_id()}-{quoted}"
        own.write_text("")
        os.link(own, folder / f"{name}.lock")
    free_dead_locks(folder)
    assert names_in(folder / "runner") == []
    assert not list(folder.rglob("*.lock"))


def test_a_person_s_own_staged_work_stays(tmp_path):
    a_repository(tmp_path, {"a": "1\n", "b": "1\n"})
    write(tmp_path, {"a": "theirs\n", "mine": "new\n"})
    git(tmp_path, "add", "a", "mine")
    settle(tmp_path)
    with Repository.open(tmp_path) as repo:
        _, synced = land(repo, (a_change("a", "2\n"), a_change("b", "2\n")))
    assert synced == Synced(kept=("a",))
    assert git(tmp_path, "show", ":a") == "theirs"
    assert git(tmp_path, "show", ":mine") == "new"
    assert git(tmp_path, "show", ":b") == "2"
