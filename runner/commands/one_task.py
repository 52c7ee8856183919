"""How commands about one task begin: its flags, and the project, view and task behind them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from runner.app.inspect.view import View
    from runner.model import Task
    from runner.plan.document import Plan
    from runner.project import Project


@dataclass(frozen=True)
class OneTask:
    """A task that a person named, in a project that was read as a run would."""

    project: Project
    view: View
    id: str

    @cached_property
    def plan(self) -> Plan:
        """The whole plan; parsed when it is first asked for."""
        return self.project.plan(self.project.plan_bytes)

    @cached_property
    def task(self) -> Task:
        """The task as its section says it."""
        return next(task for task in self.plan.tasks if task.id == self.id)


def add_arguments(parser: argparse.ArgumentParser, examples: str) -> None:
    """`ID`, `--json` and `--task-graph`."""
    parser.epilog = examples
    parser.add_argument("id", metavar="ID", help="the task: TASK-003, or 3")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    parser.add_argument("--task-graph", metavar="PATH", help="another plan than TASK-GRAPH.md")


def one_task(given: argparse.Namespace, environ: Mapping[str, str]) -> OneTask:
    """The task of these flags. Raises RunnerError for an id that no task has."""
    from runner.app.inspect.view import View
    from runner.project import Project
    from runner.run.selection import find_id

    project = Project.open(Path.cwd(), environ, {"task_graph": given.task_graph})
    view = View.of(project)
    return OneTask(project, view, find_id(given.id, view.states))
