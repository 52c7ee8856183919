"""What `runner run` takes, and what is made of it: a request, settings, and receivers."""

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
