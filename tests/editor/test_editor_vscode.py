"""The extension for VS Code: its own tests run against the real server, by node's runner."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

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
