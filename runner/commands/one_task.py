"""`runner show`, `why`, `evidence`, `plan`, `shell`: commands about one task.

They show its status and the reason, the brief, the evidence, and the plan that an agent made;
`shell` opens a shell in the tree of the task.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from runner.app.inspect.task_view import describe_task_whole, portrait
from runner.commands.output import load_trusted_plan, open_console, open_with_gates, tell
from runner.errors import ExitCode, RunnerError
from runner.lazy_module import lazy_module
from runner.project import Project
from runner.report.attestations import encode
from runner.report.documents import document
from runner.report.table import table
from runner.secrets.redact import redact
from runner.text.display import display

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from runner.app.answer import one_task_runs, waiting_document
    from runner.app.answer.one_task_runs import PlanningResult
    from runner.app.inspect import task_inquiry
    from runner.app.inspect.task_inquiry import OneTask
    from runner.app.prove import task_evidence, task_shell
    from runner.commands import verify
    from runner.context.brief import Brief
else:
    task_inquiry = lazy_module("runner.app.inspect.task_inquiry")
    one_task_runs = lazy_module("runner.app.answer.one_task_runs")
    waiting_document = lazy_module("runner.app.answer.waiting_document")
    task_evidence = lazy_module("runner.app.prove.task_evidence")
    verify = lazy_module("runner.commands.verify")
    task_shell = lazy_module("runner.app.prove.task_shell")


def one_task(given: argparse.Namespace, environ: Mapping[str, str]) -> OneTask:
    """Return the task in the flags. Raises RunnerError for an unknown ID."""
    project = Project.open(Path.cwd(), environ, {"task_graph": given.task_graph})
    return task_inquiry.find_one_task(project, given.id)


def execute_show(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Show the task. Raises RunnerError for an id that no task has."""
    if given.brief or given.parts:
        return _show_brief(given, environ)
    asked = one_task(given, environ)
    task, view, story = asked.task, asked.view, task_inquiry.load_story(asked)
    if given.json:
        print(redact(document("task", **describe_task_whole(asked, story))), end="")
    else:
        lines = portrait(task, view, story.past, story.report, digests=given.verbose)
        sys.stdout.write(redact("\n".join(lines)) + "\n")
    return ExitCode.OK


def execute_why(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Print why a task has its status. Raises RunnerError for an unknown id."""
    from runner.app.inspect.task_inquiry import explain_cause

    if given.id is None:
        return _explain_all(given, environ)
    asked = one_task(given, environ)
    if given.json:
        print(document("why", **task_inquiry.describe_why(asked)), end="")
    else:
        print("\n".join(explain_cause(task_inquiry.explain(asked))))
    return ExitCode.OK


def _explain_all(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    from runner.app.inspect.task_inquiry import explain_cause

    project = Project.open(Path.cwd(), environ, {"task_graph": given.task_graph})
    causes = task_inquiry.explain_all(project)
    if given.json:
        print(document("why", causes=causes), end="")
        return ExitCode.OK
    for cause in causes:
        print("\n".join(explain_cause(cause)), end="\n\n")
    if not causes:
        print("nothing is blocked; to see what is next: runner status")
    return ExitCode.OK


def _show_brief(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Print the brief, made by the very code that makes a run's."""
    asked = one_task(given, environ)
    made = task_inquiry.next_brief(asked)
    brief = made.brief
    if given.json:
        print(document("brief", **task_inquiry.describe_brief(asked.id, made)), end="")
        return ExitCode.OK
    if given.parts:
        print(_format_sizes(brief), end="")
    else:
        sys.stdout.write(brief.text.rstrip("\n") + "\n")
        sys.stdout.flush()
        print(_format_sizes(brief), end="", file=sys.stderr)
    _warn(brief)
    return ExitCode.OK


def _format_sizes(brief: Brief) -> str:
    """Return a table of the tokens of each part and in total."""
    rows = [(part.name, str(part.tokens)) for part in brief.parts]
    return table(("PART", "TOKENS"), [*rows, ("all", str(brief.tokens))])


def _warn(brief: Brief) -> None:
    for one in brief.warnings:
        print(f"warning: {display(one.path)}:{one.line}: {display(one.message)}", file=sys.stderr)


# --- what its DONE rests on -----------------------------------------------------------


def execute_evidence(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Show the evidence; exit 1 for a task that has none."""
    if given.check:
        return verify.check_statement(given, environ)
    if given.run:
        raise RunnerError("--run needs --check", hint="runner evidence --check FILE --run")
    project = Project.open(Path.cwd(), environ, {"task_graph": given.task_graph})
    found = task_evidence.find_evidence(project, given.id)
    if given.format == "in-toto":
        print(encode(task_evidence.attest_task(project, found.task.id, found.known.spec)), end="")
        return ExitCode.OK
    if given.json or given.format == "json":
        print(redact(task_evidence.evidence_document(found)), end="")
        return ExitCode.OK if found.evidence else ExitCode.FAILED
    if found.evidence is None:
        raise task_evidence.no_evidence(project, found)
    sys.stdout.write(
        redact(
            "\n".join(task_evidence.evidence_lines(found, found.evidence, digests=given.verbose))
        )
        + "\n"
    )
    return ExitCode.OK


# --- its own plan ---------------------------------------------------------------------


def execute_plan(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Show the plan of a task; make it where there is none."""
    project = Project.open(Path.cwd(), environ, _planning_flags(given))
    asked = one_task_runs.MakePlan(
        given.id, given.again, given.reason, given.trust, given.allow_dirty
    )
    came = one_task_runs.plan_task(
        project, asked, partial(open_console, project, is_quiet=given.json)
    )
    _show_plan(came, as_json=given.json)
    return came.code


def _planning_flags(given: argparse.Namespace) -> dict[str, object]:
    flags = {
        "task_graph": given.task_graph,
        "plan_review": given.plan_review,
        "sandbox": "none" if given.no_sandbox else None,
    }
    return {name: value for name, value in flags.items() if value is not None}


def _show_plan(came: PlanningResult, *, as_json: bool) -> None:
    """Print the plan and how it stands."""
    if as_json:
        print(one_task_runs.plan_document(came), end="")
    elif came.plan is None:
        print(f"{display(came.task.id)} has no plan", file=sys.stderr)
    else:
        print(waiting_document.format_plan(came.plan, came.task.id), end="")
        print(one_task_runs.format_standing(came.plan, came.task.id), file=sys.stderr)


def execute_shell(given: argparse.Namespace, environ: Mapping[str, str]) -> int:
    """Run it; the exit code is that of the command."""
    flags = {"task_graph": given.task_graph, "sandbox": given.sandbox}
    project = open_with_gates(environ, flags)
    load_trusted_plan(project, trusted=given.trust, again=f"runner shell {given.id} --trust")
    if given.held_out and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise RunnerError(
            "--held-out works only on a terminal",
            hint="run the command in your own terminal, or remove --held-out",
            code=ExitCode.PERSON,
        )
    wanted = task_shell.TreeChoice(given.tree) if given.tree else None
    ended = task_shell.run_in_tree(
        project, given.id, wanted, given.command, hear=_show, say=tell, held_out=given.held_out
    )
    if ended.why:
        tell(f"exit code 0, but a proof would reject this result: {ended.why}")
    return ended.exit


def _show(lines: str) -> None:
    sys.stdout.write(f"{display(lines, lines=True)}\n")
    sys.stdout.flush()
