"""A clone may bring links where the runner keeps its own files: nothing is written through one."""

import pytest
from workplace import a_task


@pytest.mark.parametrize(
    "place",
    [
        "artifacts",
        "artifacts/build",
        "artifacts/build/reports",
        "artifacts/build/runs",
        "artifacts/build/logs/TASK-001",
        "artifacts/build/CHECKPOINT.md",
        "artifacts/build/.gitignore",
    ],
)
def test_a_run_stops_before_a_link_and_writes_nothing_behind_it(workplace, tmp_path, place):
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    link = workplace.root / place
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(theirs / "file" if "." in link.name else theirs)
    workplace.plan(a_task("TASK-001", outputs=["a.txt"], command="false"))
    ended = workplace.run("--no-sandbox")
    assert ended.code == 6, ended.said
    assert "the runner never follows links" in ended.err
    assert list(theirs.iterdir()) == []
