"""Faults of an ownership map, and rows that history proposes."""

from __future__ import annotations

import os
import subprocess

import pytest
from impact_build import a_map, a_task

from runner.impact.owners import faults, find_touching_commits, proposals
from runner.plan.ownership import OwnershipMap
from runner.repo.read import Repository

TASKS = [a_task("TASK-001", outputs=["out/*.py"]), a_task("TASK-002")]


def found(rows, files, done=("TASK-001", "TASK-002")):
    owners = OwnershipMap.read(a_map(rows))
    return [(one.kind, one.path, one.hint) for one in faults(owners, sorted(files), TASKS, done)]


def test_a_map_that_fits_has_no_fault():
    rows = {"a.py": "TASK-001", "src/": "TASK-002", "lib": "TASK-002", "d/**": "TASK-001"}
    files = ["a.py", "src/b.py", "lib/c.py", "d/e/f.py", "out/x.py", "TASK-GRAPH.md"]
    assert found(rows, files) == []


def test_files_without_owner_rows_without_file_and_unknown_owners_are_told():
    rows = {"a.py": "TASK-001", "old/gone.py": "TASK-002", "b.py": "TASK-404", "x/*": "TASK-002"}
    assert found(rows, ["a.py", "b.py", "c.py", "new/gone.py"]) == [
        ("no-file", "old/gone.py", "did it move to new/gone.py?"),
        ("unknown-owner", "b.py", "remove it from the row, or add the task to the plan"),
        ("no-file", "x/*", "remove the row"),
        ("unowned", "c.py", "runner plan ownership propose"),
        ("unowned", "new/gone.py", "runner plan ownership propose"),
    ]


def test_a_file_that_its_task_is_yet_to_write_is_no_fault():
    assert found({"later.py": "TASK-002"}, [], done=["TASK-001"]) == []


def test_a_row_that_names_everything_is_a_fault():
    assert [one[:2] for one in found({"**": "TASK-001"}, ["a.py"])] == [("everything", "**")]


@pytest.mark.no_cover
def test_a_hundred_thousand_rows_are_checked_in_seconds():
    rows = {f"src/p{at // 100}/m{at}.py": "TASK-001" for at in range(20_000)}
    assert found(rows, list(rows)) == []


# --- history ----------------------------------------------------------------------------


@pytest.fixture
def place(tmp_path, monkeypatch):
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "Ada")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "ada@example.org")
    folder = tmp_path / "shop"
    folder.mkdir()
    return folder


def git(place, *words):
    subprocess.run(["git", *words], cwd=place, check=True, capture_output=True)


def commit(place, message, **files):
    for name, text in files.items():
        (place / f"{name}.py").write_text(text)
    git(place, "add", "-A")
    git(place, "commit", "-qm", message)


def proposed(place, known=("TASK-001", "TASK-002", "TASK-003")):
    with Repository.open(place) as repository:
        head = repository.head().commit
        files = repository.list_tree(head)
        return [
            tuple(one) for one in proposals(find_touching_commits(repository, head, known), files)
        ]


def test_trailers_come_first_then_what_subjects_name(place):
    git(place, "init", "-q", "-b", "main")
    commit(place, "start", a="1", b="1", c="1")
    commit(place, "feat: things\n\nTask: TASK-001", a="2")
    commit(place, "fix for task 2 and TASK-404", a="3", b="2")
    commit(place, "feat(TASK-003): more\n\nTask: TASK-003\nAttempt: 1", a="4")
    assert proposed(place) == [
        ("a.py", ("TASK-001", "TASK-003"), True),
        ("b.py", ("TASK-002",), False),
    ]


def test_a_file_that_moved_keeps_its_tasks(place):
    git(place, "init", "-q", "-b", "main")
    commit(place, "one\n\nTask: TASK-001", a="some content\n" * 5)
    git(place, "mv", "--", "a.py", "-moved\tü.py")
    commit(place, "tidy")
    assert proposed(place) == [("-moved\tü.py", ("TASK-001",), True)]


def test_only_the_projects_own_files_count_in_a_folder_of_a_repository(place):
    git(place, "init", "-q", "-b", "main")
    (place / "sub").mkdir()
    commit(place, "one\n\nTask: TASK-001", a="1")
    (place / "sub" / "b.py").write_text("1")
    commit(place, "two\n\nTask: TASK-002")
    with Repository.open(place / "sub") as repository:
        head = repository.head().commit
        history = find_touching_commits(repository, head, ["TASK-001", "TASK-002"])
        assert [one.path for one in proposals(history, repository.list_tree(head))] == ["b.py"]
