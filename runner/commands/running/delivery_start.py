"""A process beside a run that tells what it does; apart, since a run loads nothing else of it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from runner.process.own_command import OwnCommand

if TYPE_CHECKING:
    from collections.abc import Callable

    from runner.project import Project


def start_beside_run(project: Project, say: Callable[[str], object]) -> None:
    """Have what this run does told to the doors of the settings; it waits for nothing of it."""
    words = ["events", "--deliver", "--beside", str(os.getpid())]
    try:
        OwnCommand(words, project.root, project.environ, stays=True).forget()
    except OSError as error:
        say(f"note: events are not delivered: {error.strerror or error}")
