"""Objects made here are those that git makes, and durable before anything names them."""

import errno
import itertools
import json
import os
import random
import shutil
import stat
from datetime import UTC, datetime

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from repo_build import a_change, a_repository, git

from runner import effects
from runner.repo.commit import _import_commit, _make_commit, commit_tree
from runner.repo.git import GitError
from runner.repo.objects import DURABLE, ObjectWriter
from runner.repo.read import Repository

MESSAGE = "feat(TASK-001): x\n\nTask: TASK-001\nAttempt: 1\n"


def test_landed_objects_are_synced_by_the_git_that_writes_them(tmp_path):
    """Git counts its fsyncs in its trace."""
    a_repository(tmp_path, {"a": "1", "deep/b": "1"})
    trace = tmp_path / ".git" / "trace"
    with Repository.open(tmp_path) as repo:
        told = repo.git.with_settings(DURABLE).with_settings(GIT_TRACE2_EVENT=str(trace))
        repo._writer = ObjectWriter(told, repo.folders.objects)
        commit_tree(repo, repo.head().commit, (a_change("deep/b", "2"),), MESSAGE)
    said = [json.loads(line) for line in trace.read_text().splitlines()]
    flushed = [one for one in said if one.get("key") == "fsync/hardware-flush"]
    assert sum(int(one["value"]) for one in flushed) == 4  # blob, two trees, commit
    assert not list(tmp_path.glob(".git/objects/tmp_obj_*"))


@pytest.mark.parametrize("kind", ["blob", "tree", "commit"])
def test_an_object_that_git_cannot_write_is_no_commit(tmp_path, kind):
    a_repository(tmp_path, {"a": "1"})

    def watch(what, target):
        if (what, target) == ("object", kind):
            raise OSError(errno.EIO, "planted")

    with Repository.open(tmp_path) as repo:
        effects.watch(watch)
        try:
            with pytest.raises(OSError, match="planted"):
                commit_tree(repo, repo.head().commit, (a_change("a", "2"),), MESSAGE)
        finally:
            effects.unwatch(watch)
    assert git(tmp_path, "fsck", "--strict", "--no-dangling") == ""
    assert not list(tmp_path.glob(".git/objects/tmp_obj_*"))


@pytest.mark.skipif(not os.geteuid(), reason="root may write everywhere")
def test_what_git_says_of_a_folder_that_it_cannot_write_to_is_told(tmp_path):
    a_repository(tmp_path, {"a": "1"})
    (tmp_path / ".git/objects").chmod(0o555)
    with Repository.open(tmp_path) as repo, pytest.raises((GitError, OSError)):
        commit_tree(repo, repo.head().commit, (a_change("a", "2"),), MESSAGE)
    (tmp_path / ".git/objects").chmod(0o755)


def test_a_git_that_was_killed_is_started_again(tmp_path):
    a_repository(tmp_path, {"a": "1"})
    with Repository.open(tmp_path) as repo:
        head = repo.head().commit
        for number in range(3):
            commit_tree(repo, head, (a_change("deep/b", str(number)),), MESSAGE)
            for helper in repo._writer._helpers.values():
                helper._process.kill()
    assert git(tmp_path, "fsck", "--strict", "--no-dangling") == ""


@pytest.mark.parametrize("makes", [_make_commit, _import_commit])
def test_what_a_tree_had_before_stays_whatever_git_thinks_of_it(tmp_path, makes):
    a_repository(tmp_path, {"a": "1"})
    (tmp_path / ".gitignore").symlink_to("a")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "link")
    with Repository.open(tmp_path) as repo:
        made = makes(repo, repo.head().commit, (a_change("b", "2"),), MESSAGE)
    assert git(tmp_path, "ls-tree", "--name-only", made.sha).split() == [".gitignore", "a", "b"]


def test_a_repository_at_an_odd_path_gets_its_objects(tmp_path):
    root = tmp_path / 'a "quoted"\n\\line'
    a_repository(root, {"a": "1"})
    with Repository.open(root) as repo:
        made = commit_tree(repo, repo.head().commit, (a_change("a", "2"),), MESSAGE)
    assert git(root, "show", f"{made.sha}:a") == "2"


