"""A shop that is built once for a file of tests; each test gets a copy of it."""

import contextlib
import os
import shutil

import pytest
from workplace import Workplace

from runner.app.build.demo import trust_plan
from runner.project import Project


@contextlib.contextmanager
def begun_at_home(folder):
    """Give a new shop below this folder at a home of its own, and the environment to patch."""
    with pytest.MonkeyPatch.context() as patch:
        for name in tuple(os.environ):
            if name.startswith(("GIT_", "RUNNER_", "XDG_", "GITHUB_")) or name in ("CI", "EMAIL"):
                patch.delenv(name)
        home = folder / "home"
        home.mkdir()
        patch.setenv("HOME", str(home))
        for name in ("CONFIG", "CACHE", "STATE"):
            patch.setenv(f"XDG_{name}_HOME", str(home / name.lower()))
        patch.setenv("GIT_CONFIG_NOSYSTEM", "1")
        patch.setenv("GIT_CONFIG_GLOBAL", str(home / "gitconfig"))
        yield Workplace.begin(folder / "shop", home), patch


def build(folder, *tasks, files=None):
    """Run a plan of these tasks to its end, at a home of its own; the folder of the project."""
    with begun_at_home(folder) as (place, _):
        if files:
            place.commit(files)
        place.plan(*tasks)
        ended = place.run("--no-sandbox")
        assert ended.code == 0, ended.said
        return place.root


def copy(root, folder, home):
    """The same project for one test, with everything."""
    shutil.copytree(root, folder, symlinks=True)
    return Workplace(folder, home)


def replace_by(place, template):
    """Make a place the copy of another one, with what is in its home, and trusted by its person."""
    shutil.rmtree(place.root)
    shutil.copytree(template.root, place.root, symlinks=True)
    shutil.copytree(template.home, place.home, symlinks=True, dirs_exist_ok=True)
    trust_plan(opened_at(place), "copied")


def opened_at(place, **flags):
    """The project as it is now, as a use case takes it."""
    return Project.open(place.root, os.environ, {"sandbox": "none", **flags})
