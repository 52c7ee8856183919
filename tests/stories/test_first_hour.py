"""The first hour at a real terminal: what is drawn, what is asked for trust, a saved edit."""

import os
import subprocess
import sys
import time

from commands_terminal import Terminal
from workplace import a_task

RUNNER = (sys.executable, "-m", "runner")


def terminal_of(workplace, *words, **environ):
    return Terminal((*RUNNER, *words), columns=110, rows=50, cwd=workplace.root, **environ)


def test_a_graph_is_drawn_at_a_terminal_and_is_mermaid_in_a_pipe(workplace):
    fork = [a_task("TASK-002", "Left", needs=["TASK-001"])]
    fork += [a_task("TASK-003", "Right", needs=["TASK-001"])]
    workplace.plan(a_task("TASK-001", "Root"), *fork)
    with terminal_of(workplace, "graph") as terminal:
        assert terminal.wait() == 0
    assert "TASK-001 Root (PENDING)" in terminal.said
    assert "+-" in terminal.said
    assert "flowchart" not in terminal.said
    piped = subprocess.run(
        [*RUNNER, "graph"],
        cwd=workplace.root,
        env=dict(os.environ),
        capture_output=True,
        check=True,
    )
    assert piped.stdout.decode().startswith("flowchart TD\n")


def test_trust_is_asked_in_a_few_lines_and_in_full_on_d(workplace):
    tests = [a_task(f"TASK-00{one}", tests=[f"test -n word{one}"]) for one in (1, 2, 3)]
    workplace.plan(*tests)
    with terminal_of(workplace, "run", "--no-sandbox", PAGER="cat") as terminal:
        heard = terminal.until("[d]etails")
        assert "3 similar commands: test" in terminal.said
        assert "word2" not in terminal.said
        terminal.send("d\r")
        terminal.until("TASK-002: test -n word2", after=heard)
        terminal.until("[y/N]", after=heard + 60)
        terminal.send("n\r")
        assert terminal.wait() == 3
    assert "nothing has run" in terminal.said
    assert set(workplace.statuses.values()) == {"PENDING"}


def test_an_edit_that_is_saved_at_the_review_is_the_approval(workplace, tmp_path):
    workplace.plan(
        a_task(
            "TASK-001",
            outputs=["a.txt"],
            command="echo a > a.txt",
            tests=["test -s a.txt"],
        )
    )
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nfor file; do :; done\necho mine > "$file"\n')
    editor.chmod(0o755)
    words = ("run", "--trust", "--no-sandbox", "--review", "prompt")
    environ = {"PAGER": "cat", "EDITOR": str(editor), "VISUAL": str(editor)}
    with terminal_of(workplace, *words, **environ) as terminal:
        terminal.until("[w]ait?")
        terminal.send("e")
        terminal.until("testing your edit; if it passes, it lands as you saved it")
        assert terminal.wait() == 0
    assert workplace.read("a.txt") == "mine\n"
    assert terminal.said.count("wants to create") == 1  # it is not asked about again
    assert [one["review"] for one in workplace.happened("write.reviewed")] == ["edited"]


# --- the demo ------------------------------------------------------------------------------------

SAFE_RUNNER = (sys.executable, "-P", "-m", "runner")


def git_of(folder, *words):
    done = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_the_demo_tells_as_it_happens_how_two_green_tasks_are_red_together(tmp_path):
    own = tmp_path / "config/runner/runner.toml"
    own.parent.mkdir(parents=True)
    own.write_text('git.publish = "origin"\n')  # it has no remote, and needs none
    began = time.monotonic()
    config = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    with Terminal(
        [*SAFE_RUNNER, "demo", "try-it"], columns=120, cwd=tmp_path, **config
    ) as terminal:
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
    assert git_of(folder, "status", "--porcelain") == []
    assert any("draft/TASK-004" in branch for branch in git_of(folder, "branch"))
    words = [*SAFE_RUNNER, "demo", "try-it"]
    again = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (again.returncode, "already exists" in again.stderr) == (2, True)
