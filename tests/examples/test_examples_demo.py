"""The demo begins, goes on and begins anew as its head says; what it builds is told elsewhere."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]


class Demo:
    """`examples/demo` in a folder of its own, with a stand-in for the slow runner."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.example = folder / "example"
        self.copy = folder / "demo" / "example"
        self.example.mkdir()
        self.plan("# Plan\n")
        (folder / "home").mkdir()

    def plan(self, text: str) -> None:
        (self.example / "TASK-GRAPH.md").write_text(text, encoding="utf-8")

    def run(self, runner: str = "exit 0") -> subprocess.CompletedProcess[str]:
        stand_in = self.folder / "bin" / "runner"
        stand_in.parent.mkdir(exist_ok=True)
        stand_in.write_text(f"#!/bin/sh\n{runner}\n", encoding="utf-8")
        stand_in.chmod(0o755)
        path = f"{stand_in.parent}{os.pathsep}{os.environ['PATH']}"
        return subprocess.run(
            [TOP / "examples" / "demo", self.example, self.folder / "demo"],
            env={"PATH": path, "HOME": str(self.folder / "home")},
            capture_output=True,
            text=True,
            check=False,
        )

    def marker(self) -> Path:
        """A file that git does not see, and that is gone when the copy is made anew."""
        marker = self.copy / ".git" / "marker"
        marker.touch()
        return marker


@pytest.fixture
def demo(tmp_path) -> Demo:
    return Demo(tmp_path)


def test_the_plan_is_committed_first_also_where_git_knows_no_name(demo):
    ran = demo.run("git rev-parse --verify --quiet HEAD > /dev/null || exit 9")
    assert ran.returncode == 0, ran.stderr
    assert "docs: the plan" in ran.stdout


def test_a_demo_that_was_stopped_goes_on_in_the_same_copy(demo):
    assert demo.run("exit 1").returncode == 1
    marker = demo.marker()
    assert demo.run().returncode == 0
    assert marker.exists()


def test_a_demo_that_was_finished_begins_anew(demo):
    assert demo.run().returncode == 0
    marker = demo.marker()
    assert demo.run().returncode == 0
    assert not marker.exists()


def test_a_demo_whose_plan_was_edited_begins_anew(demo):
    demo.run("exit 1")
    marker = demo.marker()
    demo.plan("# Another plan\n")
    assert demo.run().returncode == 0
    assert not marker.exists()


def test_a_demo_that_leaves_something_behind_fails_and_says_what(demo):
    ran = demo.run("touch left-behind")
    assert ran.returncode == 1
    assert "?? left-behind" in ran.stderr
    assert "hint: after make demo-clean" in ran.stderr


def test_what_the_runner_answers_is_what_the_demo_answers(demo):
    assert demo.run("exit 3").returncode == 3
