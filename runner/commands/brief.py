"""`runner brief ID`: exactly what an implementer of the task would be told by the next attempt."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from runner.errors import ExitCode

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

_EXAMPLES = """\
examples:
  runner brief TASK-003
  runner brief 3 --json
"""


def arguments(parser: argparse.ArgumentParser, name: str) -> None:
    """What `runner brief` takes."""
    del name
    parser.epilog = _EXAMPLES
    parser.add_argument("id", metavar="ID", help="the task: TASK-003, or 3")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    parser.add_argument("--task-graph", metavar="PATH", help="another plan than TASK-GRAPH.md")


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Print the brief, made by the very code that makes a run's."""
    from runner.commands.preparing import preparation_of
    from runner.commands.view import View
    from runner.project import Project
    from runner.run.selection import find_id

    project = Project.open(Path.cwd(), environ, {"task_graph": given.task_graph})
    view = View.of(project)
    id_ = find_id(given.id, view.states)
    plan = project.plan(project.plan_bytes)
    task = next(task for task in plan.tasks if task.id == id_)
    attempt = view.states[id_].last_attempt + 1
    brief = preparation_of(project, plan, view.state).brief(task, attempt)
    if given.json:
        from runner.report.documents import document

        patterns = [pattern.id for pattern in brief.patterns]
        said = document("brief", task=id_, attempt=attempt, patterns=patterns, text=brief.text)
        print(said, end="")
    else:
        sys.stdout.write(brief.text.rstrip("\n") + "\n")
    return ExitCode.OK