ALL = ("a", "src/new", "src/old/b/c")
GONE = {
    "a deep folder": (ALL[2:], ()),
    "two folders": (ALL[1:], ()),
    "a folder where a file is now": (ALL[1:], ("src",)),
    "a folder of new files": (ALL[1:], ("new/b",)),
    "everything": (ALL, ()),
}
"""What goes, and what comes in its place."""


@pytest.mark.parametrize("makes", [_make_commit, _import_commit])
@pytest.mark.parametrize("case", GONE)
def test_a_folder_whose_files_are_all_gone_leaves_no_tree_behind(tmp_path, makes, case):
    gone, come = GONE[case]
    a_repository(tmp_path, dict.fromkeys(ALL, "1"))
    changes = [a_change(path, None) for path in gone] + [a_change(path, "2") for path in come]
    with Repository.open(tmp_path) as repo:
        made = makes(repo, repo.head().commit, changes, MESSAGE)
    git(tmp_path, "update-ref", "HEAD", made.sha)
    left = {*ALL, *come} - {*gone}
    assert set(git(tmp_path, "ls-tree", "-r", "--name-only", "HEAD").split()) == left
    assert git(tmp_path, "fsck", "--strict", "--unreachable") == ""


@pytest.mark.parametrize("format_", ["sha1", "sha256"])
@settings(max_examples=25, deadline=None)
@given(st.data())
def test_commits_made_here_are_those_that_git_itself_makes(tmp_path_factory, format_, data):
    """Any changes on any tree: the same names of tree and commit as by git-fast-import(1)."""
    names = st.sampled_from(["a", "a.b", "a-b", "a0", "b", "\u00fc", "a b"])
    paths = st.lists(names, min_size=1, max_size=3).map("/".join)
    texts = st.dictionaries(paths, st.text(max_size=5), max_size=6).filter(_no_file_is_a_folder)
    root = tmp_path_factory.mktemp("made")
    git(root, "init", "-q", "-b", "main", f"--object-format={format_}")
    with Repository.open(root) as repo:
        first = [a_change(path, text) for path, text in data.draw(texts).items()]
        base = _import_commit(repo, None, first, MESSAGE) if first else None
        second = {
            **{path: text or None for path, text in data.draw(texts).items()},
            **dict.fromkeys(data.draw(st.lists(paths, max_size=3)), None),
        }
        assume(_no_file_is_a_folder([path for path, text in second.items() if text]))
        changes = [
            a_change(path, text, mode=data.draw(st.sampled_from([0o100644, 0o100755])))
            for path, text in second.items()
        ]
        parent = base and base.sha
        before = effects.now
        effects.now = lambda: datetime(2026, 1, 1, tzinfo=UTC)
        try:
            assert _make_commit(repo, parent, changes, MESSAGE) == _import_commit(
                repo, parent, changes, MESSAGE
            )
        finally:
            effects.now = before
    assert git(root, "fsck", "--strict", "--no-dangling") in (
        "",
        "notice: HEAD points to an unborn branch (main)",
    )


def _no_file_is_a_folder(paths):
    return not any(other.startswith(f"{path}/") for path in paths for other in paths)


def test_a_shared_repository_keeps_its_rights(tmp_path):
    a_repository(tmp_path, {"a": "1"})
    git(tmp_path, "config", "core.sharedRepository", "group")
    with Repository.open(tmp_path) as repo:
        made = commit_tree(repo, repo.head().commit, (a_change("a", "2\n"),), MESSAGE)
    file = tmp_path / ".git" / "objects" / made.sha[:2] / made.sha[2:]
    assert stat.S_IMODE(file.stat().st_mode) & 0o440 == 0o440


def test_what_differs_is_what_git_says_differs(tmp_path):
    files = {"a": "1", "d/x": "1", "d/deep/y": "1", "same/z": "1", "e": "1"}
    a_repository(tmp_path, files)
    with Repository.open(tmp_path) as repo:
        old = repo.head().commit
        changes = [
            a_change(path, said)
            for path, said in {"a": "2", "d/x": None, "e": None, "e/f": "3", "new/g": "4"}.items()
        ]
        new = commit_tree(repo, old, changes, MESSAGE).sha
        for one, other in ((old, new), (new, old), (None, new), (old, None), (old, old)):
            ours = {path.decode() for path, _, _ in repo.objects().find_differing(one, other)}
            assert ours == {at.path for at in repo.diff_trees(one, other)}


