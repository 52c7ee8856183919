"""`runner run`: build, or show what would be built, and print the result."""

from __future__ import annotations

import shutil
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from runner.app.build.build import build, find_nothing_to_do, preview
from runner.app.build.build_request import BuildRequest
from runner.commands.output import say, with_flag
from runner.commands.parser import make_parser
from runner.errors import ExitCode, RunnerError
from runner.lazy_module import lazy_module
from runner.operations.table import TABLE
from runner.project import Project
from runner.report.console import NORMAL, QUIET, VERBOSE, Console, wants_colour, wants_live
from runner.run.selection import Selection
from runner.text.display import display

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from runner.app.build import (
        background_processes,
        build_branch,
        forecast,
        run_reports,
        saved_proposal,
        task_trial,
    )
    from runner.app.build.build_request import BuildResult, NothingToDo
    from runner.app.build.task_trial import TrialResult
    from runner.model import Change
    from runner.report import diff_view, documents, live, summary
    from runner.terminal import screen, terminal_review
else:
    background_processes = lazy_module("runner.app.build.background_processes")
    build_branch = lazy_module("runner.app.build.build_branch")
    diff_view = lazy_module("runner.report.diff_view")
    documents = lazy_module("runner.report.documents")
    forecast = lazy_module("runner.app.build.forecast")
    run_reports = lazy_module("runner.app.build.run_reports")
    saved_proposal = lazy_module("runner.app.build.saved_proposal")
    summary = lazy_module("runner.report.summary")
    task_trial = lazy_module("runner.app.build.task_trial")
    terminal_review = lazy_module("runner.terminal.terminal_review")
    screen = lazy_module("runner.terminal.screen")
    live = lazy_module("runner.report.live")


def run_words(words: Sequence[str], environ: Mapping[str, str]) -> ExitCode:
    """Build as if `runner run` had been called with these words."""
    given = make_parser(TABLE["run"]).parse_args(words)
    given.typed = ["run", *words]
    return execute(given, environ)


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Build once, or at every save, with a page beside it where that is asked for."""
    if given.branch:
        _switch(given, environ)
    if not given.serve:
        return _build_once_or_watch(given, environ)
    refuse_combined_flags("--serve", given.plan_out, given.dry_run)

    def tell(link: str) -> None:
        print(f"page: {link}", file=sys.stderr, flush=True)

    with background_processes.serve_page_during_run(given.task_graph or "", environ, tell) as wait:
        ended = _build_once_or_watch(given, environ)
        if ended is not ExitCode.INTERRUPTED and sys.stderr.isatty():
            _leave_open(wait)
    return ended


def _leave_open(wait: Callable[[], object]) -> None:
    """Keep serving the page until Ctrl-C."""
    print("the page is still being served; press Ctrl-C to stop", file=sys.stderr, flush=True)
    try:
        wait()
    except KeyboardInterrupt:
        print(file=sys.stderr)


def _switch(given: argparse.Namespace, environ: Mapping[str, str]) -> None:
    """Switch to the named branch before anything is read."""
    if given.plan_out or given.dry_run:
        raise RunnerError(
            "--dry-run and --plan-out work only on the checked-out branch",
            hint="remove --branch, or remove --dry-run and --plan-out",
        )
    project = Project.open(Path.cwd(), environ, make_flags(given), plan_needed=False)
    if build_branch.switch_to(project, given.branch):
        print(f"switched to branch {given.branch}", file=sys.stderr, flush=True)


def _build_once_or_watch(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    if not given.watch:
        return _once(given, environ)
    refuse_combined_flags("--watch", given.apply, given.plan_out, given.dry_run)
    plan = _open(given, environ)
    return screen.watch_runs(
        lambda: _once(given, environ),
        plan.root / plan.plan_path,
        lambda: [(task.id, task.spec) for task in _open(given, environ).outline().tasks],
    )


def _once(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Build, or say what would be built."""
    if given.with_implementer:
        return _try_implementer(given, environ, make_flags(given))
    request = make_request(given)
    jobs = getattr(request.saved, "jobs", None)
    project = _open(given, environ, jobs=jobs)
    with console_of(given, environ, project.root) as console:
        if given.dry_run or given.plan_out:
            return _show_preview(given, project, request, console)
        done = find_nothing_to_do(project, request)
        if done is None:
            if project.settings.git.publish and project.settings.git.publish_at == "end":
                console.say(build_branch.build_apart(project, saved=request.saved is not None))
                project = _open(given, environ, jobs=jobs)
            return _build(given, project, request, console)
        for note in project.loaded.notes:
            console.say(f"note: {note}")
        _print_all_done(done, as_json=given.json)
        for note in done.notes:
            console.say(note)
        return done.code


