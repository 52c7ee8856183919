"""Old names keep working: each old form, word for word, does what today's does."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from workplace import a_task

SCRIPTS = Path(__file__).parents[2] / "scripts"


@pytest.fixture
def shop(workplace):
    """Two tasks that are DONE."""
    workplace.plan(
        a_task("TASK-001", blocks={"a.txt": "one"}, tests=["test -f a.txt"]),
        a_task("TASK-002", blocks={"b.txt": "two"}, needs=["TASK-001"], tests=["test -f b.txt"]),
    )
    assert workplace.run().code == 0
    return workplace


def _timeless(text):
    """Without what two calls of one command may say differently: the time that they took."""
    return "\n".join(
        line for line in text.splitlines() if "seconds" not in line and " s" not in line
    )


def test_the_module_builds_and_prefixed_words_change_and_go_back(shop):
    ran = shop.start("run", "--trust")
    assert ran.wait() == 0
    assert ran.stdout.read() == "all 2 tasks are DONE; nothing to do\n"
    changed = shop.runner("!change", "TASK-002", "two words", "--yes")
    assert (changed.code, shop.statuses["TASK-002"]) == (0, "STALE"), changed.said
    assert shop.runner("reject", "TASK-002", "--reason", "as it was").code == 0
    back = shop.runner("!replay", "TASK-001", "--yes")
    assert (back.code, shop.has("b.txt")) == (0, False), back.said


PARALLEL = ("-tasks", "TASK-001,TASK-002", "-cmd", "true", "-task-graph", "TASK-GRAPH.md")
OLD_SCRIPTS = {
    "check_coverage": ("check-coverage", "--task", "TASK-001"),
    "commit_by_task": ("commit-by-task", "--dry-run"),
    "parallel_runner": ("parallel", *PARALLEL),
    "pipeline_replay": ("replay", "TASK-001", "-n"),
    "sast_scan": ("sast-scan", "a.txt", "--task", "TASK-001"),
    "secret_scan": ("secret-scan", "a.txt"),
    "staged_write": ("staged-write", "list"),
    "write_log": ("write-log", "record", "--task", "TASK-001", "--file", "a.txt"),
}
"""By the name of a script its command, and the words that both are given."""


def test_a_script_does_what_its_command_does(shop):
    assert OLD_SCRIPTS.keys() == {one.stem for one in SCRIPTS.glob("*.py")}
    for script, (command, *words) in OLD_SCRIPTS.items():
        ran = subprocess.run(
            [sys.executable, SCRIPTS / f"{script}.py", *words],
            cwd=shop.root,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        typed = shop.runner(command, *words)
        same = (typed.code, _timeless(typed.out))
        assert (ran.returncode, _timeless(ran.stdout)) == same, (script, ran.stderr)
        assert _timeless(ran.stderr) == _timeless(typed.err), script


def test_a_staged_write_is_staged_applied_edited_and_rejected(shop, monkeypatch):
    monkeypatch.setenv("EDITOR", "sed -i s/new/edited/")
    shop.write({"proposed.txt": "new\n"})
    for verb, words, left in (
        ("apply", (), "new\n"),
        ("reject", ("--reason", "keep it"), "new\n"),
    ):
        content = "proposed.txt"
        shop.write({content: "new\n" if verb == "apply" else "other\n"})
        staged = shop.runner(
            *("staged-write", "stage", "--task", "TASK-001", "--file", "a.txt"),
            *("--content", content),
        )
        assert staged.code == 3, staged.said
        (one,) = shop.runner("staged-write", "list", "--json").document["staged"]
        if verb == "reject":
            edited = shop.runner("staged-write", "edit", one["id"])
            assert edited.code in (0, 3), edited.said
            (one,) = shop.runner("staged-write", "list", "--json").document["staged"]
        said = shop.runner("staged-write", verb, one["id"], *words)
        assert said.code == (0 if verb == "apply" else 1), said.said
        assert shop.read("a.txt") == left


def test_old_settings_and_words_are_read_and_only_a_terminal_is_told_of_the_new_name(shop):
    shop.settle(
        'skills_folders = ["skills", "more"]\n'
        '[[permission]]\ntool = "write"\npattern = "docs/**"\naction = "deny"\n'
        '[mcp.files]\ncommand = "true"\n'
    )
    settings = shop.runner("settings", "--json").document["settings"]
    assert settings["skills.folders"]["value"] == ["skills", "more"]
    assert "docs/**" in str(settings)
    assert "files" in str(settings["mcp"]["value"])
    # A task may be named where `plan` has commands below it.
    assert "TASK-001" in shop.runner("plan", "TASK-001").said
    assert shop.runner("plan", "ownership", "check").code in (0, 1)

    main, other = pty.openpty()
    ran = subprocess.run(
        [sys.executable, "-m", "runner", "list"],
        cwd=shop.root,
        stdout=subprocess.PIPE,
        stderr=other,
        check=True,
    )
    os.close(other)
    said = os.read(main, 10_000).decode()
    os.close(main)
    assert said.strip() == "note: this command is now `runner status --list`"
    assert ran.stdout.startswith(b"TASK-001")
    assert shop.runner("list").err == ""
