"""A command sees the variables it needs and none that hold a key or load code."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from runner.process.base import command_environment
from runner.process.tools import capture, run_interactive, which

OWN = str(Path(sys.executable).parent)


def test_credentials_and_loaders_stay_behind():
    parent = {
        "PATH": "/usr/bin",
        "HOME": "/home/u",
        "LC_ALL": "C",
        "AWS_SECRET_ACCESS_KEY": "x",
        "GITHUB_TOKEN": "x",
        "LD_PRELOAD": "/evil.so",
        "PYTHONPATH": "/evil",
        "PYTHONSTARTUP": "/evil.py",
        "BASH_ENV": "/evil",
        "GIT_DIR": "/elsewhere",
        "HTTPS_PROXY": "http://u:p@proxy",
    }
    kept = command_environment(parent)
    assert kept == {"PATH": f"/usr/bin:{OWN}", "HOME": "/home/u", "LC_ALL": "C"}


def test_a_person_passes_more_by_name_or_glob_but_loaders_only_by_name():
    parent = {"PATH": "/b", "DB_URL": "1", "DB_USER": "2", "LD_LIBRARY_PATH": "/cuda", "X": "3"}
    assert "LD_LIBRARY_PATH" not in command_environment(parent, pass_env=["*"])
    kept = command_environment(parent, pass_env=["DB_*", "LD_LIBRARY_PATH"])
    assert set(kept) == {"PATH", "DB_URL", "DB_USER", "LD_LIBRARY_PATH"}


def test_a_tasks_own_variables_win():
    kept = command_environment({"PATH": "/b", "TZ": "UTC"}, extra={"TZ": "CET", "STRIPE": "x"})
    assert (kept["TZ"], kept["STRIPE"]) == ("CET", "x")


def test_relative_folders_of_path_would_run_the_repositorys_programs():
    assert command_environment({"PATH": ".::bin:/usr/bin:/usr/bin"})["PATH"] == f"/usr/bin:{OWN}"
    assert command_environment({})["PATH"].endswith(OWN)


def test_which_finds_what_would_start(tmp_path):
    tool = tmp_path / "tool"
    tool.write_text("#!/bin/sh\necho 1.2\n")
    assert which("tool", {"PATH": str(tmp_path)}) is None
    tool.chmod(0o755)
    (tmp_path / "folder").mkdir()
    assert which("tool", {"PATH": f"relative:{tmp_path}"}) == tool
    assert which("folder", {"PATH": str(tmp_path)}) is None
    assert which(str(tool), {}) == tool


def test_a_small_question_gets_its_answer(tmp_path):
    env = {"PATH": os.environ["PATH"]}
    assert capture(["sh", "-c", "echo 1; echo 2 >&2; exit 4"], tmp_path, env, 5) == (4, b"1\n2\n")
    assert capture(["no-such-tool"], tmp_path, env, 5)[0] == 127
    assert capture(["sh", "-c", "echo x; exec sleep 9"], tmp_path, env, 0.3) == (124, b"x\n")


def test_an_interactive_program_says_how_it_ended(tmp_path):
    assert run_interactive(["sh", "-c", "pwd > here; exit 3"], tmp_path) == 3
    assert (tmp_path / "here").read_text().strip() == str(tmp_path)
    assert run_interactive(["no-such-editor"], tmp_path) == 127
