"""What an agent may do to its scratch tree, and what the runner still sees."""

import os
import shutil
import subprocess

import pytest
from repo_build import a_change, a_repository, files_of, git, summary, write
from test_proposal_bounds import a_scratch

from runner.repo import scratch as scratch_module
from runner.repo.git import Git, GitError, ObjectReader, disk_error
from runner.repo.proposal_bounds import ProposalError
from runner.repo.read import Repository
from runner.repo.scratch import Scratch

FILES = {"src/a.py": "1\n", "src/b.py": "1\n", ".gitignore": "*.log\n"}


@pytest.fixture
def scratch(tmp_path):
    with Repository.open(a_repository(tmp_path / "real", FILES)) as repo:
        made = Scratch.open(tmp_path / "slot", repo.lender())
        made.reset(repo.head().commit)
    write(made.project, {"src/a.py": "2\n", "src/new.py": "new\n"})
    return made


EXPECTED = {"src/a.py": ("modify", "0o100644"), "src/new.py": ("create", "0o100644")}


def commit(tree):
    git(tree, "add", "-A")
    git(tree, "-c", "user.name=a", "-c", "user.email=b", "commit", "-qm", "agent")


def commit_on_another_branch(tree):
    git(tree, "checkout", "-qb", "agent")
    commit(tree)


def commit_and_orphan(tree):
    commit(tree)
    git(tree, "checkout", "-q", "--orphan", "void")


def hide_in_the_index(tree):
    git(tree, "update-index", "--assume-unchanged", "src/a.py", "src/b.py")
    git(tree, "update-index", "--skip-worktree", "src/a.py")


def exclude_everything(tree):
    write(tree, {".git/info/exclude": "*\n"})
    git(tree, "config", "core.excludesFile", ".git/info/exclude")
    git(tree, "config", "core.sparseCheckout", "true")
    git(tree, "config", "core.worktree", "/")


def remove_git(tree):
    shutil.rmtree(tree / ".git")


def git_is_a_file(tree):
    shutil.rmtree(tree / ".git")
    (tree / ".git").write_text("gitdir: /nowhere\n")


def git_is_a_link(tree):
    shutil.rmtree(tree / ".git")
    (tree / ".git").symlink_to("/")


def break_git(tree):
    write(tree, {".git/config": "[not a config", ".git/HEAD": "", ".git/index": "x"})


def change_the_person(tree):
    git(tree, "config", "--global", "core.excludesFile", "/dev/zero")
    git(tree, "config", "--global", "core.autocrlf", "true")


def lock_the_index(tree):
    write(tree, {".git/index.lock": ""})


@pytest.mark.parametrize(
    "deed",
    [commit, commit_on_another_branch, commit_and_orphan, hide_in_the_index, exclude_everything,
     remove_git, git_is_a_file, git_is_a_link, break_git, change_the_person, lock_the_index],
)  # fmt: skip
def test_whatever_is_done_to_git_inside_the_files_are_seen(scratch, deed, tmp_path):
    deed(scratch.tree_folder)

    assert summary(scratch.changes()) == EXPECTED
    scratch.reset(scratch.base)
    assert scratch.changes() == ()
    assert git(scratch.tree_folder, "log", "--format=%s") == "begin"
    assert git(scratch.tree_folder, "status", "--porcelain") == ""
    assert git(tmp_path / "real", "branch", "--format=%(refname)") == "refs/heads/main"


@pytest.mark.parametrize(
    "words", [("reset", "-q", "--hard"), ("clean", "-ffdxq"), ("stash", "-uq")]
)
def test_work_thrown_away_is_thrown_away(scratch, words):
    git(scratch.tree_folder, "config", "user.name", "a")
    git(scratch.tree_folder, "config", "user.email", "b")
    git(scratch.tree_folder, *words)

    seen = summary(scratch.changes())

    kept = {"reset": {"src/new.py"}, "clean": {"src/a.py"}, "stash": set()}[words[0]]
    assert set(seen) == kept


def test_a_change_in_the_same_second_with_the_old_times_is_seen(scratch):
    scratch.reset(scratch.base)
    file = scratch.project / "src/a.py"
    times = file.stat()
    file.write_text("9\n")
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))

    assert summary(scratch.changes()) == {"src/a.py": ("modify", "0o100644")}

    file.write_text("8\n")
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert scratch.changes()[0].content == b"8\n"
    scratch.reset(scratch.base)
    assert file.read_text() == "1\n"


def test_a_repository_inside_is_reported_as_one(scratch):
    inner = a_repository(scratch.project / "vendored", {"x": "1"})
    assert summary(scratch.changes()) == EXPECTED | {"vendored": ("create", "0o160000")}

    shutil.rmtree(inner)
    git(scratch.project, "init", "-q", "vendored")
    write(inner, {"x": "no commit yet"})
    assert summary(scratch.changes()) == EXPECTED | {"vendored": ("create", "0o160000")}


def test_pipes_do_not_stop_the_runner(scratch, monkeypatch):
    monkeypatch.setattr(scratch_module, "_SOON", 0.5)
    os.mkfifo(scratch.project / "src/.gitattributes")
    os.mkfifo(scratch.project / "pipe")

    assert summary(scratch.changes()) == EXPECTED


