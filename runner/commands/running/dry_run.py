"""`runner run ID --dry-run --with-implementer`: what a task would come to now; nothing lands."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from runner.app.build.task_trial import trial_document, trial_lines
from runner.errors import ExitCode, RunnerError
from runner.lazy_module import lazy_module
from runner.project import Project
from runner.report.diff_view import diff_text
from runner.text.display import display

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping

    from runner.app.build import saved_file, task_trial
    from runner.app.build.task_trial import TrialResult
    from runner.commands.running import run_options
    from runner.model import Change
else:
    run_options = lazy_module("runner.commands.running.run_options")
    saved_file = lazy_module("runner.app.build.saved_file")
    task_trial = lazy_module("runner.app.build.task_trial")


def execute(
    given: argparse.Namespace, environ: Mapping[str, str], flags: dict[str, object]
) -> ExitCode:
    """Work on the task in a scratch tree, and show what would land."""
    if not (given.dry_run or given.plan_out):
        raise RunnerError(
            "--with-implementer belongs to --dry-run", hint="runner run ID -n --with-implementer"
        )
    named = [*given.ids, *given.only]
    if len(named) != 1:
        raise RunnerError(
            "--with-implementer is about one task", hint="runner run TASK-003 -n --with-implementer"
        )
    project = Project.open(Path.cwd(), environ, flags)
    with run_options.console_of(given, environ, project.root) as console:
        found = task_trial.try_one_task(project, named[0], console, trusted=given.trust)
        if found.code is ExitCode.INTERRUPTED:
            return found.code
        print(render_trial(found, environ, as_json=given.json), end="")
        if given.plan_out:
            saved_file.save_proposal(Path.cwd() / given.plan_out, project, found.trial)
            print(
                f"saved; to land exactly this: runner run --apply {given.plan_out}",
                file=sys.stderr,
            )
    return found.code


def render_trial(found: TrialResult, environ: Mapping[str, str], *, as_json: bool) -> str:
    """All of it, as text or as one JSON document."""
    return trial_document(found) if as_json else "\n".join(_lines(found, environ)) + "\n"


# --- for a person ---------------------------------------------------------------------


def _lines(found: TrialResult, environ: Mapping[str, str]) -> Iterator[str]:
    for change in found.trial.outcome.changes:
        yield _diff(found, change, environ)
        yield ""
    yield from trial_lines(found)


def _diff(found: TrialResult, change: Change, environ: Mapping[str, str]) -> str:
    from runner.report.console import wants_colour

    if change.path in found.trial.outcome.tainted:
        return f"{display(change.path)}: refused, so it is not shown"
    before = found.before[change.path]
    colour = wants_colour(sys.stdout, environ)
    width = shutil.get_terminal_size().columns if colour else 0
    return diff_text(before, change, colour=colour, width=width)


# --- as a document --------------------------------------------------------------------
