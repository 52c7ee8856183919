"""The plans that come with the project build by hand what they promise."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from runner.model import BlockKind
from runner.plan.document import read_plan

if TYPE_CHECKING:
    from runner.model import Block, Task

TOP = Path(__file__).parents[2]
BOOKINGS = TOP / "examples" / "bookings"
STARTER = TOP / "runner" / "starter"
FOLDERS = pytest.mark.parametrize(
    "folder", [BOOKINGS, STARTER, TOP], ids=["bookings", "starter", "own"]
)


def tasks_of(folder: Path) -> tuple[Task, ...]:
    return read_plan((folder / "TASK-GRAPH.md").read_bytes(), "TASK-GRAPH.md").tasks


def shell(command: str, tree: Path) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        command, shell=True, cwd=tree, env=environment, capture_output=True, text=True, check=False
    )


def apply(block: Block, tree: Path) -> None:
    target = tree / block.path
    match block.kind:
        case BlockKind.FILE:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(block.text, encoding="utf-8", newline="")
        case BlockKind.PATCH:
            subprocess.run(["git", "apply", "-"], cwd=tree, input=block.text, text=True, check=True)
        case BlockKind.DELETE:
            target.unlink()
        case BlockKind.RUN:
            assert shell(block.text, tree).returncode == 0


def implement(task: Task, tree: Path) -> None:
    for block in task.blocks:
        apply(block, tree)
    if task.command:
        ran = shell(task.command, tree)
        assert ran.returncode == 0, ran.stderr


def contents(tree: Path) -> dict[str, bytes]:
    files = (path for path in tree.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {str(path.relative_to(tree)): path.read_bytes() for path in files}


def build(folder: Path, tree: Path) -> None:
    """Every task in the order of the file, its changes held to its outputs, its proof run."""
    for task in tasks_of(folder):
        before = contents(tree)
        implement(task, tree)
        after = contents(tree)
        changed = {path for path in before | after if before.get(path) != after.get(path)}
        assert changed == set(task.outputs), task.id
        for proof in (*task.test_contracts, *task.gates):
            ran = shell(proof.command, tree)
            assert ran.returncode == 0, (task.id, proof.command, ran.stdout + ran.stderr)


@pytest.fixture(scope="module")
def bookings(tmp_path_factory) -> Path:
    tree = tmp_path_factory.mktemp("bookings")
    build(BOOKINGS, tree)
    return tree


@FOLDERS
def test_a_plan_that_comes_with_the_project_has_nothing_to_complain_of(folder):
    plan = read_plan((folder / "TASK-GRAPH.md").read_bytes(), "TASK-GRAPH.md")
    assert plan.problems == ()


@FOLDERS
def test_tasks_stand_behind_those_they_depend_on(folder):
    seen: set[str] = set()
    for task in tasks_of(folder):
        assert seen.issuperset(task.depends_on), task.id
        seen.add(task.id)


@FOLDERS
def test_the_ownership_map_names_only_tasks_of_the_plan(folder):
    known = {task.id for task in tasks_of(folder)}
    named = re.findall(r"TASK-\d+", (folder / "FILE_OWNERSHIP_MAP.md").read_text(encoding="utf-8"))
    assert known.issuperset(named)


@FOLDERS
def test_the_pattern_index_names_only_files_that_are_there(folder):
    index = (folder / "PATTERN_INDEX.md").read_text(encoding="utf-8")
    for path in re.findall(r"`(patterns/[^`]+)`", index):
        assert (folder / path).is_file(), path


def test_the_starter_builds_in_order_with_every_proof_passing(tmp_path):
    build(STARTER, tmp_path)
    assert shell("python3 -m hello Ada", tmp_path).stdout == "Hello, Ada!\n"


def test_bookings_builds_in_order_with_every_proof_passing(bookings):
    assert shell("python3 -m booking --db :memory: list", bookings).returncode == 0


def test_bookings_has_a_diamond_and_at_least_eight_tasks():
    tasks = {task.id: task for task in tasks_of(BOOKINGS)}
    assert len(tasks) >= 8
    assert any(
        set(tasks[left].depends_on) & set(tasks[right].depends_on)
        for task in tasks.values()
        for left in task.depends_on
        for right in task.depends_on
        if left < right
    )


@pytest.mark.parametrize("half", ["one.start < other.end", "other.start < one.end"])
def test_a_changed_overlap_rule_breaks_the_test_of_the_api(bookings, tmp_path, half):
    shutil.copytree(bookings, tmp_path, dirs_exist_ok=True)
    rule = tmp_path / "booking" / "overlap.py"
    text = rule.read_text(encoding="utf-8")
    rule.write_text(text.replace(half, half.replace("<", "<=")), encoding="utf-8")
    ran = shell("python3 -m unittest -q tests.test_api", tmp_path)
    assert ran.returncode == 1
    assert "test_back_to_back_is_not_taken" in ran.stderr
