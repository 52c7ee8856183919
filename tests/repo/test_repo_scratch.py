import mmap
import os
import random
import shutil
import tempfile
import time
from pathlib import Path

import pytest
from repo_build import a_change, a_repository, commit_all, files_of, git, summary, write

from runner.errors import RunnerError
from runner.model import digest_of
from runner.repo import worktree_scan
from runner.repo.commit import commit_tree
from runner.repo.git import GitError
from runner.repo.read import Repository
from runner.repo.scratch import Scratch
from runner.repo.tree_files import tells_changes


def a_scratch(real, slot, *, shares=()):
    with Repository.open(real) as repo:
        scratch = Scratch.open(slot, repo.lender(), shares=shares)
        scratch.reset(repo.head().commit)
    return scratch


def test_the_tree_is_the_base_byte_for_byte(tmp_path):
    real = a_repository(tmp_path / "real")
    files = {
        "crlf.txt": b"a\r\nb\r\n",
        "bin": bytes(range(256)),
        "with space/ü.py": b"x",
        "-dash": b"",
        "run.sh": b"#!/bin/sh\n",
        ".gitattributes": b"*.txt text eol=lf ident\n",
    }
    with Repository.open(real) as repo:
        modes = {"run.sh": 0o100755}
        changes = [
            a_change(path, said, mode=modes.get(path, 0o100644)) for path, said in files.items()
        ]
        made = commit_tree(repo, None, changes, "base")
        scratch = Scratch.open(tmp_path / "slot", repo.lender())
    scratch.reset(made.sha)

    assert files_of(scratch.tree_folder) == files
    assert os.access(scratch.tree_folder / "run.sh", os.X_OK)
    assert not os.access(scratch.tree_folder / "bin", os.X_OK)
    assert scratch.snapshot().tree == made.tree
    assert scratch.changes() == ()


def test_before_the_first_commit_the_tree_is_empty_and_fills(tmp_path):
    real = a_repository(tmp_path / "real", branch="trunk")
    write(real, {"untracked": "not seen by tasks"})
    scratch = a_scratch(real, tmp_path / "slot")

    assert files_of(scratch.tree_folder) == {}
    assert git(scratch.tree_folder, "symbolic-ref", "HEAD") == "refs/heads/trunk"
    write(scratch.project, {"src/a": "1"})
    assert summary(scratch.changes()) == {"src/a": ("create", "0o100644")}


def test_changes_are_what_the_files_say(tmp_path):
    real = a_repository(
        tmp_path / "real", {"a": "1", "gone": "1", "same": "1", "sh": "1", "s/x": "1"}
    )
    scratch = a_scratch(real, tmp_path / "slot")
    tree = scratch.project
    write(tree, {"a": b"two\r\n\0", "new/file": "n", "same": "1"})
    (tree / "gone").unlink()
    (tree / "sh").chmod(0o755)
    (tree / "link").symlink_to("a")

    changes = scratch.changes()

    assert summary(changes) == {
        "a": ("modify", "0o100644"),
        "gone": ("delete", "0o0"),
        "link": ("create", "0o120000"),
        "new/file": ("create", "0o100644"),
        "sh": ("modify", "0o100755"),
    }
    first = changes[0]
    assert (first.before, first.after) == (digest_of(b"1"), digest_of(b"two\r\n\0"))
    assert first.content == b"two\r\n\0"
    assert changes[2].content == b"a"


def test_reset_removes_everything_else(tmp_path):
    real = a_repository(tmp_path / "real", {"src/a.py": "1", ".gitignore": "ignored/\n"})
    scratch = a_scratch(real, tmp_path / "slot")
    tree = scratch.project
    expected = files_of(tree)
    write(tree, {
        "src/a.py": "changed", "src/extra": "x", "ignored/x": "x", "__pycache__/y": "",
        "src/.git/config": "x", "deep/er/.git/HEAD": "ref: x",
    })  # fmt: skip
    git(tree, "init", "-q", "nested")
    (tree / "locked/in").mkdir(parents=True)
    write(tree, {"locked/in/file": "x"})
    (tree / "locked/in").chmod(0o500)
    (tree / "locked").chmod(0o500)
    (tree / "src").chmod(0o500)
    (tree / "away").symlink_to(real)
    os.mkfifo(tree / "pipe")

    scratch.reset(scratch.base)

    assert files_of(tree) == expected
    assert sorted(path.name for path in tree.iterdir()) == [".git", ".gitignore", "src"]
    assert not (tree / "src/.git").exists()
    assert (real / "src/a.py").read_text() == "1"
    assert scratch.changes() == ()


