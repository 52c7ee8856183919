"""Paths are bytes of UTF-8 to git: whatever the locale says, they are to the runner, too."""

import os
import subprocess
import sys

import pytest
from workplace import NO_PROOF, a_task

ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@pytest.mark.parametrize("start", [("-P", "-m", "runner"), ("-m", "runner")], ids=" ".join)
def test_a_file_beyond_ascii_is_built_and_looked_at_in_a_locale_without_it(workplace, start):
    workplace.plan(a_task("TASK-001", blocks={"ä.txt": "ü\n"}, fields=[NO_PROOF]))
    for words in (("run", "--trust", "--no-sandbox"), ("run",), ("status",)):
        ended = subprocess.run(
            [sys.executable, *start, *words],
            cwd=workplace.root,
            env={**os.environ, **ASCII},
            capture_output=True,
            timeout=120,
            check=False,
        )
        assert ended.returncode == 0, ended.stderr.decode()
    assert workplace.read("ä.txt") == "ü\n"
    assert workplace.statuses == {"TASK-001": "DONE"}
