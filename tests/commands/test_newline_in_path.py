"""A repository whose path has a newline is told before anything is asked or begun."""

import subprocess

import pytest

from runner.errors import RunnerError
from runner.project import Project


def test_a_newline_in_the_path_is_told_at_once(tmp_path):
    root = tmp_path / "a\nb"
    root.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    (root / "TASK-GRAPH.md").write_text("## TASK-001: A\n\n- Type: docs\n")
    with pytest.raises(RunnerError) as told:
        Project.open(root, {"HOME": str(tmp_path)})
    assert told.value.message == "the path of the repository contains a newline"
    assert "\n" not in told.value.where
    assert not (root / "artifacts").exists()
