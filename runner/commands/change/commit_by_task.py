"""`runner commit-by-task`: what is logged and in no commit yet, one commit a task."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from runner.app.change.change_text import commit_document, commit_lines
from runner.app.change.commit_writes import CommitRequest, commit_by_task
from runner.commands.output import say
from runner.errors import ExitCode
from runner.project import Project

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping


EXAMPLES = """\
examples:
  runner commit-by-task                  one commit for each task with logged writes
  runner commit-by-task --dry-run        which commits that would be
  runner commit-by-task --task TASK-003  that task's alone; exit 6 where others come first
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """What `runner commit-by-task` takes."""
    parser.add_argument("--task", default="", metavar="ID", help="only this task's commit")
    parser.add_argument("-n", "--dry-run", action="store_true", help="commit nothing")
    parser.add_argument("--json", action="store_true", help="one JSON document")


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Commit what the write log has and HEAD has not; everything else stays as it is."""
    project = Project.open(Path.cwd(), environ)
    found = commit_by_task(project, CommitRequest(given.task, given.dry_run))
    say(found, commit_lines, commit_document, as_json=given.json)
    return ExitCode.OK