def test_a_file_that_became_a_folder_and_back_is_reset(tmp_path):
    real = a_repository(tmp_path / "real", {"file": "1", "folder/x": "1", "folder/y": "1"})
    scratch = a_scratch(real, tmp_path / "slot")
    tree = scratch.project
    expected = files_of(tree)
    (tree / "file").unlink()
    write(tree, {"file/inside": "x"})
    git(tree, "rm", "-rqf", "folder")
    (tree / "folder").symlink_to(real)

    assert summary(scratch.changes()) == {
        "file": ("delete", "0o0"),
        "file/inside": ("create", "0o100644"),
        "folder": ("create", "0o120000"),
        "folder/x": ("delete", "0o0"),
        "folder/y": ("delete", "0o0"),
    }
    scratch.reset(scratch.base)
    assert files_of(tree) == expected == files_of(real)


def test_a_folder_too_deep_to_name_is_removed(tmp_path):
    scratch = a_scratch(a_repository(tmp_path / "real", {"a": "1"}), tmp_path / "slot")
    here = os.open(scratch.project, os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("deep-folder", dir_fd=here)
        below = os.open("deep-folder", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)

    scratch.reset(scratch.base)

    assert files_of(scratch.project) == {"a": b"1"}
    assert sorted(path.name for path in scratch.project.iterdir()) == [".git", "a"]


def test_reset_goes_from_one_base_to_another_and_back(tmp_path):
    real = a_repository(tmp_path / "real", {"a": "1", "b": "1", "only-first": "x"})
    scratch = a_scratch(real, tmp_path / "slot")
    first = scratch.base
    (real / "only-first").unlink()
    write(real, {"a": "2", "c/d": "2"})
    second = commit_all(real, "second")

    for base, expected in (
        (second, {"a": b"2", "b": b"1", "c/d": b"2"}),
        (first, {"a": b"1", "b": b"1", "only-first": b"x"}),
        (None, {}),
        (second, {"a": b"2", "b": b"1", "c/d": b"2"}),
    ):
        scratch.reset(base)
        assert files_of(scratch.tree_folder) == expected
        assert scratch.changes() == ()


def test_a_base_may_be_a_tree(tmp_path):
    real = a_repository(tmp_path / "real", {"a": "1"})
    scratch = a_scratch(real, tmp_path / "slot")
    tree = git(real, "rev-parse", "HEAD^{tree}")

    scratch.reset(tree)

    assert scratch.snapshot().tree == tree
    assert git(scratch.tree_folder, "status", "--porcelain") == ""
    assert git(scratch.tree_folder, "rev-list", "--count", "HEAD") == "1"


def test_an_unknown_base_is_an_error(tmp_path):
    scratch = a_scratch(a_repository(tmp_path / "real", {"a": "1"}), tmp_path / "slot")

    with pytest.raises(GitError):
        scratch.reset("1234567890" * 4)


def test_a_tool_inside_sees_a_clean_repository_with_its_history(tmp_path):
    real = a_repository(tmp_path / "real", {"a": "1"})
    write(real, {"a": "2"})
    commit_all(real, "second")
    scratch = a_scratch(real, tmp_path / "slot", shares=(".venv", "node_modules"))
    inside = scratch.tree_folder
    write(inside, {".venv/bin/python": "x", "node_modules/x": "y"})

    assert git(inside, "status", "--porcelain") == ""
    assert git(inside, "log", "--format=%s") == "second\nbegin"
    assert git(inside, "branch", "--show-current") == "main"
    assert scratch.changes() == ()


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("https://me:secret@host:80/o/r.git?token=secret", "https://host:80/o/r.git"),
        ("secret@host.org:o/r.git", "ssh://host.org/o/r.git"),
        ("https://me:sec/ret@host/o/r.git", ""),
        ("/home/me/r.git", ""),
    ],
)
def test_tools_read_the_address_of_origin_without_a_login(tmp_path, address, shown):
    real = a_repository(tmp_path / "real", {"a": "1"})
    git(real, "config", "remote.origin.url", address)
    config = (a_scratch(real, tmp_path / "slot").tree_folder / ".git" / "config").read_text()
    origin = f'[remote "origin"]\n\turl = "{shown}"\n\tpushurl = /dev/null\n'
    assert config.partition("[remote")[2] == (origin.partition("[remote")[2] if shown else "")


