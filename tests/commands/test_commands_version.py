"""Which Python the runner needs: an older one is told so before it meets newer syntax."""

import subprocess
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
_FOUND = [Path("/usr/bin/python3"), *sorted(Path.home().glob(".pyenv/versions/3.*/bin/python"))]
_ASK = "import sys; print('.'.join(map(str, sys.version_info[:3])), sys.version_info < (3, 11, 5))"


def find_older():
    """Yield each Python here that is too old, with its version."""
    for python in filter(Path.exists, _FOUND):
        version, is_older = subprocess.check_output([python, "-c", _ASK], text=True).split()
        if is_older == "True":
            yield pytest.param(python, version, id=version)


@pytest.mark.parametrize(("python", "version"), list(find_older()))
def test_an_older_python_is_told_which_one_is_needed(python, version):
    ended = subprocess.run(
        [python, "-m", "runner", "status"], cwd=_ROOT, capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == f"runner: needs Python 3.11.5 or newer; this is {version}\n"
