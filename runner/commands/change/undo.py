"""`runner undo ID`: one task taken back by a new commit, as long as nobody built on its lines."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from runner.app.change.change_text import undo_document, undo_lines
from runner.app.change.transaction import UndoRequest, undo
from runner.commands.output import say
from runner.errors import ExitCode
from runner.project import Project

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping


EXAMPLES = """\
examples:
  runner undo TASK-009                      a commit that reverts it; the task is PENDING
  runner undo TASK-009 --reason "too slow"  and why, for the plan and the commit
  runner undo TASK-009 -n                   what would change, and do nothing
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """What `runner undo` takes."""
    parser.add_argument("id", metavar="ID", help="the task: TASK-009, or 9")
    parser.add_argument("--reason", default="", metavar="TEXT", help="why, in a few words")
    parser.add_argument("-n", "--dry-run", action="store_true", help="say what would be done")
    parser.add_argument("--json", action="store_true", help="one JSON document")


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Undo it. Raises RunnerError: exit 6, with the list, where somebody built on it."""
    project = Project.open(Path.cwd(), environ)
    done = undo(project, UndoRequest(given.id, given.reason, given.dry_run))
    say(done, undo_lines, undo_document, as_json=given.json)
    return ExitCode.OK
