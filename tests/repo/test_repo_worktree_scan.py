"""A small tree looked at and put back without git is what git makes of it."""

import os
import random
import shutil
import subprocess
import time
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from repo_build import a_repository, files_of, git, write

from runner import effects
from runner.repo import worktree_scan
from runner.repo.alternates import exclude_lines
from runner.repo.git import UnusualError
from runner.repo.read import Repository
from runner.repo.scratch import Scratch
from runner.repo.trees import stamp_of
from runner.repo.worktree_scan import ExcludeRules

_NAMES = ("a", "b.py", "c.pyc", "__pycache__", "d e", "build", ".x", "ü", "x.log", "keep.log")
_RULES = (
    "*.log",
    "build/",
    "!keep.log",
    "/a",
    "d*",
    "b.py[co]",
    "s/build",
    "# x",
    "",
    "x.log\r",
    "*",
)


def a_scratch(tmp_path, *commits):
    """A slot on the first of some commits, each the whole of its files; and all of them."""
    real = a_repository(tmp_path / "real")
    made = []
    for files in commits:
        for there in real.iterdir():
            if there.name != ".git":
                shutil.rmtree(there) if there.is_dir() else there.unlink()
        write(real, files)
        git(real, "add", "--all", "--force")
        git(real, "commit", "--quiet", "--allow-empty", "--message", "more")
        made.append(git(real, "rev-parse", "HEAD"))
    with Repository.open(real) as repo:
        scratch = Scratch.open(tmp_path / "slot", repo.lender(), shares=("node_modules",))
    scratch.reset(made[0])
    return scratch, made


def in_slot(scratch, *words):
    """What git says of the slot's tree by an index of its own making."""
    told = {**os.environ, "GIT_DIR": str(scratch.slot / "git"), "GIT_WORK_TREE": "."}
    told |= {"GIT_INDEX_FILE": str(scratch.slot / "other"), "GIT_CONFIG_GLOBAL": "/dev/null"}
    run = subprocess.run(
        ["git", *words], cwd=scratch.tree_folder, env=told, capture_output=True, check=True
    )
    return run.stdout


def differing_by_git(scratch, base):
    """What `git add` makes of the tree; `git ls-files` looks for files behind a link."""
    in_slot(scratch, "read-tree", base)
    in_slot(scratch, "add", "--all")
    said = in_slot(scratch, "diff-index", "--cached", "--name-only", "--no-renames", "-z", base)
    return {path for path in said.split(b"\0") if path}


def differing_here(scratch):
    return scratch._small.find_differing(exclude_lines(scratch.lender, ("node_modules",)))


def some_files(chance):
    found = {}
    for _ in range(chance.randint(1, 8)):
        parts = chance.choices(_NAMES, k=chance.randint(1, 3))
        path = "/".join(parts)
        taken = any(one.startswith(path + "/") or path.startswith(one + "/") for one in found)
        if not taken:
            found[path] = f"{chance.random()}"
    if chance.random() < 0.5:
        found[chance.choice(("", "s/")) + ".gitignore"] = "\n".join(chance.choices(_RULES, k=3))
    return found


def disturb(chance, tree):
    """What a command may do to a tree."""
    there = [tree / path for path in sorted(files_of(tree))]
    for _ in range(chance.randint(0, 4)):
        file = chance.choice(there) if there and chance.random() < 0.6 else None
        match chance.randint(0, 7) if file is not None and file.is_file() else 8:
            case 0:
                file.write_text("changed")
            case 1:
                file.unlink()
            case 2:
                file.chmod(0o755)
            case 3:
                times = file.stat()
                content = file.read_bytes()
                file.write_bytes(bytes(len(content)))
                os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
            case 4:
                file.unlink()
                file.symlink_to("elsewhere")
            case 5:
                file.unlink()
                file.mkdir()
                (file / "inner").write_text("x")
            case 6:
                file.write_bytes(file.read_bytes())
            case 7 if file.parent != tree:
                elsewhere = tree.parent / f"moved-{chance.random()}"
                file.parent.rename(elsewhere)
                file.parent.symlink_to(elsewhere)
            case _:
                write_where_it_can(tree, some_files(chance))


def write_where_it_can(tree, files):
    for path, content in files.items():
        try:
            write(tree, {path: content})
        except OSError:  # a file of another try is in the way
            continue


