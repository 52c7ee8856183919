"""Benches for promises: each sandbox, as the person who runs the tests and as nobody.

What nobody runs is started by an interpreter that nobody can read, from a folder of nobody's.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest
from process_bench import QUICK, a_place
from promise_tried import tried

from runner.errors import RunnerError
from runner.model import Network
from runner.process.sandbox import choose_sandbox

if TYPE_CHECKING:
    from runner.process.base import Place
    from runner.process.limits import Limits

NOBODY = 65534
SYSTEM_PYTHON = "/usr/bin/python3"
_INNER = str(Path(__file__).with_name("promise_tried.py"))

_SYSTEM = {
    "PATH": "/usr/bin:/bin",
    "PYTHONPATH": os.pathsep.join(path for path in sys.path if path.endswith("-packages")),
}


@dataclass(frozen=True)
class Said:
    """What came of a command."""

    exit: int
    tail: str
    left_behind: int
    ended: str


@dataclass(frozen=True)
class Trial:
    """A place in which a sandbox has to keep its promises."""

    word: str
    user: str
    folder: Path

    @property
    def place(self) -> Place:
        return a_place(self.folder)

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def python(self) -> str:
        """An interpreter that is there inside."""
        return sys.executable if self.user == "self" else SYSTEM_PYTHON

    def run(self, line, *, network=Network.NO, limits: Limits = QUICK, **environ: str) -> Said:
        """Run a command to its end."""
        environ = {"HOME": str(self.home), "PATH": "/usr/bin:/bin", **environ}
        told = [
            self.word,
            str(self.folder),
            line,
            str(network),
            msgspec.to_builtins(limits),
            environ,
        ]
        return Said(**(tried(told) if self.user == "self" else self._as_nobody(told)))

    def runs(self, code: str, *words: object, **more) -> Said:
        """Run Python code."""
        return self.run((self.python, "-c", code, *map(str, words)), **more)

    def _as_nobody(self, told: list) -> dict:
        self._give()
        done = subprocess.run(
            [SYSTEM_PYTHON, "-S", "-B", _INNER],
            input=json.dumps(told),
            capture_output=True,
            text=True,
            check=False,
            user=NOBODY,
            group=NOBODY,
            extra_groups=[],
            env={**_SYSTEM, "SECRET_OF_THE_PARENT": "hunter2" * 2},
            cwd="/",
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def _give(self) -> None:
        for at, folders, files in os.walk(self.folder):
            for name in (".", *folders, *files):
                os.chown(Path(at, name), NOBODY, NOBODY, follow_symlinks=False)


def a_trial(word: str, user: str) -> Trial:
    """A fresh one; skips, with the reason, where it cannot be had."""
    try:
        choose_sandbox(word)
    except RunnerError as error:
        pytest.skip(error.message)
    if user == "nobody" and os.geteuid() != 0:
        pytest.skip("only root can become nobody")
    if user == "nobody" and not _readable_to_nobody():
        pytest.skip(f"nobody cannot run {SYSTEM_PYTHON} with this code")
    folder = Path(tempfile.mkdtemp(prefix="promise-"))
    trial = Trial(word, user, folder)
    trial.home.mkdir()
    a_place(folder)
    return trial


def forget(trial: Trial) -> None:
    """Take its folder away."""
    shutil.rmtree(trial.folder, ignore_errors=True)


def _readable_to_nobody() -> bool:
    done = subprocess.run(
        [SYSTEM_PYTHON, "-S", "-B", "-c", f"open({_INNER!r}); import re2"],
        check=False,
        env=_SYSTEM,
        capture_output=True,
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
    )
    return done.returncode == 0
