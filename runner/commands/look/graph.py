"""`runner graph`: tasks, dependencies and statuses as Mermaid, DOT, plain text or a picture."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from runner.app.inspect.view import View
from runner.errors import ExitCode
from runner.lazy_module import lazy_module
from runner.project import Project

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from runner.app.inspect import status_document
    from runner.report import console, documents, graph_drawing, graph_formats
else:
    console = lazy_module("runner.report.console")
    documents = lazy_module("runner.report.documents")
    status_document = lazy_module("runner.app.inspect.status_document")
    graph_drawing = lazy_module("runner.report.graph_drawing")
    graph_formats = lazy_module("runner.report.graph_formats")


EXAMPLES = """\
examples:
  runner graph > graph.mmd         for mermaid.live, or a ```mermaid block
  runner graph                     drawn, in the terminal
  runner graph --format svg > graph.svg
  runner graph --json              nodes and edges for a program
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """What `runner graph` takes."""
    parser.add_argument(
        "--format",
        choices=("mermaid", "dot", "ascii", "svg"),
        help="mermaid text, Graphviz dot, plain text, or a picture (default: plain text on a"
        " terminal, else mermaid)",
    )
    parser.add_argument("--json", action="store_true", help="one JSON document")
    parser.add_argument("--task-graph", metavar="PATH", help="another plan than TASK-GRAPH.md")


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Print the graph."""
    project = Project.open(Path.cwd(), environ, {"task_graph": given.task_graph})
    view = View.of(project)
    if given.json:
        print(documents.document("graph", **status_document.describe_graph(view)), end="")
        return ExitCode.OK
    form = given.format or ("ascii" if sys.stdout.isatty() else "mermaid")
    print(_render_graph(view, form, environ), end="")
    return ExitCode.OK


def _render_graph(view: View, form: str, environ: Mapping[str, str]) -> str:
    """The graph in a form; colours only where it goes to a terminal."""
    statuses = {id_: known.status for id_, known in view.states.items()}
    match form:
        case "dot":
            return graph_formats.dot(view.tasks, statuses)
        case "ascii":
            return graph_drawing.ascii_graph(
                view.tasks, statuses, console.painter(console.wants_colour(sys.stdout, environ))
            )
        case "svg":
            return graph_drawing.svg(view.tasks, statuses, title=view.title)
        case _:
            return graph_formats.mermaid(view.tasks, statuses)
