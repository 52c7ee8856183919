"""GitPython is the door to git, and starts nothing by itself."""

import os
import shutil
import subprocess
import sys

from repo_build import a_repository

_ALONE = """
import sys
from pathlib import Path
from runner.repo.git import Git
print(Git(Path(sys.argv[1])).line("rev-parse", "--is-inside-work-tree"), "git.repo" in sys.modules)
import git
print(git.Repo(sys.argv[1]).head.is_valid(), "git.repo" in sys.modules)
"""


def test_gitpython_starts_no_git_of_its_own_and_is_whole_for_whoever_asks_for_more(tmp_path):
    folder = a_repository(tmp_path / "shop", {"a": ""})
    log, fake = tmp_path / "log", tmp_path / "bin" / "git"
    fake.parent.mkdir()
    fake.write_text(f'#!/bin/sh\necho "$*" >> {log}\nexec {shutil.which("git")} "$@"\n')
    fake.chmod(0o755)
    said = subprocess.run(
        [sys.executable, "-c", _ALONE.partition("import git\n")[0], str(folder)],
        env={**os.environ, "PATH": f"{fake.parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout == "true False\n"
    assert [line.split()[2:] for line in log.read_text().splitlines()] == [
        ["rev-parse", "--is-inside-work-tree"]
    ]
    whole = subprocess.check_output([sys.executable, "-c", _ALONE, str(folder)], text=True)
    assert whole == "true False\nTrue True\n"


def test_a_git_that_is_not_there_is_said(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", _ALONE, str(tmp_path)],
        env={**os.environ, "PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "RunnerError: git is not installed" in done.stderr
