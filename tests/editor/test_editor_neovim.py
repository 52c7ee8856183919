"""`runner lsp` in a real Neovim, headless: diagnostics, definition, lenses, rename."""

import os
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
