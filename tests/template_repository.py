"""A new git repository as a copy of one that git made once: no process for each test.

Tests of many rooms begin with an empty repository. `git init` and two `git config` take three
processes, a copy takes none. Git itself is asked wherever settings of the test could say otherwise.
"""

import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

_NEUTRAL = frozenset({"GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_GLOBAL"})


def begin_repository(folder, *, name="", branch="main"):
    """Make `folder` a repository with nothing in it, of somebody of this name."""
    settings = Path(os.environ.get("GIT_CONFIG_GLOBAL") or Path.home() / ".gitconfig")
    asked = {one for one in os.environ if one.startswith("GIT_")} - _NEUTRAL
    if asked or settings.exists() or (folder / ".git").exists():
        _begin(folder, name, branch)
    else:
        shutil.copytree(Path(_template(name, branch).name, ".git"), folder / ".git", symlinks=True)


@cache
def _template(name, branch):
    """The one that is copied; its folder is forgotten with this process."""
    made = tempfile.TemporaryDirectory(prefix="template-")
    _begin(Path(made.name), name, branch)
    return made


def _begin(folder, name, branch):
    settings = [("user.name", name), ("user.email", f"{name.lower()}@example.org")] if name else []
    words = [("init", "-q", "-b", branch), *(("config", *one) for one in settings)]
    for one in words:
        subprocess.run(["git", *one], cwd=folder, check=True, capture_output=True)
