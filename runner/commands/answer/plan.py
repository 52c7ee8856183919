"""`runner plan ID`: how an agent means to build a task; the next run builds it so."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from runner.commands.one_task import add_arguments
from runner.commands.output import open_console
from runner.lazy_module import lazy_module
from runner.project import Project
from runner.text.display import display

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from runner.app.answer import task_planning, waiting_document
    from runner.app.answer.task_planning import PlanningResult
    from runner.errors import ExitCode
else:
    task_planning = lazy_module("runner.app.answer.task_planning")
    waiting_document = lazy_module("runner.app.answer.waiting_document")

EXAMPLES = """\
examples:
  runner plan TASK-003          make its plan, or show the one that is there
  runner plan TASK-003 --again --reason "without a new module"
                                another one instead
exit code: 0 there is an approved plan, 3 it waits for you or no plan did, 5 stopped by a budget
  or a loop
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """What `runner plan` takes."""
    add_arguments(parser)
    add = parser.add_argument
    add("--again", action="store_true", help="plan again, though there is a plan")
    add("--reason", default="", help="what the new plan is to do better")
    add("--trust", action="store_true", help="run this plan's commands without asking")
    add("--plan-review", choices=("prompt", "auto", "off"), help="who approves the plan")
    add("--no-sandbox", action="store_true", help="run the agent without a sandbox")
    add("--allow-dirty", action="store_true", help="plan on HEAD beside uncommitted changes")


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Show the plan of a task; make it where there is none."""
    project = Project.open(Path.cwd(), environ, _flags(given))
    asked = task_planning.MakePlan(
        given.id, given.again, given.reason, given.trust, given.allow_dirty
    )
    came = task_planning.plan_task(
        project, asked, partial(open_console, project, is_quiet=given.json)
    )
    _show(came, as_json=given.json)
    return came.code


def _flags(given: argparse.Namespace) -> dict[str, object]:
    flags = {
        "task_graph": given.task_graph,
        "plan_review": given.plan_review,
        "sandbox": "none" if given.no_sandbox else None,
    }
    return {name: value for name, value in flags.items() if value is not None}


def _show(came: PlanningResult, *, as_json: bool) -> None:
    """Print the plan and how it stands."""
    if as_json:
        print(task_planning.plan_document(came), end="")
    elif came.plan is None:
        print(f"{display(came.task.id)} has no plan", file=sys.stderr)
    else:
        print(waiting_document.format_plan(came.plan, came.task.id), end="")
        print(task_planning.format_standing(came.plan, came.task.id), file=sys.stderr)
