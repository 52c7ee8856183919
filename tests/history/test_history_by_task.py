"""Logged writes become one commit a task; everything else in tree and index stays."""

import subprocess
import sys
from pathlib import Path

import pytest
from history_build import commit_of
from workplace import a_task

from runner.model import Action, Change, digest_of
from runner.repo.commit import commit_tree
from runner.repo.read import Repository
from runner.repo.refs import keep_ref
from runner.writes.log import Fate, WriteLog, WriteReview

_PLAIN = 0o100644


def logged(place, task, path, after, *, attempt=1, keep=False):
    """An approved write that is in the tree and in no commit."""
    file = place.root / path
    before = file.read_bytes() if file.exists() else None
    content = None if after is None else after.encode()
    kind = Action.CREATE if before is None else Action.DELETE if after is None else Action.MODIFY
    change = Change(
        path,
        kind,
        _PLAIN if content is not None else 0,
        None if before is None else digest_of(before),
        None if content is None else digest_of(content),
        content,
    )
    log = WriteLog(place.root)
    whose = {"run": "r", "task": task, "attempt": attempt}
    log.record([change], **whose, review=WriteReview.APPLIED)
    log.close(**whose, fate=Fate.LANDED)
    if keep:
        with Repository.open(place.root) as repository:
            message = f"kept\n\nTask: {task}\nAttempt: {attempt}\n"
            made = commit_tree(repository, repository.head().commit, [change], message)
            keep_ref(repository, f"manual/{task}-{attempt}", made.sha)
    if content is None:
        file.unlink()
    else:
        place.write({path: content})


@pytest.fixture
def shop(workplace):
    workplace.write({"a.txt": "a\n"})
    workplace.plan(
        a_task("TASK-002", "Second", needs=["TASK-001"], outputs=["a.txt", "b.txt"]),
        a_task("TASK-001", "First", outputs=["a.txt", "one.txt"], fields=["Type: bugfix"]),
    )
    return workplace


def test_one_conventional_commit_a_task_in_dependency_order(shop):
    logged(shop, "TASK-002", "b.txt", "b\n")
    logged(shop, "TASK-001", "one.txt", "1\n")
    said = shop.runner("commit-by-task")
    assert said.code == 0, said.said
    assert shop.subjects[-2:] == ["fix(TASK-001): first", "feat(TASK-002): second"]
    assert shop.git("show", "--format=", "--name-only", commit_of(shop, "TASK-001")) == "one.txt"
    assert [line for line in shop.dirt if "artifacts" not in line] == []


def test_a_dry_run_says_what_it_would_commit(shop):
    logged(shop, "TASK-001", "one.txt", "1\n")
    head = shop.head
    said = shop.runner("commit-by-task", "--dry-run")
    assert said.out.splitlines() == ["would commit TASK-001 First: 1 file", "  create one.txt"]
    assert shop.head == head


def test_everything_else_in_tree_and_index_stays(shop):
    logged(shop, "TASK-001", "one.txt", "1\n")
    shop.write({"mine.txt": "mine\n", "staged.txt": "staged\n"})
    shop.git("add", "staged.txt")
    shop.runner("commit-by-task")
    left = [line for line in shop.dirt if "artifacts" not in line]
    assert left == ["A  staged.txt", "?? mine.txt"]


def test_of_a_file_that_two_tasks_wrote_each_gets_its_own_bytes(shop):
    logged(shop, "TASK-001", "a.txt", "a\nfirst\n", keep=True)
    logged(shop, "TASK-002", "a.txt", "a\nfirst\nsecond\n")
    said = shop.runner("commit-by-task")
    assert said.code == 0, said.said
    assert shop.git("show", f"{commit_of(shop, 'TASK-001')}:a.txt") == "a\nfirst"
    assert shop.git("show", "HEAD:a.txt") == "a\nfirst\nsecond"


def test_where_the_first_ones_bytes_are_gone_the_later_task_gets_both_and_it_is_said(shop):
    logged(shop, "TASK-001", "a.txt", "a\nfirst\n")
    logged(shop, "TASK-002", "a.txt", "a\nfirst\nsecond\n")
    said = shop.runner("commit-by-task")
    assert "a.txt: only its last version is logged, so all of it goes to TASK-002" in said.out
    assert shop.subjects[-1] == "feat(TASK-002): second"
    assert shop.git("show", "HEAD:a.txt") == "a\nfirst\nsecond"


