"""The first hour at a real terminal: what is drawn, what is asked for trust, a saved edit."""

import os
import subprocess
import sys

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
        terminal.until("testing your edit; it lands as you saved it")
        assert terminal.wait() == 0
    assert workplace.read("a.txt") == "mine\n"
    assert terminal.said.count("wants to create") == 1  # it is not asked about again
    assert [one["review"] for one in workplace.happened("write.reviewed")] == ["edited"]
