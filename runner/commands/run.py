"""`runner run`: from a reading of the plan to a summary of what was built."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from runner.errors import ExitCode, RunnerError
from runner.report.console import NORMAL, QUIET, VERBOSE, Console, wants_colour

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from runner.project import Project, Reading
    from runner.run.review import Asker
    from runner.run.selection import Selection

_EXAMPLES = """\
examples:
  runner                      build everything that is ready
  runner run TASK-003         that task, and what it depends on
  runner run --from TASK-003  that task and all that follows from it
  runner -n                   say what would happen, and run nothing
"""


def arguments(parser: argparse.ArgumentParser, name: str) -> None:
    """What `runner run` takes."""
    del name
    parser.epilog = _EXAMPLES
    add = parser.add_argument
    which = parser.add_argument_group("which tasks").add_argument
    which("ids", nargs="*", metavar="ID", help="these, with what they depend on")
    which("--only", action="append", default=[], metavar="ID", help="this one alone")
    which("--from", dest="start", default="", metavar="ID", help="this and all that follows")
    which("--until", default="", metavar="ID", help="up to and with this one")
    which("--with-dependents", action="store_true", help="and what depends on them")
    add("-j", "--jobs", type=int, metavar="N", help="tasks at once (default: cores)")
    add("-n", "--dry-run", action="store_true", help="say what would happen; run nothing")
    add("--fail-fast", action="store_true", help="start nothing new after a failure")
    add("--allow-dirty", action="store_true", help="build on HEAD beside uncommitted changes")
    add("--trust", action="store_true", help="run this plan's commands without asking")
    add("--review", choices=("prompt", "auto", "off"), help="who approves writes")
    add("--sandbox", choices=("auto", "bubblewrap", "none"), help="what encloses commands")
    add("--no-sandbox", action="store_true", help="the same as --sandbox none")
    add("--task-graph", metavar="PATH", help="another plan than TASK-GRAPH.md")
    add("--json", action="store_true", help="the summary as one JSON document")
    add("-q", "--quiet", action="store_true", help="only the summary")
    add("-v", "--verbose", action="store_true", help="also what commands print")


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Build, or say what would be built."""
    from runner.commands.selecting import selection_of
    from runner.project import Project

    project = Project.open(Path.cwd(), environ, _flags(given))
    console = _console(given, environ)
    selection = selection_of(given)
    for note in project.loaded.notes:
        console.say(f"note: {note}")
    if not given.dry_run and not selection.named and _nothing_to_do(project):
        return _say_all_done(project, as_json=given.json)
    reading = _sound_plan(project, console)
    if given.dry_run:
        from runner.commands.forecasting import show_forecast

        return show_forecast(project, reading, selection, as_json=given.json)
    return _build(given, project, console, reading, selection)


def _flags(given: argparse.Namespace) -> dict[str, object]:
    """The settings among the flags, by name."""
    flags = {
        "jobs": given.jobs,
        "review": given.review,
        "sandbox": "none" if given.no_sandbox else given.sandbox,
        "task_graph": given.task_graph,
    }
    return {name: value for name, value in flags.items() if value is not None}


def _console(given: argparse.Namespace, environ: Mapping[str, str]) -> Console:
    level = QUIET if given.quiet else VERBOSE if given.verbose else NORMAL
    return Console(level=level, colour=wants_colour(sys.stderr, environ))


def _nothing_to_do(project: Project) -> bool:
    """Whether every task is DONE by file and journal alike, on the head the journal knows."""
    from runner.commands.standing import all_done

    return all_done(project)


def _say_all_done(project: Project, *, as_json: bool) -> ExitCode:
    from runner.commands.standing import summary_document

    count = len(project.outline().tasks)
    if as_json:
        print(summary_document(project, ExitCode.OK))
    else:
        print(f"all {count} tasks are DONE; nothing to do")
    return ExitCode.OK


def _sound_plan(project: Project, console: Console) -> Reading:
    """The plan, when nothing in it is wrong; all its mistakes together otherwise."""
    from runner.plan.problem import render

    reading = project.checked()
    problems = reading.problems
    errors = [problem for problem in problems if problem.is_error]
    if errors:
        text = "\n\n".join(render(problem) for problem in errors)
        count = f"{len(errors)} mistake{'' if len(errors) == 1 else 's'}"
        raise RunnerError(f"the plan has {count}; nothing has run", detail=text)
    warnings = len(problems)
    if warnings:
        console.say(
            f"the plan has {warnings} warning{'' if warnings == 1 else 's'}: runner validate"
        )
    return reading


def _build(
    given: argparse.Namespace,
    project: Project,
    console: Console,
    reading: Reading,
    selection: Selection,
) -> ExitCode:
    from runner.commands.building import Options, build
    from runner.commands.session import Session
    from runner.commands.standing import say_summary
    from runner.commands.suitability import require_suitable
    from runner.commands.trusting import require_trust

    terminal = _has_person(project.environ)
    require_trust(project, reading.plan, trusted=given.trust, terminal=terminal, console=console)
    options = Options(
        fail_fast=given.fail_fast,
        review_insisted=_insisted(project),
    )
    asker = _asker(console) if terminal else None
    with Session(project, reading.plan.tasks, (console.hear,)) as session:
        if session.recovered:
            console.say(session.recovered)
        notices = require_suitable(
            session.repository, session.own_documents, allow_dirty=given.allow_dirty
        )
        for notice in notices:
            console.say(f"note: {notice}")
        code = build(
            session, reading, selection, options, asker=asker, show=console.progress
        )
        return say_summary(session, reading.plan, code, as_json=given.json)


def _has_person(environ: Mapping[str, str]) -> bool:
    """Whether somebody sits at a terminal and may be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty() and environ.get("CI", "").lower() != "true"


def _insisted(project: Project) -> bool:
    """Whether the person's own settings, not the repository's, turned review off."""
    source = project.loaded.sources.get("review", "default")
    return source.startswith(("environment", "--")) or "config" in source


def _asker(console: Console) -> Asker:
    from runner.commands.asking import TerminalAsker

    return TerminalAsker(console)