@pytest.mark.parametrize("seed", range(2))
def test_what_differs_is_what_git_names_and_every_base_is_put_back(tmp_path, seed):
    chance, known, restored = random.Random(seed), 0, 0
    scratch, commits = a_scratch(tmp_path, *(some_files(chance) for _ in range(4)))
    base = commits[0]
    for _ in range(25):
        disturb(chance, scratch.tree_folder)
        expected = differing_by_git(scratch, base)
        try:
            here = differing_here(scratch)
        except UnusualError:
            here = None
        if here is not None:
            known += 1
            assert sorted(here) == sorted(expected), files_of(scratch.tree_folder)
        assert {change.path.encode() for change in scratch.changes()} == expected
        base = chance.choice(commits)
        with watching() as started:
            scratch.reset(base)
        restored += ("git", "read-tree") not in started
        wanted = {
            path: in_slot(scratch, "show", f"{base}:{path}") for path in listed(scratch, base)
        }
        assert files_of(scratch.tree_folder) == wanted
        assert git(scratch.tree_folder, "status", "--porcelain", "--ignored") == ""
        assert not differing_by_git(scratch, base)
    assert known
    assert restored


@contextmanager
def watching():
    """What is done to the world meanwhile, each as its kind and its target."""
    seen = []

    def see(kind, target):
        seen.append((kind, target))

    effects.watch(see)
    try:
        yield seen
    finally:
        effects.unwatch(see)


def listed(scratch, base):
    said = git(scratch.tree_folder, "ls-tree", "-r", "-z", "--name-only", base)
    return [path for path in said.split("\0") if path]


def test_a_tree_of_few_files_costs_no_process_of_git(tmp_path):
    scratch, (first, second) = a_scratch(tmp_path, {"a": "1", "s/b": "2"}, {"a": "1", "s/c": "3"})
    scratch.snapshot()
    with watching() as seen:
        write(scratch.tree_folder, {"s/new.py": "x", "__pycache__/a.pyc": "y"})
        assert {change.path for change in scratch.changes()} == {"s/new.py"}
        scratch.reset(second)
        assert files_of(scratch.tree_folder) == {"a": b"1", "s/c": b"3"}
        write(scratch.tree_folder, {"a": "2"})
        assert {change.path for change in scratch.changes()} == {"a"}
        scratch.reset(first)
    assert [target for kind, target in seen if kind == "git" and target != "cat-file"] == []
    assert files_of(scratch.tree_folder) == {"a": b"1", "s/b": b"2"}


def test_a_new_slot_of_few_files_costs_no_process_of_git(tmp_path):
    files = {"a": "1", "s/b": "2\r\n", "s/t/c.sh": "#!/bin/sh\n", "empty": ""}
    real = a_repository(tmp_path / "real")
    write(real, files)
    (real / "s/t/c.sh").chmod(0o755)
    (real / "link").symlink_to("s/b")
    (real / ".gitattributes").write_text("* text=auto eol=lf\n")
    git(real, "-c", "core.autocrlf=false", "add", "--all")
    git(real, "commit", "--quiet", "--message", "files")
    base = git(real, "rev-parse", "HEAD")
    with Repository.open(real) as repo:
        slots = [Scratch.open(tmp_path / name, repo.lender()) for name in ("one", "two", "git")]
        slots[0].share(repo.trees, repo.content)
        slots[0].reset(base)
        slots[1].share(repo.trees, repo.content)
        with watching() as seen:
            slots[1].reset(base)
        assert [target for kind, target in seen if kind == "git"] == []
        slots[2].slot.joinpath("tree").mkdir()
        slots[2].tree_folder.joinpath("left").write_text("by another run")
        with watching() as seen:
            slots[2].reset(base)  # the way of a slot that an earlier run left
        assert "read-tree" in [target for kind, target in seen if kind == "git"]
    found = [files_of(slot.tree_folder) for slot in slots]
    assert found[0] == found[1] == found[2]
    for slot in slots:
        assert (slot.tree_folder / "s/t/c.sh").stat().st_mode & 0o111
        assert (slot.tree_folder / "link").readlink().as_posix() == "s/b"
        assert slot.changes() == ()
        told = git(slot.tree_folder, "-c", "core.autocrlf=false", "diff", "--name-only", "HEAD")
        assert told == ""


