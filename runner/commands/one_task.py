"""How commands about one task begin: its flags, and the project, view and task behind them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from runner.lazy_module import lazy_module
from runner.project import Project

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from runner.app.inspect import task_inquiry
    from runner.app.inspect.task_inquiry import OneTask
else:
    task_inquiry = lazy_module("runner.app.inspect.task_inquiry")


def add_arguments(parser: argparse.ArgumentParser, *, needed: bool = True) -> None:
    """`ID`, `--json` and `--task-graph`."""
    number = None if needed else "?"
    parser.add_argument("id", nargs=number, metavar="ID", help="the task: TASK-003, or 3")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    parser.add_argument("--task-graph", metavar="PATH", help="another plan than TASK-GRAPH.md")


def add_verbose(parser: argparse.ArgumentParser) -> None:
    """`-v` of commands that leave digests out."""
    parser.add_argument("-v", "--verbose", action="store_true", help="commits and digests in full")


def one_task(given: argparse.Namespace, environ: Mapping[str, str]) -> OneTask:
    """The task of these flags. Raises RunnerError for an id that no task has."""
    project = Project.open(Path.cwd(), environ, {"task_graph": given.task_graph})
    return task_inquiry.find_one_task(project, given.id)