def _open(
    given: argparse.Namespace, environ: Mapping[str, str], *, jobs: int | None = None
) -> Project:
    flags = make_flags(given)
    if jobs is not None:
        flags.setdefault("jobs", jobs)
    return Project.open(Path.cwd(), environ, flags)


def _show_preview(
    given: argparse.Namespace, project: Project, request: BuildRequest, console: Console
) -> ExitCode:
    """Print the preview of a run and save it if requested."""
    seen = preview(project, request, console)
    if given.json:
        print(forecast.forecast_document(project, seen.foresight), end="")
    else:
        tasks = {task.id: task for task in seen.reading.plan.tasks}
        print("\n".join(forecast.forecast_lines(project, seen.foresight, tasks)))
    if given.plan_out:
        file = Path.cwd() / given.plan_out
        saved_proposal.save_plan(file, project, seen.reading, seen.selection, seen.foresight)
        print(f"saved; to run this plan: runner run --apply {given.plan_out}", file=sys.stderr)
    return ExitCode.OK


def _build(
    given: argparse.Namespace, project: Project, request: BuildRequest, console: Console
) -> ExitCode:
    exports = run_reports.Exports(
        junit=Path.cwd() / given.junit if given.junit else None,
        sarif=Path.cwd() / given.sarif if given.sarif else None,
        github=project.environ if project.environ.get("GITHUB_ACTIONS") == "true" else None,
    )
    if project.settings.has_receivers:
        background_processes.start_delivery(project, console.say)

    def tell(result: BuildResult) -> None:
        _print_summary(result, as_json=given.json)
        exports.write(project, result, _print_step)

    observer = run_reports.RunObserver(console, exports.listener)
    asker = terminal_review.find_asker(console, project.environ)
    return build(project, request, observer, asker, tell).code


def _print_summary(result: BuildResult, *, as_json: bool) -> None:
    """Print the result of the run, what waits for a person, and the next command."""
    if as_json:
        print(documents.document("run", **run_reports.facts_of(result.summary, result.usage)))
    else:
        print(summary.summary(result.summary), end="")


def _print_all_done(result: NothingToDo, *, as_json: bool) -> None:
    count = result.tasks
    if as_json:
        counts = {"DONE": count}
        print(
            documents.document("run", exit=int(result.code), counts=counts, blocked=[], waiting=[])
        )
    else:
        print(f"{f'all {count} tasks are' if count > 1 else 'the one task is'} DONE; nothing to do")


def _print_step(line: str) -> None:
    """Print a line for the CI server's step log."""
    print(line, file=sys.stderr)


