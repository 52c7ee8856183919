"""The first minute of somebody who has just installed it, on a real terminal."""

import subprocess
import sys
import time

from commands_terminal import Terminal

RUNNER = (sys.executable, "-P", "-m", "runner")


def git(folder, *words):
    done = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_the_demo_tells_as_it_happens_how_two_green_tasks_are_red_together(tmp_path):
    own = tmp_path / "config/runner/runner.toml"
    own.parent.mkdir(parents=True)
    own.write_text('git.publish = "origin"\n')  # it has no remote, and needs none
    began = time.monotonic()
    config = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    with Terminal([*RUNNER, "demo", "try-it"], columns=120, cwd=tmp_path, **config) as terminal:
        terminal.until("Together they would make shipping free for everybody")
        assert terminal.wait(60) == 0, terminal.said
        said = terminal.said
    assert time.monotonic() - began < 60, "twenty seconds and the load of others"
    assert "TASK-002 DONE as" in said
    assert "TC-005: 1 of 2 held-out tests fails: A1" in said
    assert "TASK-003 DONE as" in said
    assert "test_shipping.py:13: AssertionError: 0 != 5" in said
    assert "did not land the change" in said
    folder = tmp_path / "try-it"
    assert "euros" in (folder / "cart.py").read_text()
    assert (folder / "test_acceptance.py").exists()
    assert git(folder, "status", "--porcelain") == []
    assert any("draft/TASK-004" in branch for branch in git(folder, "branch"))
    words = [*RUNNER, "demo", "try-it"]
    again = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (again.returncode, "already exists" in again.stderr) == (2, True)
