"""Builders: a scratch tree over a repository's path, and commands that run in it."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest

from runner.process.base import Command, Place, Ran, Sandbox, command_environment
from runner.process.limits import Limits
from runner.process.sandbox import choose_sandbox
from runner.process.supervise import run

if TYPE_CHECKING:
    from pathlib import Path

QUICK = Limits(soft=0, idle=20, hard=30)


@dataclass(frozen=True)
class Bench:
    """A place with the sandbox its commands run in."""

    place: Place
    sandbox: Sandbox

    def command(self, line, **more):
        """A command of this place."""
        defaults = {"limits": QUICK, "environment": command_environment(os.environ)}
        return Command(line, more.pop("place", self.place), **{**defaults, **more})

    def run(self, line, *, tell=None, cancelled=None, **more) -> Ran:
        """Run it to its end."""
        return run(self.command(line, **more), self.sandbox, tell=tell, cancelled=cancelled)

    def says(self, line, **more) -> str:
        """What a command says that must pass."""
        ran = self.run(line, **more)
        assert ran.passed, ran
        return ran.tail

    def at(self, place: Place) -> Bench:
        """The same sandbox, elsewhere."""
        return replace(self, place=place)


def a_place(folder: Path, **more) -> Place:
    """A repository with a scratch tree and a box beside it."""
    names = {name: folder / name for name in ("tree", "shown", "box")}
    for path in names.values():
        path.mkdir(parents=True, exist_ok=True)
    return Place(**names, **more)


def bubblewrap() -> Sandbox:
    """The real one, or a skip that says why."""
    found = choose_sandbox("auto")
    if not found.contains:
        pytest.skip(f"no bubblewrap: {found.reason}")
    return found