def test_a_detached_head_and_a_linked_worktree_lend_as_well(tmp_path):
    real = a_repository(tmp_path / "real", {"a": "1"})
    git(real, "worktree", "add", "-q", "--detach", str(tmp_path / "linked"))
    scratch = a_scratch(tmp_path / "linked", tmp_path / "slot")

    assert files_of(scratch.tree_folder) == {"a": b"1"}
    assert git(scratch.tree_folder, "rev-parse", "HEAD") == scratch.base
    assert git(scratch.tree_folder, "branch", "--show-current") == ""


def test_a_shallow_clone_lends_what_it_has(tmp_path):
    real = a_repository(tmp_path / "real", {"a": "1"})
    write(real, {"a": "2"})
    commit_all(real, "second")
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{real}", "copy")
    scratch = a_scratch(tmp_path / "copy", tmp_path / "slot")

    assert git(scratch.tree_folder, "log", "--format=%s") == "second"

    git(tmp_path / "copy", "fetch", "-q", "--unshallow")
    whole = a_scratch(tmp_path / "copy", tmp_path / "slot")
    assert git(whole.tree_folder, "log", "--format=%s").split() == ["second", "begin"]


def test_sha256_repositories_work(tmp_path):
    real = tmp_path / "real"
    real.mkdir()
    git(real, "init", "-q", "-b", "main", "--object-format=sha256")
    write(real, {"a": "1"})
    commit_all(real, "x")
    scratch = a_scratch(real, tmp_path / "slot")
    write(scratch.project, {"a": "2"})

    assert summary(scratch.changes()) == {"a": ("modify", "0o100644")}
    with Repository.open(real) as repo:
        made = commit_tree(repo, scratch.base, scratch.changes(), "x")
    assert len(made.sha) == 64
    assert made.tree == scratch.snapshot().tree


def test_by_products_and_ignored_files_are_no_changes(tmp_path, home):
    real = a_repository(
        tmp_path / "real", {".gitignore": "*.log\n!target/\n", "kept.pyc": "tracked"}
    )
    write(real, {".git/info/exclude": "mine\n"})
    write(home, {"config/git/ignore": "*.swp\n"})
    scratch = a_scratch(real, tmp_path / "slot")
    write(scratch.project, {
        "src/__pycache__/a.pyc": "", ".coverage": "", "node_modules/x/y": "", "x.log": "",
        "mine": "", "a.swp": "", "target/kept": "the project asks for it", "kept.pyc": "changed",
    })  # fmt: skip

    assert [change.path for change in scratch.changes()] == ["kept.pyc", "target/kept"]


def test_submodules_are_not_carried_and_never_a_change(tmp_path):
    inner = a_repository(tmp_path / "inner", {"x": "1"})
    real = a_repository(tmp_path / "real", {"a": "1"})
    git(
        real,
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        str(inner),
        "lib/inner",
    )
    commit_all(real, "submodule")
    scratch = a_scratch(real, tmp_path / "slot")
    assert scratch.snapshot().tree == git(real, "rev-parse", "HEAD^{tree}")

    write(scratch.project, {"a": "2", "lib/inner/x": "put there"})
    assert [change.path for change in scratch.changes()] == ["a"]
    git(scratch.project, "rm", "-rqf", "--cached", "--sparse", "lib")
    shutil.rmtree(scratch.project / "lib")
    assert [change.path for change in scratch.changes()] == ["a"]
    scratch.reset(scratch.base)
    assert scratch.changes() == ()


def test_a_base_with_a_submodule_after_one_without_is_made_by_git(tmp_path):
    real = a_repository(tmp_path / "real", {"a": "1"})
    before = git(real, "rev-parse", "HEAD")
    git(real, "update-index", "--add", "--cacheinfo", f"160000,{before},inner")
    git(real, "commit", "--quiet", "--message", "submodule")
    scratch = a_scratch(real, tmp_path / "slot")
    for _ in range(2):
        scratch.reset(before)
        assert scratch.snapshot().tree == git(real, "rev-parse", f"{before}^{{tree}}")
        scratch.reset(git(real, "rev-parse", "HEAD"))
        assert git(scratch.project, "ls-files", "--stage", "inner").startswith("160000 ")
        assert scratch.snapshot().tree == git(real, "rev-parse", "HEAD^{tree}")


