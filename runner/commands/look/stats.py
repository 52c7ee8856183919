"""`runner stats`: what a build came to, from its journal and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from runner.app.inspect.statistics import count_all, statistics_document, statistics_lines
from runner.commands.output import say
from runner.commands.team.team_store import open_team
from runner.errors import ExitCode, RunnerError
from runner.lazy_module import lazy_module
from runner.project import Project
from runner.terminal.progress_notice import patience
from runner.text.wording import seconds_of_age

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from runner.team import team_budget
else:
    team_budget = lazy_module("runner.team.team_budget")

EXAMPLES = """\
examples:
  runner stats                      since the journal began
  runner stats --since 30d          the last thirty days; also 90m, 12h, 2w
  runner stats --json               the same for a program
  runner stats --team               a team's builds by state, and what is left of its budget
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """What `runner stats` takes."""
    parser.add_argument("--since", default="", metavar="AGE", help="only the last 30d, 12h, …")
    parser.add_argument("--team", action="store_true", help="of the team's store (`store`)")
    parser.add_argument("--json", action="store_true", help="one JSON document")


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Count and say it. Raises RunnerError where the journal is damaged."""
    if given.team:
        if given.since:
            raise RunnerError("a team's builds are counted as they stand", hint="leave --since out")
        given.store = ""
        with open_team(given, environ) as store:
            counted = team_budget.count_team(store)
        say(counted, team_budget.team_lines, team_budget.team_document, as_json=given.json)
        return ExitCode.OK
    seconds = seconds_of_age(given.since, "--since") if given.since else None
    project = Project.open(Path.cwd(), environ, plan_needed=False)
    with patience("reading the journal"):
        found = count_all(project, seconds)
    say(found, statistics_lines, statistics_document, as_json=given.json)
    return ExitCode.OK
