"""The repository of `runner demo`: its plan, a program in the place of an agent, its tests."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from runner import effects, starter
from runner.app.build.new_project import trust_plan
from runner.app.write.hold_out import HoldOut, hold_out
from runner.project import Project
from runner.repo.git import Git
from runner.repo.head import PLANS

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


def begin_demo(folder: Path, environ: Mapping[str, str]) -> None:
    """Make `folder` a repository with the demo's plan, whose commands are trusted.

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
