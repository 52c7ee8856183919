"""Which Python the runner needs: an older one is told so before it meets newer syntax."""

import subprocess
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
_FOUND = sorted(Path.home().glob(".pyenv/versions/3.*/bin/python"))
_OLDER = [one for one in _FOUND if int(one.parts[-3].split(".")[1]) < 11]


@pytest.mark.parametrize("python", _OLDER, ids=lambda one: one.parts[-3])
def test_an_older_python_is_told_which_one_is_needed(python):
    ended = subprocess.run(
        [python, "-m", "runner", "status"], cwd=_ROOT, capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    version = python.parts[-3]
    assert ended.stderr == f"runner: needs Python 3.11 or newer; this is {version}\n"
