"""The record commit: the runner's spans of the documents, and nothing that a person has unsaved."""

import os
import subprocess

import pytest

from runner import effects
from runner.model import Status
from runner.repo.read import Repository
from runner.run.landing.record_commit import SUBJECT, LastRecord, follow, record
from runner.run.landing.status_writer import OwnershipDocument, PlanDocument, StatusWriter

PLAN = "# Shop\n\n## TASK-001: One\n\n- Status: PENDING\n"
MAP = "| File | Tasks |\n|---|---|\n| `mine.txt` | TASK-009 |\n"


@pytest.fixture
def root(tmp_path, monkeypatch):
    for name in tuple(os.environ):
        if name.startswith("GIT_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    folder = tmp_path / "shop"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    git(folder, "config", "user.name", "Ada")
    git(folder, "config", "user.email", "ada@example.org")
    (folder / "TASK-GRAPH.md").write_text(PLAN)
    (folder / "FILE_OWNERSHIP_MAP.md").write_text(MAP)
    return folder


def git(folder, *words):
    done = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.removesuffix("\n")


def documents(root, status=Status.DONE):
    board = StatusWriter(root / "TASK-GRAPH.md", ())
    plan = PlanDocument("TASK-GRAPH.md", lambda: {"TASK-001": (status, "")}, board.edit)
    owners = OwnershipDocument(root)
    owners.add("TASK-001", ["a.txt"])
    return plan, owners


def recorded(root, *parts, trailers=(), last=None):
    with Repository.open(root) as repository:
        return record(repository, root, repository.head(), parts, trailers, last)


def test_a_persons_unsaved_words_stay_theirs(root):
    git(root, "add", "-A")
    git(root, "commit", "-qm", "begin")
    plan, owners = documents(root)
    (root / "TASK-GRAPH.md").write_text(PLAN.replace("PENDING", "DONE") + "\nunsaved\n")
    (root / "FILE_OWNERSHIP_MAP.md").write_text(MAP + "| `unsaved.txt` | TASK-008 |\n")
    owners.write()
    assert recorded(root, plan, owners)
    assert git(root, "log", "-1", "--format=%s") == SUBJECT
    assert git(root, "show", "HEAD:TASK-GRAPH.md") + "\n" == PLAN.replace("PENDING", "DONE")
    assert (
        git(root, "show", "HEAD:FILE_OWNERSHIP_MAP.md") + "\n" == MAP + "| `a.txt` | TASK-001 |\n"
    )
    left = git(root, "diff", "-U0", "HEAD")
    assert "+unsaved" in left
    assert "+| `unsaved.txt` | TASK-008 |" in left
    assert "DONE" not in left
    assert git(root, "diff", "--cached") == ""


def test_files_that_nobody_added_stay_untracked(root):
    (root / "x.txt").write_text("x")
    git(root, "add", "x.txt")
    git(root, "commit", "-qm", "begin")
    assert recorded(root, *documents(root)) is None
    assert git(root, "log", "--format=%s") == "begin"


def test_nothing_new_is_no_commit_and_a_check_alone_is_one(root):
    git(root, "add", "-A")
    git(root, "commit", "-qm", "begin")
    plan, _ = documents(root, Status.PENDING)
    assert recorded(root, plan) is None
    assert recorded(root, plan, trailers=[("Checked", "TASK-002 attempt=1 spec=a b")])
    assert "Checked: TASK-002 attempt=1" in git(root, "log", "-1", "--format=%B")
    assert git(root, "rev-parse", "HEAD^{tree}") == git(root, "rev-parse", "HEAD~1^{tree}")


def test_on_another_branch_nothing_is_recorded(root):
    git(root, "add", "-A")
    git(root, "commit", "-qm", "begin")
    with Repository.open(root) as repository:
        began = repository.head()
        git(root, "switch", "-qc", "other")
        assert record(repository, root, began, documents(root)) is None
    assert git(root, "log", "--format=%s") == "begin"


def test_a_map_that_is_saved_at_the_same_moment_is_not_overwritten(root):
    _, owners = documents(root)
    path = root / "FILE_OWNERSHIP_MAP.md"
    saved = []

    def somebody_saves(kind, target):
        if kind == "replace" and target == str(path) and not saved:
            saved.append(path.write_text(MAP + "| `theirs.txt` | TASK-007 |\n"))

    effects.watch(somebody_saves)
    try:
        owners.write()
        owners.write()
    finally:
        effects.unwatch(somebody_saves)
    text = path.read_text()
    assert "theirs.txt" in text
    assert "a.txt" in text


# --- in place of the last one ---------------------------------------------------------


def begin(root):
    """A plan that is committed, and a record upon it; gives that."""
    git(root, "add", "-A")
    git(root, "commit", "-qm", "begin")
    (root / "TASK-GRAPH.md").write_text(PLAN.replace("PENDING", "BLOCKED"))
    plan, owners = documents(root, Status.BLOCKED)
    owners.write()
    return recorded(root, plan, owners)


def again(root, last, **more):
    (root / "TASK-GRAPH.md").write_text(PLAN.replace("PENDING", "DONE"))
    plan, _ = documents(root)
    return recorded(root, plan, last=LastRecord(last, **more))


def subjects(root):
    return git(root, "log", "--format=%s").split("\n")


def test_the_next_record_takes_the_place_of_the_last_with_what_that_wrote(root):
    last = begin(root)
    (root / "FILE_OWNERSHIP_MAP.md").write_text(MAP + "unsaved\n")
    assert again(root, last)
    assert subjects(root) == [SUBJECT, "begin"]
    assert git(root, "show", "HEAD:TASK-GRAPH.md") + "\n" == PLAN.replace("PENDING", "DONE")
    assert "a.txt" in git(root, "show", "HEAD:FILE_OWNERSHIP_MAP.md")
    assert git(root, "diff", "--cached") == ""
    assert git(root, "rev-parse", "HEAD@{1}") == last  # to be had again by the reflog


def test_a_record_that_only_takes_the_last_back_stands_upon_it(root):
    git(root, "add", "-A")
    git(root, "commit", "-qm", "begin")
    plan, _ = documents(root, Status.BLOCKED)
    (root / "TASK-GRAPH.md").write_text(PLAN.replace("PENDING", "BLOCKED"))
    last = recorded(root, plan)
    (root / "TASK-GRAPH.md").write_text(PLAN)
    plan, _ = documents(root, Status.PENDING)
    assert recorded(root, plan, last=LastRecord(last))
    assert subjects(root) == [SUBJECT, SUBJECT, "begin"]


def worktree(root):
    git(root, "worktree", "add", "-q", "--detach", str(root.parent / "beside"), "HEAD")


def amended(root):
    git(root, "commit", "-q", "--amend", "-m", f"{SUBJECT} by hand")


def merged(root):
    head = git(root, "rev-parse", "HEAD")
    tree = git(root, "rev-parse", "HEAD^{tree}")
    parents = (
        "-p",
        git(root, "rev-parse", "HEAD^"),
        "-p",
        git(root, "commit-tree", tree, "-m", "x"),
    )
    made = git(root, "commit-tree", tree, *parents, "-m", SUBJECT)
    git(root, "update-ref", "HEAD", made, head)


def signed(root):
    """The same commit with a signature, as git stores one; nobody checks it here."""
    said = git(root, "cat-file", "commit", "HEAD")
    head, _, message = said.partition("\n\n")
    text = (
        f"{head}\ngpgsig -----BEGIN SSH SIGNATURE-----\n -----END SSH SIGNATURE-----\n\n{message}\n"
    )
    made = subprocess.run(
        ["git", "hash-object", "-t", "commit", "-w", "--stdin"],
        cwd=root, input=text, capture_output=True, text=True, check=True,
    )  # fmt: skip
    git(root, "update-ref", "HEAD", made.stdout.strip())


KNOWN = {
    "tag": lambda root: git(root, "tag", "kept"),
    "annotated tag": lambda root: git(root, "tag", "-a", "kept", "-m", "kept"),
    "branch": lambda root: git(root, "branch", "other"),
    "pushed": lambda root: git(root, "update-ref", "refs/remotes/origin/main", "HEAD"),
    "open pull request": lambda root: git(root, "update-ref", "refs/pull/7/head", "HEAD"),
    "held work on it": lambda root: git(root, "update-ref", "refs/runner/held/1", "HEAD"),
    "work tree": worktree,
    "note": lambda root: git(root, "notes", "add", "-m", "seen", "HEAD"),
    "replacement": lambda root: git(root, "replace", "HEAD", "HEAD^"),
    "merge": merged,
    "signature": signed,
    "detached": lambda root: git(root, "switch", "-q", "--detach"),
}


@pytest.mark.parametrize("how", KNOWN)
def test_a_record_that_anything_else_knows_stays_beneath_the_next(root, how):
    begin(root)
    KNOWN[how](root)
    last = git(root, "rev-parse", "HEAD")  # even where the journal said it was its own
    assert again(root, last)
    assert git(root, "--no-replace-objects", "rev-parse", "HEAD^") == last


@pytest.mark.parametrize("how", ["amended", "unknown", "proven on", "evidence", "beneath"])
def test_a_record_that_is_not_this_journals_last_stays(root, how):
    last = begin(root)
    more = {}
    if how == "amended":
        amended(root)
    elif how == "unknown":
        last = ""
    elif how == "proven on":
        more = {"bases": {last}}
    elif how == "evidence":
        plan, _ = documents(root, Status.BLOCKED)
        last = recorded(root, plan, trailers=[("Checked", "TASK-002 attempt=1 spec=a b")])
    else:
        (root / "x.txt").write_text("x")
        git(root, "add", "x.txt")
        git(root, "commit", "-qm", "mine")
    tip = git(root, "rev-parse", "HEAD")
    assert again(root, last, **more)
    assert git(root, "rev-parse", "HEAD^") == tip


def test_of_a_branch_that_moves_meanwhile_nothing_is_rewritten(root):
    last = begin(root)

    def somebody_commits(kind, target):
        if not done and kind == "git" and target.endswith("update-ref"):
            done.append(target)
            (root / ".git/refs/heads/main").write_text(theirs + "\n")

    done = []
    theirs = git(root, "commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", "theirs")
    effects.watch(somebody_commits)
    try:
        assert again(root, last) is None
    finally:
        effects.unwatch(somebody_commits)
    assert done
    assert subjects(root) == ["theirs", SUBJECT, "begin"]


def test_a_crash_before_the_index_is_brought_after_it_is_put_right(root):
    last = begin(root)
    index = (root / ".git/index").read_bytes()
    assert again(root, last)
    (root / ".git/index").write_bytes(index)
    assert git(root, "diff", "--cached", "--name-only") != ""
    with Repository.open(root) as repository:
        follow(repository, ["TASK-GRAPH.md", "FILE_OWNERSHIP_MAP.md"], last)
    assert git(root, "diff", "--cached") == ""
