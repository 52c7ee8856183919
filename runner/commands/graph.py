"""`runner graph`: the tasks and their dependencies as Mermaid text, with the statuses as they are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

from runner.errors import ExitCode

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Mapping

    from runner.commands.view import View
    from runner.model import Task

_EXAMPLES = """\
examples:
  runner graph > graph.mmd         for mermaid.live, or a ```mermaid block
  runner graph --json              nodes and edges for a program
"""


def arguments(parser: argparse.ArgumentParser, name: str) -> None:
    """What `runner graph` takes."""
    del name
    parser.epilog = _EXAMPLES
    parser.add_argument("--format", choices=("mermaid",), default="mermaid", help="mermaid")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    parser.add_argument("--task-graph", metavar="PATH", help="another plan than TASK-GRAPH.md")


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Print the graph."""
    from runner.commands.view import View
    from runner.project import Project
    from runner.report.mermaid import mermaid

    project = Project.open(Path.cwd(), environ, {"task_graph": given.task_graph})
    view = View.of(project)
    if given.json:
        print(_document(view), end="")
        return ExitCode.OK
    # cast: mermaid looks at id, title, status and dependencies, which an outline's tasks have
    tasks = cast("Iterable[Task]", view.tasks)
    print(mermaid(tasks, {id_: known.status for id_, known in view.states.items()}), end="")
    return ExitCode.OK


def _document(view: View) -> str:
    from runner.report.documents import document

    return document(
        "graph",
        nodes=[
            {"id": task.id, "title": task.title, "status": view.status(task.id)}
            for task in view.tasks
        ],
        edges=[
            {"from": needed, "to": task.id}
            for task in view.tasks
            for needed in task.depends_on
            if needed in view.states
        ],
    )
