"""`runner cancel` and `runner lease`: a word to a run that goes on, here or on another machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from runner.commands.catalogue import Command
from runner.errors import ExitCode, RunnerError
from runner.lazy_module import lazy_module
from runner.project import Project
from runner.text.display import display

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from runner.app.answer import attempts
    from runner.app.inspect import lease_use
    from runner.journal.task_state import TaskState
else:
    attempts = lazy_module("runner.app.answer.attempts")
    lease_use = lazy_module("runner.app.inspect.lease_use")


_LEASE = """\
With `publish = "origin"` in your own settings a run holds the lease of its branch in that remote,
and each landing moves the remote's branch first: of two clones one builds, the other ends with
exit 6. A lease that nobody renewed for `lease_seconds` is taken over by itself.

--take is for a holder that will not come back sooner: their next landing is refused, their proven
work is kept where they are, and your reason is told to them. The next run here goes on with it.

examples:
  runner lease
  runner lease --take --reason "the laptop is asleep"
"""


def lease_arguments(parser: argparse.ArgumentParser) -> None:
    """What `runner lease` takes."""
    parser.add_argument("--take", action="store_true", help="take it for the next run here")
    parser.add_argument("--reason", default="", metavar="WHY", help="why it is taken; recorded")
    parser.add_argument("--yes", action="store_true", help="in CI: it is meant")
    parser.add_argument("--json", action="store_true", help="one JSON document")


def execute_lease(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Show it, or take it."""
    if given.take and not given.reason.strip():
        hint = 'runner lease --take --reason "the laptop is asleep"'
        raise RunnerError("taking a lease needs a reason: its holder is told", hint=hint)
    if given.reason and not given.take:
        raise RunnerError("--reason is for --take", hint="runner lease --help")
    project = Project.open(Path.cwd(), environ, plan_needed=False)
    if given.take:
        seen = lease_use.take_lease(project, given.reason, meant=given.yes)
    else:
        seen = lease_use.look_at_lease(project)
    if given.json:
        print(lease_use.lease_document(seen, taken=given.take), end="")
    else:
        print(lease_use.takeover_text(seen) if given.take else lease_use.lease_text(seen))
    return ExitCode.OK


_CANCEL = """\
What the attempt has written so far is kept on a branch draft/TASK-…, without what the secret scan
or the path rules refuse. The task is BLOCKED until `runner approve` lets it begin anew; the run
goes on with the others.

examples:
  runner cancel TASK-003
"""


def cancel_arguments(parser: argparse.ArgumentParser) -> None:
    """What `runner cancel` takes."""
    parser.add_argument("id", metavar="ID", help="the task: TASK-003, or 3")


def execute_cancel(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Ask the run, and wait until it has done so; exit 1 where it has not."""
    ended = attempts.cancel(Project.open(Path.cwd(), environ), given.id)
    print(_format_status(ended))
    return ExitCode.FAILED if ended.open_attempt else ExitCode.OK


def _format_status(known: TaskState) -> str:
    if known.open_attempt:
        return f"{display(known.id)} was asked to end, and has not ended yet: runner status"
    note = f": {display(known.note)}" if known.note else ""
    return f"{display(known.id)} is {known.status}{note}"


COMMANDS = {
    "lease": Command(_LEASE, lease_arguments, execute_lease),
    "cancel": Command(_CANCEL, cancel_arguments, execute_cancel),
}
