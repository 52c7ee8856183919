"""`runner import` and `runner sync`: import another tool's tasks, and mark proven ones there."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from runner.commands.output import open_console
from runner.errors import ExitCode, RunnerError
from runner.lazy_module import lazy_module
from runner.plan.foreign.base import Form
from runner.project import Project
from runner.report.documents import document
from runner.text.display import display
from runner.text.wording import join_few, plural

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from runner.app.draft import drafted_imports
    from runner.app.inspect import repository_analysis
    from runner.app.write import import_tasks
    from runner.app.write.import_tasks import ImportRequest
    from runner.commands import review
else:
    review = lazy_module("runner.commands.review")
    drafted_imports = lazy_module("runner.app.draft.drafted_imports")
    import_tasks = lazy_module("runner.app.write.import_tasks")
    repository_analysis = lazy_module("runner.app.inspect.repository_analysis")


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Import or mark; exit 6 where a file was saved meanwhile."""
    flags = {"task_graph": given.task_graph}
    if "source" in given:
        project = Project.open(Path.cwd(), environ, flags, plan_needed=False)
        return _import(given, project)
    return _sync(given, Project.open(Path.cwd(), environ, flags))


# --- import ---------------------------------------------------------------------------


def _import(given: argparse.Namespace, project: Project) -> ExitCode:
    stdin = sys.stdin.read() if given.source == "-" else ""
    form = Form(given.form) if given.form else None
    request = import_tasks.ImportRequest(
        given.source, form, given.test, given.accept_done, given.dry_run, stdin
    )
    if given.draft:
        return _draft(given, project, request)
    asks = not (given.test or given.json or given.dry_run or given.source == "-")
    if asks and sys.stdin.isatty() and sys.stderr.isatty():
        seen = import_tasks.import_tasks(project, replace(request, dry_run=True))
        if seen.without_proof:
            request = replace(request, test=_ask_test(project, len(seen.without_proof)))
    done = import_tasks.import_tasks(project, request)
    if given.json:
        print(
            import_tasks.import_document(done, wrote=not given.dry_run and bool(done.added)), end=""
        )
        return ExitCode.OK
    if given.dry_run:
        print("\n".join(display(line) for line in done.text.splitlines()))
    print("\n".join(import_tasks.import_lines(done, is_dry=given.dry_run)))
    return ExitCode.OK


def _draft(given: argparse.Namespace, project: Project, request: ImportRequest) -> ExitCode:
    """Draft the missing parts of an imported list; import it directly if nothing is missing."""
    if given.accept_done or given.dry_run:
        flag = "--accept-done" if given.accept_done else "--dry-run"
        raise RunnerError(
            f"{flag} cannot be combined with --draft, which writes nothing yet",
            hint="approve the draft first (see: runner review), then waive single tasks",
        )
    with open_console(project, is_quiet=given.json) as (observer, asker):
        came = drafted_imports.draft_import(project, request, observer, asker, trusted=given.trust)
    if came.drafted is not None:
        if not given.json:
            print("\n".join(import_tasks.read_lines(came.read)))
        return review.print_drafted(project, came.drafted, as_json=given.json)
    done = import_tasks.import_tasks(project, request)
    if given.json:
        print(import_tasks.import_document(done, wrote=bool(done.added)), end="")
    else:
        print("\n".join(import_tasks.import_lines(done, is_dry=False)))
    return ExitCode.OK


def _ask_test(project: Project, count: int) -> str:
    """Prompt for the command that tests the imported tasks; return an empty string for none."""
    found = repository_analysis.analyse(project).test_command
    known = f" (type `=` to use `{display(found)}`, which runs its tests)" if found else ""
    print(
        f"{plural(count, 'task')} with files but no proof: which command tests them?{known}\n"
        "a command, or Enter for none: ",
        end="",
        file=sys.stderr,
        flush=True,
    )
    typed = sys.stdin.readline().strip()
    return found if typed == "=" else typed


# --- sync -----------------------------------------------------------------------------


def _sync(given: argparse.Namespace, project: Project) -> ExitCode:
    before = import_tasks.look(project)
    if not given.json:
        print("\n".join(import_tasks.drift_lines(before)))
    done = before if given.dry_run else import_tasks.sync(project, uncheck=given.uncheck)
    if given.json:
        drifts, marked, unmarked = list(done.drifts), list(done.marked), list(done.unmarked)
        print(document("sync", drifts=drifts, marked=marked, unmarked=unmarked), end="")
    elif not given.dry_run and done.files:
        lines = [f"marked as done: {join_few(done.marked)}"] if done.marked else []
        lines += [f"marked as not done: {join_few(done.unmarked)}"] if done.unmarked else []
        print("\n".join(lines or ["nothing was written"]))
    return ExitCode.OK