def test_a_new_slot_of_many_files_is_git_s_to_make(tmp_path):
    files = {f"f{number}": str(number) for number in range(150)}
    with watching() as seen:
        scratch, _commits = a_scratch(tmp_path, files)
    assert "read-tree" in [target for kind, target in seen if kind == "git"]
    assert files_of(scratch.tree_folder).keys() == files.keys()
    assert scratch.changes() == ()


def test_a_change_within_the_tick_of_a_file_is_seen(tmp_path):
    scratch, (base,) = a_scratch(tmp_path, {"a": "one"})
    for _ in range(20):
        write(scratch.tree_folder, {"a": "two"})
        assert differing_here(scratch) == [b"a"]
        scratch.reset(base)
        assert differing_here(scratch) == []


@pytest.mark.parametrize(
    ("changed", "looked", "settled"),
    [
        (5_000_000_001, 5_010_000_000, False),  # within a tick
        (5_000_000_001, 5_100_000_000, True),
        (5_000_000_000, 6_900_000_000, False),  # kept in whole seconds, perhaps in every second one
        (5_000_000_000, 7_100_000_000, True),
    ],
)
def test_a_file_is_settled_once_no_change_can_bear_the_same_time(changed, looked, settled):
    stamped = SimpleNamespace(st_ino=1, st_mode=2, st_size=3, st_ctime_ns=changed)
    assert stamp_of(stamped, looked).settled is settled


def test_the_time_is_that_of_the_files(tmp_path):
    scratch, (base,) = a_scratch(tmp_path, {"a": "one"})
    index, small = scratch.slot / "git" / "index", scratch._small
    stamped = index.stat().st_ctime_ns
    assert stamped <= small._now() < time.time_ns() + 1
    small.learn(base, frozenset([b"a"]))
    assert small._now() - stamped < time.time_ns() - stamped


def test_an_index_that_somebody_else_wrote_is_made_anew(tmp_path):
    scratch, (base, other) = a_scratch(tmp_path, {"a": "1", "b": "1"}, {"a": "2", "b": "1"})
    index = scratch.slot / "git" / "index"
    index.write_bytes(index.read_bytes()[:-1] + b"x")
    scratch.reset(other)
    assert files_of(scratch.tree_folder) == {"a": b"2", "b": b"1"}
    assert git(scratch.tree_folder, "status", "--porcelain") == ""
    scratch.reset(base)
    assert git(scratch.tree_folder, "status", "--porcelain") == ""


@pytest.mark.parametrize("what", ["fifo", "inside", "spelled", "closed", "link", "many"])
def test_what_only_git_can_tell_is_left_to_it(tmp_path, what, monkeypatch):
    scratch, (base,) = a_scratch(tmp_path, {"a": "one", "s/b": "two"})
    tree = scratch.tree_folder
    match what:
        case "fifo":
            os.mkfifo(tree / "pipe")
        case "inside":
            git(tree, "init", "-q", "s/.GIT")
        case "spelled":
            write(tree, {".GIT/config": "[core]"})
        case "closed":
            if not os.getuid():
                pytest.skip("root opens every folder")
            (tree / "s").chmod(0)
        case "link":
            shutil.move(tree, tmp_path / "elsewhere")
            tree.symlink_to(tmp_path / "elsewhere")
        case "many":
            monkeypatch.setattr(worktree_scan, "_SEEN", 2)
            write(tree, {"c": "", "d": "", "t/e": "", "t/f": ""})
    with pytest.raises(UnusualError):
        differing_here(scratch)
    scratch.reset(base)
    assert files_of(scratch.tree_folder) == {"a": b"one", "s/b": b"two"}


# --- what is known of a tree ----------------------------------------------------------


_DEEP = ("", "s/", "s/t/", "u/", "u/v/w/")


def some_deep_files(chance):
    """Files in folders within folders, of which some never change."""
    names = [folder + name for folder in _DEEP for name in ("a.py", "b", "c")]
    found = {name: f"{name} {chance.randint(0, 1)}" for name in names if chance.random() < 0.6}
    return found or {"a.py": ""}


def settle(scratch, base):
    """As if the tree had stood for longer than a clock's tick: folders need not be listed then."""
    scratch.reset(base)
    time.sleep(0.03)
    assert differing_here(scratch) == []


