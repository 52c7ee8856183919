"""`runner plan decide`, `plan pattern`, `adopt`, `waive`: record a person's decisions and work."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from runner.commands.output import open_console, open_with_gates, say, with_flag
from runner.errors import ExitCode, RunnerError
from runner.lazy_module import lazy_module
from runner.model import Decision
from runner.project import Project
from runner.text.display import display

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from runner.app.answer import decision_record, one_task_runs
else:
    decision_record = lazy_module("runner.app.answer.decision_record")
    one_task_runs = lazy_module("runner.app.answer.one_task_runs")

# --- decisions and patterns -----------------------------------------------------------


def execute_decide(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Append the decision, and say its number."""
    project = Project.open(Path.cwd(), environ, plan_needed=bool(given.task))
    decision = Decision(
        title=given.title,
        context=given.context,
        decision=given.decision,
        tradeoff=given.tradeoff,
        pattern=given.pattern,
    )
    number = decision_record.decide(project, decision, given.task)
    print(f"DECISION-{number:03d} written to artifacts/build/DECISIONS.md")
    return ExitCode.OK


def execute_pattern(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Run `pattern`. Raises RunnerError for an invalid pattern or a missing index."""
    project = Project.open(Path.cwd(), environ, plan_needed=False)
    record, as_json = decision_record, given.json
    if given.verb == "accept":
        one = record.accept(project, given.words)
        say(one, record.acceptance_lines, record.acceptance_document, as_json=as_json)
    elif given.verb == "search":
        found = record.search_patterns(project, given.words)
        lines = partial(record.match_lines, words=given.words)
        say(found, lines, partial(record.match_document, words=given.words), as_json=as_json)
    elif given.words:
        raise RunnerError(
            "`list` takes no arguments", hint=f"runner plan pattern search {given.words[0]}"
        )
    else:
        known = record.load_index(project).patterns
        say(known, record.pattern_lines, record.pattern_document, as_json=as_json)
    return ExitCode.OK


# --- a branch of a person -------------------------------------------------------------


def execute_adopt(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Adopt the branch, and say what became of the task."""
    flags = {"task_graph": given.task_graph, "sandbox": given.sandbox, "review": given.review}
    project = open_with_gates(environ, flags)
    again = with_flag(given, "--trust")
    asked = one_task_runs.Adopt(
        given.id, given.branch, given.yes, given.trust, given.allow_dirty, again
    )
    with open_console(project, is_quiet=given.json) as (observer, asker):
        came = one_task_runs.adopt_branch(project, asked, observer, asker)
    lines, form = one_task_runs.adoption_lines, one_task_runs.adoption_document
    say(came, lines, form, as_json=given.json)
    return came.code


# --- without a proof ------------------------------------------------------------------


def execute_waive(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Write a waiver into the journal and the plan; exit 3 where no person can have given it."""
    project = Project.open(Path.cwd(), environ, {"task_graph": given.task_graph})
    made = decision_record.waive(project, decision_record.Waive(given.id, given.reason))
    how = ": DONE — waived" if made.is_new else " is already waived"
    print(f"{display(made.task)}{how}: {display(made.reason)}")
    return ExitCode.OK
