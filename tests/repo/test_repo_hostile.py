"""A repository that brings programs along: none of them runs."""

import stat
import subprocess

import pytest
from repo_build import a_change, a_repository, git, put_in_real_tree, write

from runner.repo.commit import commit_tree, swap_branch
from runner.repo.index_lock import sync_index
from runner.repo.merge import carry
from runner.repo.read import Repository
from runner.repo.refs import draft, drop_ref, keep_ref
from runner.repo.scratch import Scratch

HOOKS = (
    "pre-commit",
    "post-commit",
    "commit-msg",
    "prepare-commit-msg",
    "reference-transaction",
    "post-index-change",
    "post-checkout",
    "fsmonitor-watchman",
    "pre-auto-gc",
    "post-rewrite",
)


def a_trap(folder, name):
    """A program that leaves a marker when it runs."""
    trap = folder / f"trap-{name}"
    marker = folder / "ran" / name
    marker.parent.mkdir(exist_ok=True)
    trap.write_text(f"#!/bin/sh\ntouch '{marker}'\ncat\n")
    trap.chmod(0o755)
    return str(trap)


def a_hostile_repository(tmp_path):
    files = {
        "a.txt": "1\n",
        "b.bin": "2\n",
        ".gitattributes": "* filter=evil diff=evil merge=evil\n*.bin filter=worse diff=evil\n",
    }
    real = a_repository(tmp_path / "real", files)
    settings = {
        "core.fsmonitor": "fsmonitor",
        "core.sshCommand": "ssh",
        "core.pager": "pager",
        "core.editor": "editor",
        "core.askPass": "askpass",
        "core.gitProxy": "proxy",
        "core.alternateRefsCommand": "refs",
        "credential.helper": "credential",
        "filter.evil.clean": "clean",
        "filter.evil.smudge": "smudge",
        "filter.worse.process": "process",
        "diff.evil.textconv": "textconv",
        "diff.evil.command": "diffcommand",
        "diff.external": "external",
        "merge.evil.driver": "driver",
        "gpg.program": "gpg",
        "alias.status": "alias",
        "pager.status": "pagerstatus",
        "trailer.x.command": "trailer",
    }
    for key, name in settings.items():
        git(real, "config", key, a_trap(tmp_path, name))
    for key in ("filter.evil.required", "filter.worse.required", "commit.gpgSign"):
        git(real, "config", key, "true")
    git(real, "config", "log.showSignature", "true")
    for hook in HOOKS:
        (real / ".git/hooks").mkdir(exist_ok=True)
        (real / ".git/hooks" / hook).write_text(f"#!/bin/sh\ntouch '{tmp_path}/ran/hook-{hook}'\n")
        (real / ".git/hooks" / hook).chmod(0o755)
    return real


def ran(tmp_path):
    return sorted(path.name for path in (tmp_path / "ran").iterdir())


def test_the_traps_of_this_test_are_real(tmp_path):
    real = a_hostile_repository(tmp_path)
    write(real, {"a.txt": "changed\n"})

    for words in (["status"], ["diff"], ["add", "a.txt"], ["update-ref", "refs/x", "HEAD"]):
        subprocess.run(["git", *words], cwd=real, capture_output=True, check=False)

    assert {"clean", "process", "fsmonitor", "hook-reference-transaction"} <= set(ran(tmp_path))


def test_reading_state_and_history_runs_nothing(tmp_path):
    real = a_hostile_repository(tmp_path)
    write(real, {"a.txt": "changed\n", "b.bin": "changed too\n", "new": "x"})

    with Repository.open(real) as repo:
        state = repo.state()
        head = repo.head().commit
        assert repo.blob("HEAD", "a.txt") == b"1\n"
        assert list(repo.log_trailers("HEAD")) == []
        assert repo.find_landing(head, "TASK-1", 1) is None
        assert repo.diff_trees(None, head)
        assert repo.is_ancestor(head, head)
        assert repo.load_signing().program == "gpg"  # the one on PATH
        repo.attributes(("a.txt",), ("filter",))

    assert [file.path for file in state.dirty] == ["a.txt", "b.bin"]
    assert ran(tmp_path) == []


