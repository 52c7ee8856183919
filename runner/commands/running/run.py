"""`runner run`: from a reading of the plan to a summary of what was built."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from runner.errors import ExitCode, RunnerError
from runner.run.selection import Selection

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from runner.app.build.outlook import Foresight
    from runner.app.build.saved_proposal import SavedProposal
    from runner.commands.running.export_results import Exports
    from runner.project import Project, Reading
    from runner.report.console import Console

_NEW_OBJECTS = 20_000
"""Between two looks for garbage; Python's own 700 cost a sixth of a run's time."""
_EXAMPLES = """\
examples:
  runner                      build everything that is ready
  runner run TASK-003         that task, and what it depends on
  runner run --from TASK-003  that task and all that follows from it
  runner -n                   say what would happen, and run nothing
  runner --plan-out plan.json, then: runner run --apply plan.json
                              do exactly what you looked at, or refuse with exit 6
  runner run TASK-003 -n --with-implementer --plan-out try.json
                              let it be built, look at all of it, land nothing; then:
  runner run --apply try.json land exactly these bytes, or refuse with exit 6
  runner run --watch          build at every save of TASK-GRAPH.md
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
    add("--reuse", action="store_true", help="land recorded bytes again where nothing changed")
    add("--reopen", action="store_true", help="go on after a ship")
    add("--no-verify-at-end", action="store_true", help="do not prove all of it together")
    add("--draft-pr", action="store_true", help="a draft pull request for what did not pass")
    add("--fail-fast", action="store_true", help="start nothing new after a failure")
    add("--allow-dirty", action="store_true", help="build on HEAD beside uncommitted changes")
    add("--yes", action="store_true", help="it is meant that DONE tasks are gone from the plan")
    add("--trust", action="store_true", help="run this plan's commands without asking")
    add("--review", choices=("prompt", "auto", "off"), help="who approves writes")
    add("--plan-review", choices=("prompt", "auto", "off"), help="who approves a task's own plan")
    add(
        "--sandbox",
        choices=("auto", "bubblewrap", "landlock", "none"),
        help="what encloses commands",
    )
    add("--no-sandbox", action="store_true", help="the same as --sandbox none")
    add(
        "--executor",
        metavar="WHERE",
        help="inline, threads, dask (workers on this machine), or dask:ADDRESS of a cluster",
    )
    add("--insecure-cluster", action="store_true", help="a cluster on a network without TLS")
    add("--task-graph", metavar="PATH", help="another plan than TASK-GRAPH.md")
    add(
        "--with-implementer",
        action="store_true",
        help="with --dry-run: let the implementer of one task work, show all, land nothing",
    )
    add("--plan-out", metavar="FILE", help="save what would happen; run nothing")
    add("--apply", metavar="FILE", help="do what a saved file says; exit 6 if anything has moved")
    add("--watch", action="store_true", help="run again whenever the plan is saved")
    breaks = parser.add_argument_group("what a change may break").add_argument
    breaks(
        "--changed-dependents",
        choices=("direct", "transitive"),
        help="how far a change is traced to the tests of other tasks (default: transitive)",
    )
    breaks("--conservative", action="store_true", help="what cannot be decided counts as affected")
    breaks(
        "--regression",
        choices=("repair", "halt"),
        help="what breaks another task goes back to the implementer first, or halts at once",
    )
    breaks("--strict", action="store_true", help="failures of before a change refuse it, too")
    said = parser.add_argument_group("what is said").add_argument
    said(
        "--output",
        choices=("interleaved", "grouped", "quiet"),
        help="lines as they come with what commands print, lines by task with whole logs, or only "
        "the summary (default: a live view on a terminal, else lines as they come)",
    )
    said("-q", "--quiet", action="store_true", help="only the summary: --output quiet")
    said("-v", "--verbose", action="store_true", help="also what commands print")
    said("--json", action="store_true", help="the summary as one JSON document")
    said("--junit", metavar="FILE", help="write a JUnit report, a test case a task")
    said("--sarif", metavar="FILE", help="write the findings as SARIF 2.1.0")


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Build once, or at every save."""
    if not given.watch:
        return _once(given, environ)
    from runner.commands.running.apply import refuse_beside
    from runner.commands.running.watch import watch_runs

    refuse_beside("--watch", given.apply, given.plan_out, given.dry_run)
    plan = _open(given, environ)
    return watch_runs(
        lambda: _once(given, environ),
        plan.root / plan.plan_path,
        lambda: [(task.id, task.spec) for task in _open(given, environ).outline().tasks],
    )


def _once(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Build, or say what would be built."""
    from runner.commands.running.apply import load_named_plan, load_named_proposal, run_dry_run
    from runner.commands.running.progress_view import console_of
    from runner.commands.running.select_tasks import selection_of

    if given.with_implementer:
        return run_dry_run(given, environ, _flags(given))
    proposal = load_named_proposal(given)
    saved = None if proposal else load_named_plan(given)
    project = _open(given, environ, jobs=saved.jobs if saved else None)
    selection = saved.selection if saved else selection_of(given)
    if proposal:
        selection = Selection(only=(proposal.task,))
    looks = given.dry_run or given.plan_out
    with console_of(given, environ, project.root) as console:
        for note in project.loaded.notes:
            console.say(f"note: {note}")
        everything = not (
            looks or saved or selection.named or given.junit or given.sarif or given.reopen
        )
        if everything and _nothing_to_do(project):
            return _say_all_done(project, console, as_json=given.json)
        from runner.app.build.discovered_gates import take_up_default_gates
        from runner.app.build.reopen import require_open
        from runner.commands.running.export_results import Exports

        for note in take_up_default_gates(project):
            console.say(f"note: {note}")
        reading = _sound_plan(project, console)
        if looks or saved:
            from runner.app.build.outlook import foresee

            seen = foresee(project, reading, selection)
        if saved:
            from runner.commands.running.plans import require_unmoved

            require_unmoved(saved, project, reading, seen)
        if proposal:
            from runner.app.build.saved_proposal import require_unmoved as require_fitting

            require_fitting(proposal, project, reading)
        if looks:
            return _show(given, project, reading, selection, seen)
        done = _nothing_to_do(project) and not given.reopen
        shipped = "" if done else require_open(project, reopen=given.reopen)
        exports = Exports.of(given, environ)
        return _build(
            given, project, console, reading, selection, exports, shipped=shipped, proposal=proposal
        )


