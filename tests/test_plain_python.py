"""The `python3` that the commands of tests find first."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from plain_python import plain_python

WHAT_IT_HAS = """import json, sys
from importlib.metadata import entry_points
from pkgutil import iter_modules
names = sorted(one.name for one in iter_modules())
print(json.dumps([names, [one.name for one in entry_points(group="pytest11")], sys.version]))
"""


def what_it_has(python, here):
    asked = [python, "-c", WHAT_IT_HAS]
    said = subprocess.run(asked, cwd=here, capture_output=True, check=True).stdout
    return json.loads(said)


@pytest.mark.skipif(sys.prefix == sys.base_prefix, reason="there is no environment to put it into")
def test_commands_find_a_python_with_our_packages_and_without_plug_ins(tmp_path):
    found = Path(shutil.which("python3"))
    assert found.parent == plain_python()
    modules, plug_ins, version = what_it_has(found, tmp_path)
    assert (plug_ins, version) == ([], sys.version)
    assert {"pytest", "coverage", "pydantic"} <= set(modules)
    assert "runner" not in modules


@pytest.mark.skipif(sys.prefix == sys.base_prefix, reason="there is no environment to put it into")
def test_it_is_made_once_and_nothing_half_made_is_left():
    assert plain_python() == plain_python()
    left = [one for one in Path(sys.prefix).glob("plain-*") if not (one / "pyvenv.cfg").exists()]
    assert left == []