def test_a_tracked_file_that_became_a_pipe_is_reported_as_no_file(scratch):
    (scratch.project / "src/b.py").unlink()
    os.mkfifo(scratch.project / "src/b.py")

    seen = summary(scratch.changes())

    assert set(seen) == {*EXPECTED, "src/b.py"}
    assert seen["src/b.py"][1] not in {"0o100644", "0o100755"}


@pytest.mark.parametrize("name", [".GIT/config", "git~1/x", "sub/.Git/hooks/x"])
def test_names_git_refuses_are_reported(scratch, name):
    write(scratch.project, {name: "x"})

    assert name in summary(scratch.changes())


def test_unreadable_files_are_read_by_their_owner(scratch):
    (scratch.project / "src/new.py").chmod(0)
    (scratch.project / "src").chmod(0o300)

    assert set(summary(scratch.changes())) == set(EXPECTED)


def test_a_tree_that_became_a_link_is_not_followed(scratch, tmp_path):
    precious = tmp_path / "precious"
    write(precious, {"keep": "me"})
    shutil.rmtree(scratch.tree_folder)
    scratch.tree_folder.symlink_to(precious)

    scratch.reset(scratch.base)

    assert files_of(precious) == {"keep": b"me"}
    assert not scratch.tree_folder.is_symlink()
    assert scratch.changes() == ()


def test_a_damaged_slot_is_built_anew(scratch):
    for damage in ("index", "HEAD", "config", "objects/info/alternates", "info/attributes"):
        (scratch.slot / "git" / damage).write_bytes(b"\0garbage")
        scratch.reset(scratch.base)
        assert scratch.changes() == ()
    shutil.rmtree(scratch.slot / "git")
    scratch.reset(scratch.base)
    shutil.rmtree(scratch.tree_folder)
    scratch.reset(scratch.base)
    assert set(files_of(scratch.project)) == set(FILES)
    assert list(scratch.slot.glob("aside-*")) == []


def test_what_resists_is_moved_aside(scratch):
    done = subprocess.run(
        ["chattr", "+i", scratch.project / "src/new.py"], capture_output=True, check=False
    )
    if done.returncode:
        pytest.skip("this file system has no immutable files")
    try:
        scratch.reset(scratch.base)
        assert files_of(scratch.project) == {path: said.encode() for path, said in FILES.items()}
    finally:
        for aside in scratch.slot.rglob("new.py*"):
            subprocess.run(["chattr", "-i", aside], check=False)


def test_an_ignore_rule_the_agent_adds_hides_only_new_files_and_is_itself_a_change(scratch):
    write(scratch.project, {".gitignore": "*\n"})

    assert set(summary(scratch.changes())) == {".gitignore", "src/a.py"}


# --- a disk that fails is never taken for an empty file -------------------------------


def test_a_file_that_git_could_not_take_up_is_refused_and_not_landed_empty(tmp_path):
    scratch = a_scratch(a_repository(tmp_path / "real", {"a": "1"}), tmp_path / "slot")
    write(scratch.project, {"ü": "two"})  # a name that git itself has to judge
    objects = tmp_path / "slot/git/objects"
    for number in range(256):  # git writes an object nowhere
        (objects / f"{number:02x}").write_text("")
    with pytest.raises(ProposalError, match="git could not add"):
        scratch.changes()


def test_a_disk_that_fills_up_while_a_proposal_is_read_is_said_to_be_full(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "t", disk], check=False).returncode:
        pytest.skip("only who may mount has a disk to fill")
    try:
        scratch = a_scratch(a_repository(tmp_path / "real", {"a": "1"}), disk / "slot")
        scratch.apply([a_change("ü", os.urandom(300_000))])
        left = os.statvfs(disk)
        (disk / "filler").write_bytes(bytes(left.f_bavail * left.f_frsize - 50_000))
        with pytest.raises(OSError, match="No space left on device"):
            scratch.changes()
        (disk / "filler").unlink()
        assert [len(change.content) for change in scratch.changes()] == [300_000]
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


@pytest.mark.parametrize("said", [b"", b"%s blo", b"%s blob 9\n", b"%s blob 9\nfour"])
def test_what_git_leaves_half_said_is_no_answer(tmp_path, said, monkeypatch):
    a_repository(tmp_path / "real", {"a": "1"})
    name = "a" * 40
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "said").write_bytes(said.replace(b"%s", name.encode()))
    (programs / "git").write_text(f"#!/bin/sh\nread line\ncat {programs}/said\n")
    (programs / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    reader = ObjectReader(Git(tmp_path / "real"))
    with pytest.raises(GitError, match="cat-file"):
        reader.read(name)
    reader.close()


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("fatal: unable to write loose object file: No space left on device", "No space"),
        ("error: b.bin: failed to insert into database: Input/output error", "Input/output"),
        ("fatal: pathspec 'x' did not match any files", None),
    ],
)
def test_what_git_says_of_the_disk_is_known_as_the_disks(tmp_path, said, words):
    met = disk_error(said, tmp_path)
    assert (met and words in str(met)) if words else met is None