def test_refused_content_never_enters_the_real_repository(tmp_path):
    real = a_repository(tmp_path / "real", {"a": "1"})
    before = sorted(path for path in (real / ".git/objects").rglob("*"))
    scratch = a_scratch(real, tmp_path / "slot")
    write(scratch.project, {"kéy": "secret"})  # a name that git itself has to judge
    name = git(real, "hash-object", "--stdin", stdin=b"secret")

    assert scratch.changes()[0].content == b"secret"
    assert sorted(path for path in (real / ".git/objects").rglob("*")) == before
    kept = scratch.slot / "git/objects" / name[:2] / name[2:]
    assert kept.exists()
    scratch.reset(scratch.base)
    assert not kept.exists()


def test_accepted_bytes_are_put_into_a_fresh_tree(tmp_path):
    real = a_repository(tmp_path / "real", {"a": "1", "gone/x": "1", "f": "1"})
    scratch = a_scratch(real, tmp_path / "slot")
    changes = (
        a_change("f/now/folder", "2"),
        a_change("f", None),
        a_change("gone/x", None),
        a_change("run", "#!", mode=0o100755),
        a_change("a", b"\r\n\0"),
    )

    scratch.apply(changes)

    assert files_of(scratch.project) == {"f/now/folder": b"2", "run": b"#!", "a": b"\r\n\0"}
    assert os.access(scratch.project / "run", os.X_OK)
    assert {change.path for change in scratch.changes()} == {change.path for change in changes}


@pytest.mark.parametrize(
    "path", ["../x", "/etc/x", "a/../../x", ".git/config", "a//b", "link/x", "a/x"]
)
def test_bytes_are_put_nowhere_else(tmp_path, path):
    scratch = a_scratch(a_repository(tmp_path / "real", {"a": "1"}), tmp_path / "slot")
    (scratch.project / "link").symlink_to(tmp_path)

    with pytest.raises(RunnerError):
        scratch.apply((a_change(path),))
    assert not (tmp_path / "x").exists()
    assert not (scratch.slot / "x").exists()


def test_a_link_where_a_file_is_put_is_replaced_not_followed(tmp_path):
    scratch = a_scratch(a_repository(tmp_path / "real", {"a": "1"}), tmp_path / "slot")
    write(tmp_path, {"outside": "theirs"})
    (scratch.project / "b").symlink_to(tmp_path / "outside")

    scratch.apply((a_change("b", "ours"),))

    assert (tmp_path / "outside").read_text() == "theirs"
    assert (scratch.project / "b").read_text() == "ours"


def test_a_project_in_a_subdirectory_counts_from_there(tmp_path):
    real = a_repository(
        tmp_path / "real", {"top": "1", "sub/TASK-GRAPH.md": "", "sub/a": "1", "other/x": "1"}
    )
    scratch = a_scratch(real / "sub", tmp_path / "slot", shares=("sub/node_modules",))
    assert scratch.project == scratch.tree_folder / "sub"
    write(scratch.project, {"a": "2", "new": "x", "node_modules/m": "shared"})
    write(scratch.tree_folder, {"top": "2", "other/y": "1"})

    changes = scratch.changes()

    assert [change.path for change in changes] == ["../other/y", "../top", "a", "new"]
    mine = [change for change in changes if not change.path.startswith("../")]
    scratch.reset(scratch.base)
    scratch.apply(mine)
    assert scratch.changes() == tuple(mine)
    with Repository.open(real / "sub") as repo:
        made = commit_tree(repo, scratch.base, mine, "x")
        assert repo.blob(made.sha, "a") == b"2"
        assert repo.blob(made.sha, "../top") == b"1"
        assert repo.list_tree(made.sha) == ("TASK-GRAPH.md", "a", "new")
        write(real, {"sub/a": "dirty", "top": "dirty", "sub/un": "x", "un": "x"})
        state = repo.state()
        assert [file.path for file in state.dirty] == ["a", "../top"]
        assert state.untracked == ("un", "../un")


NAMES = (
    "a",
    "d/b",
    "d/e/c.py",
    "new one.txt",
    "d/=+@,",
    "ü",
    "d/.gitignore",
    "a~1",
    "link",
    "gone",
)


