"""What `--apply` names, a saved plan or the bytes of a dry run; and the flags beside it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from runner.errors import RunnerError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from runner.app.build.saved_proposal import SavedProposal
    from runner.commands.running.plans import SavedPlan
    from runner.errors import ExitCode


def refuse_beside(flag: str, *others: object) -> None:
    """Raise RunnerError where a flag that says everything stands beside others."""
    if any(others):
        raise RunnerError(
            f"{flag} cannot be combined with other tasks or plans", hint="runner run --help"
        )


def run_dry_run(
    given: argparse.Namespace, environ: Mapping[str, str], flags: dict[str, object]
) -> ExitCode:
    """What one task would come to now, with nothing landed."""
    from runner.commands.running.dry_run import execute as execute_trial

    if not (given.dry_run or given.plan_out):
        raise RunnerError(
            "--with-implementer belongs to --dry-run", hint="runner run ID -n --with-implementer"
        )
    return execute_trial(given, environ, flags)


def load_named_proposal(given: argparse.Namespace) -> SavedProposal | None:
    """What a dry run with the implementer saved, where that is what is to be applied."""
    if not given.apply:
        return None
    from runner.app.build.saved_proposal import is_proposal, read_proposal
    from runner.commands.running.select_tasks import selection_of

    file = Path.cwd() / given.apply
    if not is_proposal(file):
        return None
    refuse_beside("--apply", selection_of(given).named, given.plan_out, given.dry_run)
    return read_proposal(file)


def load_named_plan(given: argparse.Namespace) -> SavedPlan | None:
    """The saved plan that is to be done, where one is named."""
    if not given.apply:
        return None
    from runner.commands.running.plans import read_saved_plan
    from runner.commands.running.select_tasks import selection_of

    refuse_beside("--apply", selection_of(given).named, given.plan_out)
    return read_saved_plan(Path.cwd() / given.apply)