def _open(
    given: argparse.Namespace, environ: Mapping[str, str], *, jobs: int | None = None
) -> Project:
    from runner.project import Project

    flags = _flags(given)
    if jobs is not None:
        flags.setdefault("jobs", jobs)
    return Project.open(Path.cwd(), environ, flags)


def _show(
    given: argparse.Namespace,
    project: Project,
    reading: Reading,
    selection: Selection,
    seen: Foresight,
) -> ExitCode:
    """Say what would happen, and save it where that was asked for."""
    from runner.commands.running.plan_forecast import show_forecast

    show_forecast(project, reading, seen, as_json=given.json)
    if given.plan_out:
        from runner.commands.running.plans import save_plan

        save_plan(Path.cwd() / given.plan_out, project, reading, selection, seen)
        print(f"saved; to do exactly this: runner run --apply {given.plan_out}", file=sys.stderr)
    return ExitCode.OK


def _flags(given: argparse.Namespace) -> dict[str, object]:
    """The settings among the flags, by name."""
    flags = {
        "jobs": given.jobs,
        "review": given.review,
        "plan_review": given.plan_review,
        "sandbox": "none" if given.no_sandbox else given.sandbox,
        "executor": given.executor,
        "insecure_cluster": given.insecure_cluster or None,
        "task_graph": given.task_graph,
        "verify_at_end": False if given.no_verify_at_end else None,
        "changed_dependents": given.changed_dependents,
        "conservative": given.conservative or None,
        "regression": given.regression,
        "strict": given.strict or None,
        "draft_pr": given.draft_pr or None,
    }
    return {name: value for name, value in flags.items() if value is not None}


def _nothing_to_do(project: Project) -> bool:
    """Whether every task is DONE by file and journal alike, on the head the journal knows."""
    from runner.app.build.run_status import all_done, find_missing, may_hold_commands

    state = project.state()
    if not all_done(project, state) or may_hold_commands(project.plan_bytes):
        return False
    return not find_missing(state, {task.id for task in project.outline().tasks})


def _say_all_done(project: Project, console: Console, *, as_json: bool) -> ExitCode:
    from runner.app.prove.unverified_tasks import find_unverified_tasks, format_unverified
    from runner.app.prove.verified_tree import find_verification
    from runner.report.documents import document

    count = len(project.outline().tasks)
    known = find_verification(project, project.state(), project.head().commit or "")
    if as_json:
        counts = {"DONE": count}
        print(document("run", exit=int(known.code), counts=counts, blocked=[], waiting=[]))
    else:
        print(f"{f'all {count} tasks are' if count > 1 else 'the one task is'} DONE; nothing to do")
    if known.said:
        console.say(known.said)
    if found := find_unverified_tasks(project, project.outline().tasks, project.state()):
        console.say(format_unverified(found))
    return known.code