@pytest.mark.parametrize("seed", range(2))
def test_folders_that_nobody_touched_hide_nothing(tmp_path, seed):
    chance = random.Random(100 + seed)
    scratch, commits = a_scratch(tmp_path, *(some_deep_files(chance) for _ in range(3)))
    for _ in range(8):
        base = chance.choice(commits)
        settle(scratch, base)
        assert any(folder.row for folder in scratch._small._folders.values())
        disturb(chance, scratch.tree_folder)
        expected = differing_by_git(scratch, base)
        assert {change.path.encode() for change in scratch.changes()} == expected
        base = chance.choice(commits)
        scratch.reset(base)
        wanted = {
            path: in_slot(scratch, "show", f"{base}:{path}") for path in listed(scratch, base)
        }
        assert files_of(scratch.tree_folder) == wanted
        assert git(scratch.tree_folder, "status", "--porcelain", "--ignored") == ""


@pytest.mark.parametrize(
    "what", ["same size and times", "rights", "another file", "folder", "gone"]
)
def test_a_change_in_a_folder_that_is_known_is_seen(tmp_path, what):
    scratch, (base,) = a_scratch(tmp_path, {"s/a": "one", "s/b": "two", "t/c": "three"})
    settle(scratch, base)
    file = scratch.tree_folder / "s" / "a"
    folder, times = file.parent.stat(), file.stat()
    match what:
        case "same size and times":
            file.write_text("ONE")
            os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
        case "rights":
            file.chmod(0o755)
        case "another file":
            beside = scratch.tree_folder / "t" / "x"
            beside.write_text("ONE")
            beside.rename(file)
            os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
            os.utime(file.parent, ns=(folder.st_atime_ns, folder.st_mtime_ns))
        case "folder":
            file.unlink()
            file.mkdir()
        case "gone":
            file.unlink()
            os.utime(file.parent, ns=(folder.st_atime_ns, folder.st_mtime_ns))
    assert differing_here(scratch) == [b"s/a"]
    scratch.reset(base)
    assert files_of(scratch.tree_folder) == {"s/a": b"one", "s/b": b"two", "t/c": b"three"}


def test_a_folder_that_was_closed_is_open_in_the_next_base(tmp_path):
    scratch, (base,) = a_scratch(tmp_path, {"s/a": "one"})
    settle(scratch, base)
    (scratch.tree_folder / "s").chmod(0o500)
    scratch.changes()
    scratch.reset(base)
    assert (scratch.tree_folder / "s").stat().st_mode & 0o700 == 0o700


# --- where no command ran -------------------------------------------------------------


def walks(scratch, monkeypatch):
    """How often the tree is looked at from now on."""
    seen, walk = [], scratch._small._walk

    def count(**how):
        seen.append(how)
        return walk(**how)

    monkeypatch.setattr(scratch._small, "_walk", count)
    return seen


def test_a_tree_in_which_no_command_ran_is_not_looked_at_again(tmp_path, monkeypatch):
    scratch, (first, second) = a_scratch(
        tmp_path, {"a": "1", "s/b": "2"}, {"a": "1", "s/b": "2", "s/c": "3"}
    )
    visits = [0]
    scratch.count_visits = lambda: visits[0]
    scratch.reset(first)
    seen = walks(scratch, monkeypatch)
    write(scratch.tree_folder, {"s/c": "3", "n/d": "4", "a": "5"})
    found = scratch.last_snapshot(["s/c", "n/d", "a", "s/gone"])
    assert {change.path for change in found.changes} == {"s/c", "n/d", "a"}
    differing_by_git(scratch, first)
    assert found.tree == in_slot(scratch, "write-tree").decode().strip()
    scratch.reset(second)
    assert seen == []
    assert files_of(scratch.tree_folder) == {"a": b"1", "s/b": b"2", "s/c": b"3"}
    assert not (scratch.tree_folder / "n").exists()
    assert git(scratch.tree_folder, "status", "--porcelain", "--ignored") == ""
    assert git(scratch.tree_folder, "rev-parse", "HEAD") == second
    assert not differing_by_git(scratch, second)