def test_a_commit_that_is_not_there_is_said(tmp_path):
    a_repository(tmp_path, {"a": "1"})
    with Repository.open(tmp_path) as repo, pytest.raises(GitError):
        repo.objects().entries("1" * 40)


def test_trees_that_were_read_or_written_are_asked_of_git_once(tmp_path):
    a_repository(tmp_path, {"a": "1", "deep/b": "1", "deep/er/c": "1"})
    asked = []
    with Repository.open(tmp_path) as repo:
        objects = repo.objects()
        read = objects.reader.read
        objects.reader.read = lambda name: asked.append(name) or read(name)
        head = repo.head().commit
        for _ in range(2):
            assert objects.entry(head, "deep/er/c").mode == 0o100644
        assert len(asked) == len(set(asked)) == 4  # the commit and three trees
        objects.entries(head).clear()  # what is given out is the caller's own
        assert set(objects.entries(head)) == {b"a", b"deep"}
        made = commit_tree(repo, head, (a_change("deep/er/d", "2"),), MESSAGE)
        before = len(asked)
        assert objects.entry(made.tree, "deep/er/d").mode == 0o100644
        assert len(asked) == before
    assert git(tmp_path, "ls-tree", "-r", "--name-only", made.sha).split() == [
        *("a", "deep/b", "deep/er/c", "deep/er/d"),
    ]


def test_what_bears_another_name_than_its_own_is_not_remembered(tmp_path):
    a_repository(tmp_path, {"a": "1"})
    with Repository.open(tmp_path) as repo:
        objects = repo.objects()
        tree = objects.tree_of(repo.head().commit)
        wrong = "0" * 39 + "1"
        read = objects.reader.read
        objects.reader.read = lambda name: read(tree if name == wrong else name)
        assert set(objects.entries(wrong)) == {b"a"}
        assert objects.memory.trees.keys() == set()


def strange_tree(folder, chance):
    """Files, programs, links and folders that come, go and change places."""
    for path in ("a", "a.b", "deep/b", "deep/er/c", "a/inside", "\u00fc/d"):
        file = folder / path
        if chance.random() < 0.4 or any(up.is_file() or up.is_symlink() for up in file.parents):
            continue
        if file.is_dir():
            shutil.rmtree(file)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.unlink(missing_ok=True)
        if chance.random() < 0.2:
            file.symlink_to("nowhere")
        else:
            file.write_text(chance.choice("xyz"))
            file.chmod(chance.choice((0o644, 0o755)))
    if chance.random() < 0.5 and (folder / "a").is_file():
        (folder / "a").unlink()


@pytest.mark.parametrize("format_", ["sha1", "sha256"])
def test_trees_that_are_known_differ_as_git_says(tmp_path, format_):
    chance = random.Random(7)
    git(tmp_path, "init", "-q", "--object-format", format_)
    for name in ("user.name", "user.email"):
        git(tmp_path, "config", name, "ada")
    commits = []
    for _ in range(12):
        strange_tree(tmp_path, chance)
        git(tmp_path, "add", "-A")
        git(tmp_path, "commit", "-q", "--allow-empty", "-m", "next")
        commits.append(git(tmp_path, "rev-parse", "HEAD").strip())
    with Repository.open(tmp_path) as repo:
        pairs = [*itertools.pairwise(commits), (commits[0], commits[-1])]
        by_git = [repo.diff_trees(*pair) for pair in pairs]
        for commit in commits:
            repo.objects().entries(commit)
        repo.git = repo.git.with_settings(GIT_TRACE2_EVENT=str(tmp_path / ".git/trace"))
        assert [repo.diff_trees(*pair) for pair in pairs] == by_git
        assert repo.has_tree(repo.tree_of(commits[0]))
        assert sum(map(len, by_git)) > 20
    assert not (tmp_path / ".git/trace").exists()  # no git was started
