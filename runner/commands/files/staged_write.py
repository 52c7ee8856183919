"""`runner staged-write`: a write by hand, shown as a diff, then applied, edited or rejected."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from runner.app.write.staged_states import describe_staged, find_staged
from runner.app.write.workplace import Workplace, display_path, require_named
from runner.commands.files.single_files import read_input
from runner.errors import ExitCode
from runner.lazy_module import lazy_module
from runner.report.documents import document
from runner.terminal.staged_dialogue import StagedDialogue
from runner.text.wording import moment, plural

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from runner.app.write.staged_states import Standing
    from runner.report import table
    from runner.writes.staging import Staged
else:
    table = lazy_module("runner.report.table")

EXAMPLES = """\
exit: 0 applied, 1 refused or rejected, 3 it waits for you, 6 the file changed meanwhile

examples:
  runner staged-write stage --task TASK-003 --file src/app.py --content proposed.txt
  runner staged-write list
  runner staged-write show 1a2b3c4d
  runner staged-write apply 1a2b3c4d
  runner staged-write edit 1a2b3c4d
  runner staged-write reject 1a2b3c4d --reason "keep the old name of the function"
"""
_HEAD = ("ID", "Task", "Action", "File", "Staged", "Standing")


def arguments(parser: argparse.ArgumentParser) -> None:
    """What `runner staged-write` takes."""
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    stage = commands.add_parser("stage", help="propose a file's new content", allow_abbrev=False)
    stage.add_argument("--task", required=True, metavar="ID", help="the task it is for")
    stage.add_argument("--file", required=True, metavar="PATH", help="the file to write")
    stage.add_argument("--content", required=True, metavar="FILE", help="its new bytes; - is input")
    listing = commands.add_parser("list", help="what waits", allow_abbrev=False)
    listing.add_argument("--task", default="", metavar="ID", help="only what is of this task")
    listing.add_argument("--all", action="store_true", help="what is decided or landed, too")
    show = commands.add_parser("show", help="one proposal as a diff", allow_abbrev=False)
    apply = commands.add_parser("apply", help="write exactly these bytes", allow_abbrev=False)
    edit = commands.add_parser("edit", help="change the proposal in $EDITOR", allow_abbrev=False)
    reject = commands.add_parser("reject", help="refuse it, with a reason", allow_abbrev=False)
    reject.add_argument("--reason", default="", metavar="TEXT", help="read by the next attempt")
    for one in (show, apply, edit, reject):
        one.add_argument("id", metavar="ID", help="eight letters and digits, as `list` says")
    for one in (listing, show):
        one.add_argument("--json", action="store_true", help="one JSON document")


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Do what was asked for. Raises RunnerError for what cannot be staged, found or written."""
    from runner.app.write.proposals import Proposals

    proposals = Proposals(Workplace.of(Path.cwd(), environ))
    dialogue = StagedDialogue(proposals, environ)
    match given.command:
        case "stage":
            content = require_named(given.content, read_input)
            return dialogue.stage(given.task, given.file, content)
        case "list":
            return _print_list(proposals.list(given.task), everything=given.all, as_json=given.json)
        case "show":
            return dialogue.show(find_staged(proposals.staging, given.id), as_json=given.json)
        case "apply":
            return dialogue.apply(find_staged(proposals.staging, given.id))
        case "edit":
            return dialogue.edit(find_staged(proposals.staging, given.id))
        case _:
            return dialogue.reject(find_staged(proposals.staging, given.id), given.reason)


def _print_list(
    known: Sequence[tuple[Staged, Standing]], *, everything: bool, as_json: bool
) -> ExitCode:
    """Print those that wait, or `everything`; how many are left out is said beside it."""
    shown = [(one, standing) for one, standing in known if everything or standing.is_open]
    if as_json:
        staged = [{**describe_staged(one), "standing": standing} for one, standing in shown]
        sys.stdout.write(document("staged-writes", staged=staged))
        return ExitCode.OK
    if shown:
        rows = [
            (one.id, one.task, one.action.value, display_path(one.path), moment(one.time), standing)
            for one, standing in shown
        ]
        sys.stdout.write(table.table(_HEAD, rows))
    else:
        print("nothing waits for you", file=sys.stderr)
    if len(shown) < len(known):
        rest = plural(len(known) - len(shown), "staged write")
        print(f"{rest} no longer: runner staged-write list --all", file=sys.stderr)
    return ExitCode.OK
