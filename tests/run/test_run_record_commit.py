"""The record commit: the runner's spans of the documents, and nothing that a person has unsaved."""

import os
import subprocess

import pytest

from runner import effects
from runner.model import Status
from runner.repo.read import Repository
from runner.run.landing.plan_documents import OwnershipDocument, PlanDocument
from runner.run.landing.record_commit import SUBJECT, record
from runner.run.landing.status_writer import StatusWriter

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


def recorded(root, *parts, trailers=()):
    with Repository.open(root) as repository:
        return record(repository, root, repository.head(), parts, trailers)


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
