"""`runner plan ID`: how an agent means to build a task; the next run builds it so."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from runner.commands.answer.review import format_plan
from runner.commands.one_task import add_arguments
from runner.lazy_module import lazy_module
from runner.project import Project
from runner.report.console import NORMAL, QUIET, Console, wants_colour
from runner.report.documents import document
from runner.text.display import display

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping

    from runner.app.answer import task_planning
    from runner.app.answer.task_planning import PlanningResult
    from runner.app.observer import Observer
    from runner.errors import ExitCode
    from runner.journal.task_state import Planned
    from runner.run.review import Asker
    from runner.terminal import terminal_review
else:
    task_planning = lazy_module("runner.app.answer.task_planning")
    terminal_review = lazy_module("runner.terminal.terminal_review")

EXAMPLES = """\
examples:
  runner plan TASK-003          make its plan, or show the one that is there
  runner plan TASK-003 --again --reason "without a new module"
                                another one instead
exit code: 0 there is an approved plan, 3 it waits for you or no plan did, 5 stopped by a budget
  or a loop
"""
_UNASKED = "approved, since nobody reviews plans here (--plan-review prompt asks you)"


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
        project, asked, partial(_open_console, project, is_quiet=given.json)
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


@contextmanager
def _open_console(project: Project, *, is_quiet: bool) -> Iterator[tuple[Observer, Asker | None]]:
    colour = wants_colour(sys.stderr, project.environ)
    with Console(level=QUIET if is_quiet else NORMAL, colour=colour) as console:
        yield console, terminal_review.find_asker(console, project.environ)


def _show(came: PlanningResult, *, as_json: bool) -> None:
    """Print the plan and how it stands."""
    id_ = came.task.id
    if as_json:
        print(_document(came), end="")
    elif came.plan is None:
        print(f"{display(id_)} has no plan", file=sys.stderr)
    else:
        print(format_plan(came.plan, id_), end="")
        print(_format_standing(came.plan, id_), file=sys.stderr)


def _format_standing(there: Planned, task: str) -> str:
    name = display(task)
    if there.approved:
        how = _UNASKED if there.review == "off" else f"approved ({there.review})"
        return f"{how}; the next run builds it: runner run {name}"
    return f"waits for your review: runner approve {name}, or runner reject {name} --reason …"


def _document(came: PlanningResult) -> str:
    there = came.plan
    return document(
        "task-plan",
        task=came.task.id,
        title=came.task.title,
        standing="none" if there is None else "approved" if there.approved else "waits",
        review=there.review if there else "",
        plan=there.plan if there else None,
        path=there.path if there else None,
        digest=there.digest if there else None,
        findings=tuple(came.known.findings) if there is None else (),
    )