@pytest.mark.parametrize("when", ["before the look", "after the look", "nobody can say"])
def test_where_a_command_ran_the_tree_is_asked(tmp_path, when, monkeypatch):
    scratch, (base,) = a_scratch(tmp_path, {"a": "1", "s/b": "2"})
    visits = [0]
    scratch.count_visits = lambda: visits[0]
    scratch.reset(base)
    seen = walks(scratch, monkeypatch)
    if when == "before the look":
        write(scratch.tree_folder, {"s/b": "by a command"})
        visits[0] += 1
        assert [change.path for change in scratch.last_snapshot(["a"]).changes] == ["s/b"]
        assert seen
        return
    assert scratch.last_snapshot(["a"]).changes == ()
    assert seen == []
    write(scratch.tree_folder, {"s/b": "by a command", "new": "x", ".git/hooks/x": "x"})
    visits[0] = None if when == "nobody can say" else visits[0] + 1
    scratch.reset(base)
    assert seen
    assert files_of(scratch.tree_folder) == {"a": b"1", "s/b": b"2"}
    assert not (scratch.tree_folder / ".git" / "hooks").exists()


def test_a_look_does_not_outlast_what_is_put_into_the_tree(tmp_path):
    scratch, (base,) = a_scratch(tmp_path, {"a": "1"})
    scratch.count_visits = lambda: 0
    scratch.reset(base)
    scratch.last_snapshot([])
    write(scratch.tree_folder, {"b": "by an implementer that failed later"})
    scratch.apply(())
    scratch.reset(base)
    assert files_of(scratch.tree_folder) == {"a": b"1"}


@pytest.mark.parametrize("path", ["./a", "s/../a", "x.pyc"])
def test_what_was_written_is_what_git_would_name(tmp_path, path):
    scratch, (base,) = a_scratch(tmp_path, {"a": "1", "s/b": "2"})
    scratch.count_visits = lambda: 0
    scratch.reset(base)
    (scratch.tree_folder / path).write_text("written")
    expected = differing_by_git(scratch, base)
    assert {change.path.encode() for change in scratch.last_snapshot([path]).changes} == expected


# --- ignore rules ---------------------------------------------------------------------


_PATTERNS = (
    *(
        "*.pyc",
        "__pycache__/",
        "build",
        "/out",
        "/a/b",
        "a/b",
        "a/*/c",
        "**/x",
        "x/**",
        "*.py[cod]",
    ),
    *("[ab]", "[!a]*", "[]a]b", "[[:alpha:]]", "[a/b]c", "a\\ b", "\\#x", "\\!y", "a?c", "*"),
    *(
        "!build",
        "!*.pyc",
        "#note",
        "",
        "  ",
        "b ",
        "b\\ ",
        "x\r",
        "[",
        "a[",
        "/",
        "//",
        "***",
        "s/",
    ),
)
_PATHS = (
    *(
        "a",
        "b",
        "a/b",
        "a/b/c",
        "a/x/c",
        "ab",
        "ac",
        "a b",
        "#x",
        "!y",
        "x",
        "x/y",
        "s/x",
        "s/build/z",
    ),
    *(
        "build",
        "build/q",
        "out",
        "s/out",
        "m.pyc",
        "m.pyo",
        "m.py",
        "__pycache__/m.pyc",
        "__pycache__",
    ),
    *("s/__pycache__/n", "[", "a[", "]b", "b ", "abc", ".pyc"),
)


@pytest.mark.parametrize("seed", range(2))
def test_what_is_said_of_a_path_is_what_git_says_of_it(tmp_path, seed):
    chance = random.Random(seed)
    a_repository(tmp_path)
    told = 0
    for _ in range(12):
        top, below, exclude = (chance.choices(_PATTERNS, k=chance.randint(0, 2)) for _ in range(3))
        write(
            tmp_path,
            {
                ".gitignore": "\n".join(top),
                "s/.gitignore": "\n".join(below),
                ".git/info/exclude": "\n".join(exclude),
            },
        )
        rules = ExcludeRules("\n".join(exclude).encode())
        rules.add("\n".join(top).encode(), at_top=True)
        rules.add("\n".join(below).encode(), at_top=False)
        said = subprocess.run(
            ["git", "check-ignore", "--no-index", "-z", "--stdin"],
            cwd=tmp_path,
            input="\0".join(_PATHS).encode(),
            capture_output=True,
            check=False,
        ).stdout
        ignored = set(said.decode().split("\0")) - {""}
        for path in _PATHS:
            judged = rules.judge(path.encode())
            if judged is not None:
                told += 1
                assert judged == (path in ignored), (path, top, below, exclude)
    assert told
