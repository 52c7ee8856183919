"""`runner waive`: a person takes a task as DONE without a proof, for these bytes."""

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

    from runner.app.answer import waiver
else:
    waiver = lazy_module("runner.app.answer.waiver")

EXAMPLES = """\
examples:
  runner waive TASK-003 --reason "tried by hand on the printer"
  runner waive 3 --reason "a picture: looked at"

It ends by itself when the task's files change, or what the plan asks of it.
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """What `runner waive` takes."""
    parser.add_argument("id", metavar="ID", help="the task: TASK-003, or 3")
    parser.add_argument("--reason", metavar="TEXT", required=True, help="why it needs no proof")
    parser.add_argument("--task-graph", metavar="PATH", help="another plan than TASK-GRAPH.md")


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Write it into the journal and into the plan; exit 3 where no person can have said it."""
    project = Project.open(Path.cwd(), environ, {"task_graph": given.task_graph})
    made = waiver.waive(project, waiver.Waive(given.id, given.reason))
    how = ": DONE — waived" if made.is_new else " is waived already"
    print(f"{display(made.task)}{how}: {display(made.reason)}")
    return ExitCode.OK