def _sound_plan(project: Project, console: Console) -> Reading:
    """The plan, when nothing in it is wrong; all its mistakes together otherwise."""
    from runner.app.inspect.plan_warnings import unready
    from runner.app.inspect.validation import find_unknown_implementers
    from runner.plan.diagnostic import render

    reading = project.check()
    problems = reading.problems
    errors = [problem for problem in problems if problem.stops_all]
    if errors:
        text = "\n\n".join(render(problem) for problem in errors)
        count = f"{len(errors)} mistake{'' if len(errors) == 1 else 's'}"
        raise RunnerError(f"the plan has {count}; nothing has run", detail=text)
    for mistake in (problem for problem in problems if problem.is_error):
        console.say(render(mistake))  # of a task that is BLOCKED when its turn comes
    warnings = sum(not problem.is_error for problem in problems)
    if warnings:
        console.say(
            f"the plan has {warnings} warning{'' if warnings == 1 else 's'}: runner validate"
        )
    for unknown in find_unknown_implementers(reading):  # before anybody is asked to trust the rest
        console.say(render(unknown))
    for problem in unready(reading, project.settings):
        console.say(f"{problem.path}:{problem.line}: {problem.message}\n  hint: {problem.hint}")
    return reading


def _build(
    given: argparse.Namespace,
    project: Project,
    console: Console,
    reading: Reading,
    selection: Selection,
    exports: Exports,
    *,
    shipped: str,
    proposal: SavedProposal | None = None,
) -> ExitCode:
    from runner.app.build.draft_requests import open_draft_requests
    from runner.app.build.engine_setup import Options, run_engine
    from runner.app.build.notify import notify
    from runner.app.build.removed_tasks import require_meant
    from runner.app.build.run_status import facts_of, summary_of
    from runner.app.build.session import Session
    from runner.app.build.suitability import limits_of, require_suitable
    from runner.app.build.trust_question import require_trust
    from runner.commands.running.plan_directives import apply_directives
    from runner.commands.running.progress_view import work_of
    from runner.commands.running.terminal_review import find_asker
    from runner.journal.tree_events import ShipReopened
    from runner.report.documents import document
    from runner.report.summary import summary

    _collect_garbage()
    asker = find_asker(console, project.environ)
    terminal = asker is not None
    require_trust(project, reading.plan, trusted=given.trust, asker=asker)
    options = Options(
        fail_fast=given.fail_fast,
        review_insisted=_review_off_by_person(project),
        reuse=given.reuse,
    )
    about = _about(reading, selection)
    listeners = (console.hear, exports.listener.hear)
    with Session(project, reading.plan.tasks, listeners) as session:
        if session.recovered:
            console.say(session.recovered)
        if shipped:
            session.ledger.note(ShipReopened(by="person"), durable=True)
        notices = require_suitable(
            session.repository, session.own_documents, allow_dirty=given.allow_dirty
        )
        for notice in (*notices, *limits_of(project, reading.plan, terminal=terminal)):
            console.say(f"note: {notice}")
        reading = apply_directives(session, reading, console.say)
        require_meant(session, set(reading.graph.ids), yes=given.yes, asker=asker)
        past = session.ledger.state
        console.expect(lambda: work_of(project, reading, about, past))
        if proposal:
            from runner.app.build.saved_proposal import make_adopted

            options = replace(options, adopted=make_adopted(proposal, session))
        code = run_engine(session, reading, selection, options, console, asker)
        console.close()
        open_draft_requests(session, console.say)
        said = summary_of(session, reading.plan, code)
        facts = facts_of(said, session.manifest.usage)
        print(
            document("run", **facts) if given.json else summary(said),
            end="\n" if given.json else "",
        )
        tasks = [task for task in reading.plan.tasks if task.id in about]
        exports.write(project, reading, session.ledger.state, tasks, session.elapsed)
    notify(session, code, facts, console.say)
    return code


def _collect_garbage() -> None:
    """Collect cycles from now on, but seldom, and never walk the plan: a run makes few of them."""
    import gc

    gc.freeze()
    gc.set_threshold(_NEW_OBJECTS)
    gc.enable()


def _about(reading: Reading, selection: Selection) -> frozenset[str]:
    """The tasks this run is about."""
    from runner.run.selection import select_ids

    return select_ids(selection, reading.graph, reading.graph.ids)


def _review_off_by_person(project: Project) -> bool:
    """Whether the person's own settings, not the repository's, turned review off."""
    source = project.loaded.sources.get("review", "default")
    return source != "default" and not source.startswith(("runner.toml", "pyproject.toml"))