def test_landing_and_keeping_run_nothing(tmp_path):
    real = a_hostile_repository(tmp_path)
    git(real, "config", "commit.gpgSign", "false")  # what signs is tried in test_repo_landing
    with Repository.open(real) as repo:
        head = repo.head()
        changes = (a_change("a.txt", "landed\n"), a_change("c.bin", "made\n"))
        made = commit_tree(repo, head.commit, changes, "feat: x\n\nTask: T1\nAttempt: 1\n")
        put_in_real_tree(real, changes)
        assert swap_branch(repo, head, head.commit, made.sha)
        sync_index(repo, [change.path for change in changes], head.commit, made.sha)
        draft(repo, "T2", "work", made.sha, (a_change("d", "x"),), "draft")
        keep_ref(repo, "kept", made.sha)
        drop_ref(repo, "kept")
        assert repo.state().dirty == ()

    assert ran(tmp_path) == []


def test_a_scratch_tree_runs_nothing_and_holds_the_bytes_git_stores(tmp_path):
    real = a_hostile_repository(tmp_path)
    with Repository.open(real) as repo:
        base = repo.head().commit
        scratch = Scratch.open(tmp_path / "slot", repo.lender())
    scratch.reset(base)
    write(scratch.project, {"a.txt": "changed\n", "b.bin": "changed\n", "n.bin": "x"})

    assert [change.path for change in scratch.changes()] == ["a.txt", "b.bin", "n.bin"]
    with Repository.open(real) as repository:
        carry(repository, (base, base), scratch.changes())

    assert ran(tmp_path) == []


@pytest.mark.parametrize("how", ["a setting", "a link"])
def test_no_file_of_the_person_comes_into_a_scratch_tree_as_rules_of_ignoring(tmp_path, home, how):
    real = a_repository(tmp_path / "real", {"a": "1", "ours": "*.mine\n"})
    private = home / "key"
    write(home, {"key": "PRIVATE\n", "config/git/ignore": "*.swp\n"})
    if how == "a setting":
        git(real, "config", "core.excludesFile", str(private))
    else:
        (real / ".git/info/exclude").unlink(missing_ok=True)
        (real / ".git/info/exclude").symlink_to(private)
    with Repository.open(real) as repo:
        scratch = Scratch.open(tmp_path / "slot", repo.lender())
        scratch.reset(repo.head().commit)
    assert b"PRIVATE" not in (scratch.tree_folder / ".git/info/exclude").read_bytes()
    write(scratch.project, {"a.swp": "", "b": ""})
    assert [change.path for change in scratch.changes()] == ["b"]

    git(real, "config", "core.excludesFile", "ours")  # of the repository itself
    with Repository.open(real) as repo:
        assert b"*.mine" in repo.ignore_rules()
    git(real, "config", "core.excludesFile", "~nobody-of-this-name/x")
    with Repository.open(real) as repo:
        assert b"*.swp" in repo.ignore_rules()


@pytest.mark.parametrize("inside", [".git/config", ".git/info/attributes"])
def test_programs_an_agent_configures_in_its_tree_do_not_run(tmp_path, inside):
    real = a_repository(tmp_path / "real", {"a.txt": "1\n"})
    with Repository.open(real) as repo:
        scratch = Scratch.open(tmp_path / "slot", repo.lender())
        scratch.reset(repo.head().commit)
    trap = a_trap(tmp_path, "agent")
    tree = scratch.tree_folder
    for key in ("filter.evil.clean", "core.fsmonitor", "diff.evil.textconv"):
        git(tree, "config", key, trap)
    write(tree, {".git/info/attributes": "* filter=evil\n", "a.txt": "2\n"})
    hook = tree / ".git/hooks/post-index-change"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\n{trap} </dev/null\n")
    hook.chmod(hook.stat().st_mode | stat.S_IXUSR)

    changes = scratch.changes()

    assert [(change.path, change.content) for change in changes] == [("a.txt", b"2\n")]
    assert ran(tmp_path) == []
    scratch.reset(scratch.base)
    assert scratch.changes() == ()
    assert trap not in (tree / ".git/config").read_text()
    assert ran(tmp_path) == []


def test_a_filter_of_the_persons_own_still_works_for_their_status(tmp_path, home):
    real = a_repository(tmp_path / "real", {"a.txt": "x\n", ".gitattributes": "a.txt filter=own\n"})
    (home / "gitconfig").write_text('[filter "own"]\n\tclean = sed s/y/x/\n')
    write(real, {"a.txt": "y\n"})

    with Repository.open(real) as repo:
        assert repo.state().dirty == ()
