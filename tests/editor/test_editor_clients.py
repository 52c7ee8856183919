"""Real editors against the language server: Neovim, and the extension for VS Code."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent / "neovim.lua"
NEOVIM = shutil.which("nvim")


@pytest.mark.skipif(NEOVIM is None, reason="nvim is not on PATH: apt-get install neovim")
def test_neovim_shows_mistakes_goes_to_tasks_draws_lenses_and_renames(shop, tmp_path):
    answers = tmp_path / "answers"
    done = subprocess.run(
        [NEOVIM, "--headless", "-u", "NONE", "-i", "NONE", "-n", "-S", str(SCRIPT)],
        cwd=shop,
        env={**os.environ, "ANSWERS": str(answers), "PYTHON": sys.executable},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert answers.read_text().splitlines() == [
        "diagnostic: 21 14 TASK-002 depends on unknown task TASK-009",
        "definition: 3 3",
        "lens: 2 PENDING · ready",
        "lens: 2 run",
        "lens: 2 why",
        "lens: 18 PENDING · waits for TASK-001",
        "lens: 18 run",
        "lens: 18 why",
        "run: in a terminal: runner run TASK-001",
        "rename: ## TASK-007: Money 😀",
        "rename: - Depends on: TASK-007",
        "rename: | `shop/money.py` | TASK-007, TASK-002 |",
    ], done.stderr


EXTENSION = Path(__file__).parents[2] / "editors" / "vscode"
MISSING = None
if shutil.which("npm") is None:
    MISSING = "npm is not on PATH: the extension's tests need node"
elif not (EXTENSION / "node_modules" / ".bin" / "esbuild").exists():
    MISSING = "its libraries are missing: npm ci --prefix editors/vscode"


@pytest.mark.nightly(
    sibling="tests/editor/test_editor_server.py::test_a_mistake_is_shown_while_it_is_typed_and_goes_when_it_is_mended"
)
@pytest.mark.skipif(MISSING is not None, reason=str(MISSING))
def test_its_own_tests_pass_against_the_real_server(tmp_path):
    runner = tmp_path / "runner"
    runner.write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m runner "$@"\n')
    runner.chmod(0o755)
    done = subprocess.run(
        ["npm", "test", "--silent"],
        cwd=EXTENSION,
        env={**os.environ, "RUNNER": str(runner)},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(re.search(r"^# pass (\d+)$", done.stdout, re.MULTILINE)[1]) >= 17


@pytest.mark.skipif(MISSING is not None, reason=str(MISSING))
def test_its_types_hold():
    done = subprocess.run(
        ["npm", "run", "--silent", "types"],
        cwd=EXTENSION,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_its_lock_names_no_registry_and_every_library_has_a_digest():
    lock = json.loads((EXTENSION / "package-lock.json").read_text())
    libraries = {name: one for name, one in lock["packages"].items() if name}
    assert libraries
    assert [name for name, one in libraries.items() if "resolved" in one] == []
    assert [name for name, one in libraries.items() if "integrity" not in one] == []