def test_a_task_that_wrote_a_file_again_after_another_comes_after_it(shop):
    logged(shop, "TASK-001", "a.txt", "first\n", keep=True)
    logged(shop, "TASK-002", "a.txt", "second\n", keep=True)
    logged(shop, "TASK-001", "a.txt", "first again\n", attempt=2)
    shop.runner("commit-by-task")
    assert shop.landings == ["TASK-002", "TASK-001"]
    assert shop.git("show", "HEAD~1:a.txt") == "second"
    assert shop.git("show", "HEAD:a.txt") == "first again"


def test_a_write_that_was_taken_back_is_not_committed(shop):
    logged(shop, "TASK-001", "a.txt", "first\n")
    logged(shop, "TASK-002", "a.txt", "second\n")
    shop.write({"a.txt": "first\n"})
    shop.runner("commit-by-task")
    assert shop.landings == ["TASK-001"]
    assert shop.git("show", "HEAD:a.txt") == "first"


def test_a_file_that_a_person_went_on_with_is_left(shop):
    logged(shop, "TASK-001", "one.txt", "1\n")
    shop.write({"one.txt": "1, and mine\n"})
    said = shop.runner("commit-by-task")
    assert "not committed: one.txt (changed since its last logged write)" in said.out
    assert shop.subjects[-1] == "plan"


def test_one_task_alone(shop):
    logged(shop, "TASK-001", "one.txt", "1\n")
    logged(shop, "TASK-002", "b.txt", "b\n")
    shop.runner("commit-by-task", "--task", "1")
    assert shop.subjects[-1] == "fix(TASK-001): first"
    assert any("b.txt" in line for line in shop.dirt)
    shop.runner("commit-by-task", "--task", "2")
    assert shop.landings == ["TASK-001", "TASK-002"]


def test_one_task_does_not_come_before_what_it_depends_on(shop):
    logged(shop, "TASK-001", "one.txt", "1\n")
    logged(shop, "TASK-002", "b.txt", "b\n")
    said = shop.runner("commit-by-task", "--task", "2")
    assert said.code == 6
    assert (
        "TASK-001, which it depends on, must be committed first; nothing was committed" in said.err
    )
    assert shop.subjects[-1] == "plan"


def test_one_task_is_not_torn_apart_where_another_wrote_a_file_of_it(shop):
    logged(shop, "TASK-001", "a.txt", "a\nfirst\n", keep=True)
    logged(shop, "TASK-002", "b.txt", "b\n")
    logged(shop, "TASK-002", "a.txt", "a\nfirst\nsecond\n")
    for task, other in (("TASK-001", "TASK-002"), ("TASK-002", "TASK-001")):
        said = shop.runner("commit-by-task", "--task", task)
        assert said.code == 6
        assert f"{task} cannot be committed by itself: {other} also wrote a.txt" in said.err
        assert "hint: `runner pipeline commit-by-task` commits all logged writes" in said.err
    assert shop.subjects[-1] == "plan"
    assert shop.runner("commit-by-task").code == 0
    assert shop.landings == ["TASK-001", "TASK-002"]


def test_deletions_and_a_second_call(shop):
    logged(shop, "TASK-001", "a.txt", None)
    shop.runner("commit-by-task")
    assert "a.txt" not in shop.git("ls-tree", "-r", "--name-only", "HEAD").split()
    again = shop.runner("commit-by-task")
    assert again.out == "no logged writes to commit\n"


def test_what_the_runner_landed_itself_is_not_committed_twice(shop):
    said = shop.runner("commit-by-task")
    assert said.out == "no logged writes to commit\n"


def test_the_write_log_knows_the_commit_then(shop):
    logged(shop, "TASK-001", "one.txt", "1\n")
    shop.runner("commit-by-task")
    assert WriteLog(shop.root).show().writes[-1].commit == shop.head


def test_writes_by_hand_become_a_commit(shop):
    shop.write({"new": "by hand\n"})
    words = ("--task", "TASK-001", "--file", "one.txt", "--content", "new")
    shop.runner("staged-write", "stage", *words)
    (one,) = shop.runner("staged-write", "list", "--json").document["staged"]
    assert shop.runner("staged-write", "apply", one["id"]).code == 0
    assert shop.runner("commit-by-task").code == 0
    assert shop.git("show", "HEAD:one.txt") == "by hand"


def test_the_script_says_the_same(shop):
    logged(shop, "TASK-001", "one.txt", "1\n")
    script = Path(__file__).parents[2] / "scripts/commit_by_task.py"
    done = subprocess.run(
        [sys.executable, str(script), "--dry-run"],
        cwd=shop.root,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == shop.runner("commit-by-task", "--dry-run").out
