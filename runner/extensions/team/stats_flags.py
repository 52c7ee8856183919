"""`runner stats --team`: a team's builds by state, and its remaining budget."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.commands.output import say
from runner.errors import ExitCode, RunnerError
from runner.extensions.team.store_commands import open_team
from runner.lazy_module import lazy_module

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from runner.extensions.team import team_budget
else:
    team_budget = lazy_module("runner.extensions.team.team_budget")


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode | None:
    """Count the team's builds; None without `--team`. Raises RunnerError."""
    if not given.team:
        return None
    if given.time:
        raise RunnerError("--time cannot be combined with --team", hint="omit one")
    if given.since:
        raise RunnerError("--team counts current builds only", hint="omit --since")
    given.store = ""
    with open_team(given, environ) as store:
        counted = team_budget.count_team(store)
    say(counted, team_budget.team_lines, team_budget.team_document, as_json=given.json)
    return ExitCode.OK