def _try_implementer(
    given: argparse.Namespace, environ: Mapping[str, str], flags: dict[str, object]
) -> ExitCode:
    """Build the task in a scratch tree and show what would land."""
    if not (given.dry_run or given.plan_out):
        raise RunnerError(
            "--with-implementer needs --dry-run", hint="runner run ID -n --with-implementer"
        )
    named = [*given.ids, *given.only]
    if len(named) != 1:
        raise RunnerError(
            "--with-implementer needs exactly one task",
            hint="runner run TASK-003 -n --with-implementer",
        )
    project = Project.open(Path.cwd(), environ, flags)
    with console_of(given, environ, project.root) as console:
        again = with_flag(given, "--trust")
        found = task_trial.try_one_task(
            project, named[0], console, trusted=given.trust, again=again
        )
        if found.code is ExitCode.INTERRUPTED:
            return found.code
        lines = partial(_trial_lines, environ=environ)
        say(found, lines, task_trial.trial_document, as_json=given.json)
        if given.plan_out:
            saved_proposal.save_proposal(Path.cwd() / given.plan_out, project, found.trial)
            print(
                f"saved; to land these changes: runner run --apply {given.plan_out}",
                file=sys.stderr,
            )
    return found.code


def _trial_lines(found: TrialResult, environ: Mapping[str, str]) -> Iterator[str]:
    """Yield what would land as diffs, with remarks."""
    for change in found.trial.outcome.changes:
        yield _diff(found, change, environ)
        yield ""
    yield from task_trial.trial_lines(found)


def _diff(found: TrialResult, change: Change, environ: Mapping[str, str]) -> str:
    if change.path in found.trial.outcome.tainted:
        return f"{display(change.path)}: not shown, because a check rejected it"
    colour = wants_colour(sys.stdout, environ)
    width = shutil.get_terminal_size().columns if colour else 0
    return diff_view.diff_text(found.before[change.path], change, colour=colour, width=width)


def make_request(given: argparse.Namespace) -> BuildRequest:
    """Return the requested build. Raises RunnerError for an invalid or conflicting saved file."""
    selection = Selection(
        ids=tuple(given.ids),
        only=tuple(given.only),
        start=given.start,
        until=given.until,
        with_dependents=given.with_dependents,
    )
    saved = None
    if given.apply:
        refuse_combined_flags("--apply", selection.named, given.plan_out)
        saved = saved_proposal.read_saved(Path.cwd() / given.apply)
        if isinstance(saved, saved_proposal.SavedProposal):
            refuse_combined_flags("--apply", given.dry_run)
    return BuildRequest(
        selection=selection,
        saved=saved,
        reuse=given.reuse,
        rebuild=given.rebuild,
        reopen=given.reopen,
        fail_fast=given.fail_fast,
        allow_dirty=given.allow_dirty,
        removed_meant=given.yes,
        trusted=given.trust,
        trust_command=with_flag(given, "--trust"),
        always=bool(given.junit or given.sarif),
    )


def refuse_combined_flags(flag: str, *others: object) -> None:
    """Raise RunnerError where a flag that says everything stands beside others."""
    if any(others):
        raise RunnerError(
            f"{flag} cannot be combined with other tasks or plans", hint="runner run --help"
        )


def make_flags(given: argparse.Namespace) -> dict[str, object]:
    """Return the settings in the flags by name."""
    flags = {
        "jobs": given.jobs,
        "review": given.review,
        "plan_review": given.plan_review,
        "sandbox": "none" if given.no_sandbox else given.sandbox,
        "executor": given.executor,
        "insecure_cluster": given.insecure_cluster or None,
        "task_graph": given.task_graph,
        "verify_at_end": "never" if given.no_verify_at_end else None,
        "changed_dependents": given.changed_dependents,
        "conservative": given.conservative or None,
        "regression": given.regression,
        "strict": given.strict or None,
        "draft_pr": given.draft_pr or None,
    }
    return {name: value for name, value in flags.items() if value is not None}


def console_of(given: argparse.Namespace, environ: Mapping[str, str], root: Path) -> Console:
    """Create the console of a run: live on a terminal, else plain lines."""
    colour = wants_colour(sys.stderr, environ)
    if given.quiet or given.output == "quiet":
        return Console(level=QUIET, colour=colour)
    level = VERBOSE if given.verbose or given.output else NORMAL
    if not given.output and wants_live(sys.stderr, environ):
        return live.LiveConsole(level=level, colour=colour)
    return Console(level=level, colour=colour, grouped=given.output == "grouped", root=root)
