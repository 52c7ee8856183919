"""Runs one command in a sandbox, told in JSON; also as a program, for another user."""

from __future__ import annotations

import json
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

from runner.model import Network
from runner.process.base import Command, Place, command_environment
from runner.process.limits import Limits
from runner.process.sandbox import choose_sandbox
from runner.process.supervise import run


def tried(told: list) -> dict:
    """What came of it, as JSON takes it."""
    word, folder, line, network, limits, environ = told
    command = Command(
        tuple(line) if isinstance(line, (list, tuple)) else line,
        Place(*(Path(folder, name) for name in ("tree", "shown", "box"))),
        command_environment(environ),
        network=Network(network),
        limits=Limits(**limits),
    )
    ran = run(command, choose_sandbox(word))
    return {
        "exit": ran.exit,
        "tail": ran.tail,
        "left_behind": ran.left_behind,
        "ended": str(ran.ended),
    }


if __name__ == "__main__":
    json.dump(tried(json.load(sys.stdin)), sys.stdout)