@pytest.mark.parametrize("seed", range(2))
def test_a_few_plain_files_are_seen_as_git_itself_sees_them(tmp_path, monkeypatch, seed):
    """What is read here, and what `git add` takes up, of generated changes."""
    chance = random.Random(seed)
    before = {"a": "1", "d/b": "2", "d/e/c.py": "3", "gone": "4", "d/x": "5"}
    with_base = a_scratch(a_repository(tmp_path / "real", before), tmp_path / "slot")
    for _ in range(6):
        for name in chance.sample(NAMES, 3):
            file = with_base.project / name
            shutil.rmtree(file, ignore_errors=True)
            file.unlink(missing_ok=True)
            act = chance.choice(("write", "write", "write", "remove", "link", "folder"))
            file.parent.mkdir(parents=True, exist_ok=True)
            if act == "write":
                file.write_text(f"{chance.random()}\n" if name != "d/.gitignore" else "new*\n")
                file.chmod(chance.choice((0o644, 0o755)))
            elif act == "link":
                file.symlink_to(chance.choice(("a", "/etc/passwd", "nowhere")))
            elif act == "folder":
                file.mkdir()
                (file / "inner").write_text("1")
        seen = with_base.snapshot()
        with monkeypatch.context() as patch:
            patch.setattr("runner.repo.scratch._FEW", -1)
            assert with_base.snapshot() == seen


def test_a_file_behind_a_link_is_not_read_as_one_of_the_tree(tmp_path):
    real = a_repository(tmp_path / "real", {"d/b": "1"})
    write(real, {".gitignore": "/d\n"})
    commit_all(real, "ignore")
    scratch = a_scratch(real, tmp_path / "slot")
    outside = tmp_path / "outside"
    write(outside, {"b": "not the tree's"})
    shutil.rmtree(scratch.project / "d")
    (scratch.project / "d").symlink_to(outside)
    (change,) = scratch.changes()
    assert (change.path, change.content) == ("d/b", None)


def test_a_folder_that_became_an_ignored_link_to_its_own_copy_is_gone(tmp_path):
    real = a_repository(tmp_path / "real", {"d/b": "1", "ü/c": "1"})
    write(real, {".gitignore": "/d\n"})
    commit_all(real, "ignore")
    scratch = a_scratch(real, tmp_path / "slot")
    (scratch.project / "d").rename(tmp_path / "moved")
    (scratch.project / "d").symlink_to(tmp_path / "moved")
    for _ in range(2):
        assert [(one.path, one.content) for one in scratch.changes()] == [("d/b", None)]
        scratch._small.forget()  # what git says of it is the same


def _write_unseen(file, content):
    """As a program may on a file system in memory: no time of the file moves."""
    before = file.stat()
    with file.open("r+b") as opened, mmap.mmap(opened.fileno(), 0) as page:
        page[0]
        page[:] = content
    after = file.stat()
    return (before.st_mtime_ns, before.st_ctime_ns) == (after.st_mtime_ns, after.st_ctime_ns)


@pytest.fixture
def memory():
    """A folder on a file system in memory."""
    place = Path("/dev/shm")
    if not (place.is_dir() and os.access(place, os.W_OK)):
        pytest.skip("there is no /dev/shm here")
    with tempfile.TemporaryDirectory(dir=place) as folder:
        yield Path(folder)


@pytest.mark.parametrize("many", [False, True], ids=["few files", "many files"])
def test_what_is_written_without_a_trace_is_seen_and_put_back(memory, many, monkeypatch):
    if many:
        monkeypatch.setattr(worktree_scan, "_MOST", 1)
    real = a_repository(memory / "real", {"a.py": "passes\n", "b.py": "checks\n"})
    head = git(real, "rev-parse", "HEAD")
    with Repository.open(real) as repo:
        scratch = Scratch.open(memory / "slot", repo.lender())
    scratch.reset(head)
    assert scratch.snapshot().changes == ()
    time.sleep(0.1)
    scratch.reset(head)
    scratch.sign()
    assert _write_unseen(scratch.tree_folder / "b.py", b"passes\n")
    assert [(one.path, one.content) for one in scratch.snapshot().changes] == [
        ("b.py", b"passes\n")
    ]
    scratch.reset(head)
    assert (scratch.tree_folder / "b.py").read_text() == "checks\n"
    assert scratch.snapshot().changes == ()


def test_on_a_disk_times_are_trusted_and_in_memory_they_are_not(memory, tmp_path):
    assert not tells_changes(memory)
    with tempfile.NamedTemporaryFile(dir=tmp_path) as file:
        file.write(bytes(4096))
        file.flush()
        time.sleep(0.05)
        assert tells_changes(tmp_path) == (not _write_unseen(Path(file.name), bytes(4096)))
    assert not any(memory.iterdir())
