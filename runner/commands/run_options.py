"""What `runner run` takes, and what is made of it: a request, settings, and who is told."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from runner.app.build.types import BuildRequest
from runner.commands.output import type_again
from runner.errors import RunnerError
from runner.lazy_module import lazy_module
from runner.report.console import NORMAL, QUIET, VERBOSE, Console, wants_colour, wants_live
from runner.run.selection import Selection

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from runner.app.build import saved_file
    from runner.report import live
else:
    live = lazy_module("runner.report.live")
    saved_file = lazy_module("runner.app.build.saved_file")

EXAMPLES = """\
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


def arguments(parser: argparse.ArgumentParser) -> None:
    """What `runner run` takes."""
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
    add("--rebuild", action="store_true", help="build anew what was edited since it was DONE")
    add("--reopen", action="store_true", help="go on after a ship")
    add("--no-verify-at-end", action="store_true", help="do not prove all of it together")
    add("--draft-pr", action="store_true", help="a draft pull request for what did not pass")
    add("--fail-fast", action="store_true", help="start nothing new after a failure")
    add("--allow-dirty", action="store_true", help="build on HEAD beside uncommitted changes")
    add(
        "--yes",
        action="store_true",
        help="confirm: DONE tasks gone from the plan, a !replay line, and in CI --rebuild",
    )
    add("--trust", action="store_true", help="run this plan's commands without asking")
    add("--review", choices=("prompt", "auto", "off"), help="who approves writes")
    add("--plan-review", choices=("prompt", "auto", "off"), help="who approves a task's own plan")
    add(
        "--sandbox",
        choices=("auto", "bubblewrap", "landlock", "seatbelt", "none"),
        help="what encloses commands",
    )
    add("--no-sandbox", action="store_true", help="the same as --sandbox none")
    add(
        "--executor",
        metavar="WHERE",
        help="inline, threads, dask (workers on this machine), or dask:ADDRESS of a cluster",
    )
    add("--insecure-cluster", action="store_true", help="a cluster on a network without TLS")
    add("--branch", default="", metavar="NAME", help="on this branch, made at HEAD where it is new")
    add("--task-graph", metavar="PATH", help="another plan than TASK-GRAPH.md")
    add(
        "--with-implementer",
        action="store_true",
        help="with --dry-run: let the implementer of one task work, show all, land nothing",
    )
    add("--plan-out", metavar="FILE", help="save what would happen; run nothing")
    add("--apply", metavar="FILE", help="do what a saved file says; exit 6 if anything has moved")
    add("--watch", action="store_true", help="run again whenever the plan is saved")
    add("--serve", action="store_true", help="with a page beside it, as runner serve has it")
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


def make_request(given: argparse.Namespace) -> BuildRequest:
    """What was typed. Raises RunnerError for a saved file that is none, or stands beside others."""
    selection = Selection(
        ids=tuple(given.ids),
        only=tuple(given.only),
        start=given.start,
        until=given.until,
        with_dependents=given.with_dependents,
    )
    saved = None
    if given.apply:
        refuse_beside("--apply", selection.named, given.plan_out)
        saved = saved_file.read_saved(Path.cwd() / given.apply)
        if isinstance(saved, saved_file.SavedProposal):
            refuse_beside("--apply", given.dry_run)
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
        trust_command=type_again(given, "--trust"),
        always=bool(given.junit or given.sarif),
    )


def refuse_beside(flag: str, *others: object) -> None:
    """Raise RunnerError where a flag that says everything stands beside others."""
    if any(others):
        raise RunnerError(
            f"{flag} cannot be combined with other tasks or plans", hint="runner run --help"
        )


def make_flags(given: argparse.Namespace) -> dict[str, object]:
    """The settings among the flags, by name."""
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
    """The voice of the run: a live view where a person watches, else lines."""
    colour = wants_colour(sys.stderr, environ)
    if given.quiet or given.output == "quiet":
        return Console(level=QUIET, colour=colour)
    level = VERBOSE if given.verbose or given.output else NORMAL
    if not given.output and wants_live(sys.stderr, environ):
        return live.LiveConsole(level=level, colour=colour)
    return Console(level=level, colour=colour, grouped=given.output == "grouped", root=root)
