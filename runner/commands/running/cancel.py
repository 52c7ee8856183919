"""`runner cancel`: ends one task's attempt in a run that is going on, and keeps its work."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from runner.errors import ExitCode
from runner.lazy_module import lazy_module
from runner.project import Project
from runner.text.display import display

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from runner.app.answer import attempts
    from runner.journal.task_state import TaskState
else:
    attempts = lazy_module("runner.app.answer.attempts")

EXAMPLES = """\
What the attempt has written so far is kept on a branch draft/TASK-…, without what the secret scan
or the path rules refuse. The task is BLOCKED until `runner approve` lets it begin anew; the run
goes on with the others.

examples:
  runner cancel TASK-003
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """What `runner cancel` takes."""
    parser.add_argument("id", metavar="ID", help="the task: TASK-003, or 3")


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Ask the run, and wait until it has done so; exit 1 where it has not."""
    ended = attempts.cancel(Project.open(Path.cwd(), environ), given.id)
    print(_format_status(ended))
    return ExitCode.FAILED if ended.open_attempt else ExitCode.OK


def _format_status(known: TaskState) -> str:
    if known.open_attempt:
        return f"{display(known.id)} was asked to end, and has not ended yet: runner status"
    note = f": {display(known.note)}" if known.note else ""
    return f"{display(known.id)} is {known.status}{note}"
