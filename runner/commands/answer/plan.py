"""`runner plan ID`: how an agent means to build a task; the next run builds it so."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from runner.errors import ExitCode, RunnerError
from runner.model import Finding, Status
from runner.text.display import display

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from runner.journal.state import RunState
    from runner.journal.task_state import Planned
    from runner.model import Task
    from runner.project import Project, Reading
    from runner.report.console import Console

_EXAMPLES = """\
examples:
  runner plan TASK-003          make its plan, or show the one that is there
  runner plan TASK-003 --again --reason "without a new module"
                                another one instead
exit code: 0 there is an approved plan, 3 it waits for you or no plan did, 5 stopped by a budget
  or a loop
"""
_UNASKED = "approved, since nobody reviews plans here (--plan-review prompt asks you)"


def arguments(parser: argparse.ArgumentParser, name: str) -> None:
    """What `runner plan` takes."""
    from runner.commands.one_task import add_arguments

    del name
    add_arguments(parser, _EXAMPLES)
    add = parser.add_argument
    add("--again", action="store_true", help="plan again, though there is a plan")
    add("--reason", default="", help="what the new plan is to do better")
    add("--trust", action="store_true", help="run this plan's commands without asking")
    add("--plan-review", choices=("prompt", "auto", "off"), help="who approves the plan")
    add("--no-sandbox", action="store_true", help="run the agent without a sandbox")
    add("--allow-dirty", action="store_true", help="plan on HEAD beside uncommitted changes")


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Show the plan of a task; make it where there is none."""
    from runner.project import Project
    from runner.run.planned.plan_step import plan_of
    from runner.run.selection import find_id

    project = Project.open(Path.cwd(), environ, _flags(given))
    reading = project.check()
    if any(problem.is_error for problem in reading.problems):
        raise RunnerError("the plan has mistakes; nothing has run", hint="runner validate")
    tasks = {task.id: task for task in reading.plan.tasks}
    task = tasks[find_id(given.id, tasks)]
    there = plan_of(project.state(), task)
    if there is not None and not given.again:
        return _show(project.state(), task, as_json=given.json)
    _require_plannable(project, task)
    if there is not None:
        _send_back(project, task, there, given.reason or "another plan was asked for")
    code = _make(given, project, reading, task)
    shown = _show(project.state(), task, as_json=given.json)
    return code or shown


def _flags(given: argparse.Namespace) -> dict[str, object]:
    flags = {
        "task_graph": given.task_graph,
        "plan_review": given.plan_review,
        "sandbox": "none" if given.no_sandbox else None,
    }
    return {name: value for name, value in flags.items() if value is not None}


def _require_plannable(project: Project, task: Task) -> None:
    """Raise RunnerError for a task that nobody plans, or whose turn has not come."""
    from runner.implementers.registry import choose

    chosen = choose(task, project.settings)
    if isinstance(chosen, Finding):
        message = chosen.message
        said = message if message.startswith(f"{task.id} ") else f"{task.id}: {message}"
        raise RunnerError(said, hint=chosen.hint)
    if not chosen.is_agent:
        raise RunnerError(
            f"{task.id} is built by {chosen.name}, which plans nothing",
            hint="plans are made by agents and models: - Implementer: …",
        )
    state = project.state()
    open_ones = [id_ for id_ in task.depends_on if state.task(id_).status is not Status.DONE]
    if open_ones:
        raise RunnerError(
            f"{task.id} waits for {', '.join(open_ones)}: a plan would not see what they build",
            hint=f"runner run {open_ones[0]}",
        )
    status = state.task(task.id).status
    if status in (Status.DONE, Status.STALE):
        raise RunnerError(f"{task.id} is {status}", hint=f"runner why {task.id}")


def _send_back(project: Project, task: Task, there: Planned, reason: str) -> None:
    from runner.journal.log import Journal
    from runner.journal.sessions import (
        PlanReviewed,
    )

    event = PlanReviewed(there.digest, approved=False, reason=reason, by="person")
    with Journal.open(project.journal_path) as journal:
        attempt = project.state().task(task.id).last_attempt
        journal.append(event, task=task.id, attempt=attempt, durable=True)


def _make(given: argparse.Namespace, project: Project, reading: Reading, task: Task) -> ExitCode:
    """Have the plan made in a run of its own, which executes nothing."""
    from runner.app.build.discovered_gates import take_up_default_gates
    from runner.report.console import NORMAL, QUIET, Console, wants_colour

    take_up_default_gates(project)
    colour = wants_colour(sys.stderr, project.environ)
    with Console(level=QUIET if given.json else NORMAL, colour=colour) as console:
        return _run(given, project, reading, task, console)


def _run(
    given: argparse.Namespace, project: Project, reading: Reading, task: Task, console: Console
) -> ExitCode:
    from runner.app.build.engine_setup import Options, run_engine
    from runner.app.build.session import Session
    from runner.app.build.suitability import require_suitable
    from runner.app.build.trust_question import require_trust
    from runner.commands.running.terminal_review import find_asker
    from runner.run.selection import Selection

    asker = find_asker(console, project.environ)
    require_trust(
        project,
        reading.plan,
        trusted=given.trust,
        asker=asker,
        again=f"runner plan {task.id} --trust",
    )
    with Session(project, reading.plan.tasks, (console.hear,)) as session:
        own = session.own_documents
        require_suitable(session.repository, own, allow_dirty=given.allow_dirty)
        only, options = Selection(only=(task.id,)), Options(plan_only=True)
        return run_engine(session, reading, only, options, console, asker)


def _show(state: RunState, task: Task, *, as_json: bool) -> ExitCode:
    """Print the plan and how it stands; the exit code says that too."""
    from runner.commands.answer.review import format_plan
    from runner.run.planned.plan_step import plan_of

    there = plan_of(state, task)
    if as_json:
        print(_document(state, task, there), end="")
    elif there is None:
        print(f"{display(task.id)} has no plan", file=sys.stderr)
    else:
        print(format_plan(there, task.id), end="")
        print(_format_standing(there, task.id), file=sys.stderr)
    if there is None:
        return ExitCode.FAILED
    return ExitCode.OK if there.approved else ExitCode.PERSON


def _format_standing(there: Planned, task: str) -> str:
    name = display(task)
    if there.approved:
        how = _UNASKED if there.review == "off" else f"approved ({there.review})"
        return f"{how}; the next run builds it: runner run {name}"
    return f"waits for your review: runner approve {name}, or runner reject {name} --reason …"


def _document(state: RunState, task: Task, there: Planned | None) -> str:
    from runner.report.documents import document

    standing = "none" if there is None else "approved" if there.approved else "waits"
    known = state.task(task.id)
    return document(
        "task-plan",
        task=task.id,
        title=task.title,
        standing=standing,
        review=there.review if there else "",
        plan=there.plan if there else None,
        path=there.path if there else None,
        digest=there.digest if there else None,
        findings=tuple(known.findings) if there is None else (),
    )
