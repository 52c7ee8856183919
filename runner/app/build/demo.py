"""The starter plan of `runner init`, and the repository of `runner demo`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from runner import effects, starter
from runner.app.build import preconditions
from runner.app.build.discovered_gates import apply_default_gates
from runner.app.write.hold_out import HoldOut, hold_out
from runner.config.trust import Trust
from runner.errors import RunnerError
from runner.project import Project
from runner.repo.git import Git
from runner.repo.head import OWNERSHIP_MAP, PLANS, find_git

if TYPE_CHECKING:
    from collections.abc import Mapping

_AGENT = '''\
"""Stands in for an agent: it solves what it is shown."""

import os
import pathlib
import re

brief = pathlib.Path(os.environ["RUNNER_BRIEF"]).read_text(encoding="utf-8")
failed = re.search(r"\\d of \\d held-out", brief)
count = "-(-items // 10)" if failed else "items // 10"
text = f"""
def parcels(items: int) -> int:
    return {count}
"""
pathlib.Path("parcels.py").write_text(text.lstrip(), encoding="utf-8")
'''
_VISIBLE = """\
import unittest

from parcels import parcels


class ParcelsTest(unittest.TestCase):
    def test_twenty_items_fill_two_parcels(self) -> None:
        self.assertEqual(parcels(20), 2)
"""
_HELD_OUT = '''\
import unittest

from parcels import parcels


class AcceptanceTest(unittest.TestCase):
    def test_a1_the_last_parcel_need_not_be_full(self) -> None:
        """A1"""
        self.assertEqual(parcels(11), 2)

    def test_a2_no_items_need_no_parcel(self) -> None:
        """A2"""
        self.assertEqual(parcels(0), 0)
'''
_HELD_OUT_PATH = "test_acceptance.py"
_COMMAND = f"python3 -m unittest -q {_HELD_OUT_PATH}"
_FILES = (PLANS[0], OWNERSHIP_MAP, "PATTERN_INDEX.md")


def begin_demo(folder: Path, environ: Mapping[str, str]) -> None:
    """Create a repository in `folder` with the demo's plan, whose commands are trusted.

    The tests that TASK-003 holds out are moved to the store as `runner hold-out` does.
    """
    effects.make_folder(folder)
    plan = (Path(starter.__file__).parent / "DEMO.md").read_bytes()
    effects.write_file(folder / PLANS[0], plan)
    texts = {"agent.py": _AGENT, "test_parcels.py": _VISIBLE, _HELD_OUT_PATH: _HELD_OUT}
    for name, text in texts.items():
        effects.write_file(folder / name, text.encode())
    git = Git(folder, alone=True)
    git.run("init", "--quiet", "--initial-branch=main")
    for name, value in (("name", "Demo"), ("email", "demo@example.invalid")):
        git.run("config", f"user.{name}", value)
    git.run("config", "commit.gpgsign", "false")
    hold_out(
        Project.open(folder, environ),
        HoldOut("TASK-003", (_HELD_OUT_PATH,), contract=_COMMAND),
        environ,
    )
    git.run("add", "--all")
    git.run("commit", "--quiet", "--no-verify", "-m", "docs: the plan")
    trust_plan(Project.open(folder, environ), "demo")


class NewProject(Struct, frozen=True):
    """The files of the new project."""

    written: Mapping[str, bool]
    """By file: whether it was written; False: it existed and is unchanged."""


def init(folder: Path, environ: Mapping[str, str]) -> NewProject:
    """Write what is missing. Raises RunnerError without git, or where there is a plan already."""
    if find_git(folder) is None:
        raise RunnerError(
            "this folder is not in a git repository", where=str(folder), hint="git init"
        )
    for plan in PLANS:
        if _is_taken(folder / plan):
            raise RunnerError(
                "a plan already exists; nothing was written",
                where=plan,
                hint="runner validate, or remove it first",
            )
    written = {name: not _is_taken(folder / name) for name in _FILES}
    templates = Path(starter.__file__).parent
    for name in (name for name, is_new in written.items() if is_new):
        data = (templates / name).read_bytes()
        written[name] = effects.write_file(folder / name, data, expected=b"")
    _trust(folder, environ)
    return NewProject(written)


def _is_taken(path: Path) -> bool:
    """Return whether the path exists, including as a broken link."""
    return path.exists() or path.is_symlink()


def _trust(folder: Path, environ: Mapping[str, str]) -> None:
    """Trust the demo's plan unless the repository itself declares gates or a build command."""
    project = Project.open(folder, environ)
    apply_default_gates(project)
    settings = project.settings
    if not (settings.gates or settings.gates_by_type or settings.build.command):
        trust_plan(project, "init")


def trust_plan(project: Project, how: str) -> None:
    """Trust the commands of the current plan."""
    commands = preconditions.list_commands(project, project.check().plan)
    Trust(project.places.state).give(project.root, how, (line for _, line in commands))
