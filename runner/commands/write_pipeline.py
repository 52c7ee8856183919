"""The write pipeline for others: `runner staged-write`, and `hook` for an agent program.

A write by hand is shown as a diff, then applied, edited or rejected; of one that a program is about
to make is said what the pipeline says of it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from runner import effects
from runner.commands.catalogue import Command
from runner.errors import ExitCode, RunnerError
from runner.lazy_module import lazy_module
from runner.text.display import display
from runner.text.wording import moment, plural

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Mapping, Sequence

    from runner.app.prove import session_check
    from runner.app.write import hook_answer, staged_states, workplace
    from runner.app.write.staged_states import Standing
    from runner.app.write.workplace import Unreadable
    from runner.model import Finding
    from runner.report import documents, table
    from runner.secrets import redact
    from runner.terminal import staged_dialogue
    from runner.writes import safe_io
    from runner.writes.staging import Staged
else:
    table = lazy_module("runner.report.table")
    hook_answer = lazy_module("runner.app.write.hook_answer")
    redact = lazy_module("runner.secrets.redact")
    session_check = lazy_module("runner.app.prove.session_check")
    staged_states = lazy_module("runner.app.write.staged_states")
    staged_dialogue = lazy_module("runner.terminal.staged_dialogue")
    workplace = lazy_module("runner.app.write.workplace")
    safe_io = lazy_module("runner.writes.safe_io")
    documents = lazy_module("runner.report.documents")

# --- what commands about single files share -------------------------------------------


def read_input(most: int) -> bytes:
    """At most so many bytes of standard input."""
    return sys.stdin.buffer.read(most)


def add_forms(parser: argparse.ArgumentParser) -> None:
    """`--json` or `--sarif`."""
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="one JSON document")
    form.add_argument(
        "--sarif",
        nargs="?",
        const=workplace.STANDARD_INPUT,
        metavar="OUT.sarif",
        help="a SARIF 2.1.0 log, to standard output or into this file",
    )


def tell_unreadable(found: Iterable[Unreadable]) -> None:
    """Say on standard error what could not be looked at."""
    for one in found:
        print(f"runner: {one.path}: {one.message}\nhint: {one.hint}", file=sys.stderr)


def output_and_files(option: str | None, files: list[str]) -> tuple[str | None, list[str]]:
    """`--sarif` takes a name that ends in .sarif; any other name after it is a file to look at.

    So `--sarif app.py` never writes over app.py.
    """
    if (
        option is None
        or option == workplace.STANDARD_INPUT
        or option.endswith((".sarif", ".sarif.json"))
    ):
        return option, files
    return workplace.STANDARD_INPUT, [option, *files]


def write_output(text: str, target: str) -> None:
    """A document to standard output for `-`, else into a file, whole or not at all.

    Raises RunnerError where the file cannot be written.
    """
    if target == workplace.STANDARD_INPUT:
        sys.stdout.write(text)
        return
    with safe_io.explain_errors(workplace.display_path(target)):
        effects.write_file(Path(target), text.encode())


# --- a write by hand ------------------------------------------------------------------


_STAGED_WRITE = """\
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


def arguments_of_write(parser: argparse.ArgumentParser) -> None:
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


def execute_staged_write(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Do what was asked for. Raises RunnerError for what cannot be staged, found or written."""
    from runner.app.write.proposals import Proposals

    proposals = Proposals(workplace.Workplace.of(Path.cwd(), environ))
    dialogue = staged_dialogue.StagedDialogue(proposals, environ)
    match given.command:
        case "stage":
            content = workplace.require_named(given.content, read_input)
            return dialogue.stage(given.task, given.file, content)
        case "list":
            return _print_list(proposals.list(given.task), everything=given.all, as_json=given.json)
        case "show":
            return dialogue.show(
                staged_states.find_staged(proposals.staging, given.id), as_json=given.json
            )
        case "apply":
            return dialogue.apply(staged_states.find_staged(proposals.staging, given.id))
        case "edit":
            return dialogue.edit(staged_states.find_staged(proposals.staging, given.id))
        case _:
            return dialogue.reject(
                staged_states.find_staged(proposals.staging, given.id), given.reason
            )


def _print_list(
    known: Sequence[tuple[Staged, Standing]], *, everything: bool, as_json: bool
) -> ExitCode:
    """Print those that wait, or `everything`; how many are left out is said beside it."""
    shown = [(one, standing) for one, standing in known if everything or standing.is_open]
    if as_json:
        staged = [
            {**staged_states.describe_staged(one), "standing": standing} for one, standing in shown
        ]
        sys.stdout.write(documents.document("staged-writes", staged=staged))
        return ExitCode.OK
    if shown:
        rows = [
            (
                one.id,
                one.task,
                one.action.value,
                workplace.display_path(one.path),
                moment(one.time),
                standing,
            )
            for one, standing in shown
        ]
        sys.stdout.write(table.table(_HEAD, rows))
    else:
        print("nothing waits for you", file=sys.stderr)
    if len(shown) < len(known):
        rest = plural(len(known) - len(shown), "staged write")
        print(f"{rest} no longer: runner staged-write list --all", file=sys.stderr)
    return ExitCode.OK


# --- a write that is about to be made -------------------------------------------------


_HOOK = """\
example for Claude Code, in .claude/settings.json; for a task's scope, name it in RUNNER_TASK:
  {"hooks": {"PreToolUse": [{"matcher": "Bash|Write|Edit|MultiEdit|NotebookEdit",
    "hooks": [{"type": "command", "command": "runner hook"}]}]}}

exit: 0 the write may be made, 2 it may not, and standard error says why
"""
_DENIED = ExitCode.USAGE
"""Both programs take 2 for a refusal."""
_MOST = 32 << 20
_MOST_SAID = 8_000
"""Characters that an agent is told of what fails."""


def hook_arguments(parser: argparse.ArgumentParser) -> None:
    """What `runner hook` takes."""
    parser.add_argument("--rules", metavar="FILE", help="by what it judges; else $RUNNER_HOOK")


def execute_hook(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Judge one call. Raises RunnerError, which keeps the write back too, where nobody can."""
    named = given.rules or environ.get("RUNNER_HOOK", "")
    said = sys.stdin.buffer.read(_MOST)
    if not named and (event := _read_event(said)) is not None:
        return _answer_event(event, environ)
    answer = hook_answer.judge_call(hook_answer.HookCall(said, Path.cwd(), named), environ)
    if (refused := answer.command) is not None:
        line = f"{display(refused.path)}: {refused.message} ({refused.check})"
        print(f"{line}\n  hint: {refused.hint}", file=sys.stderr)
    for finding in answer.findings:
        print(_format_finding(finding), file=sys.stderr)
    return ExitCode.OK if answer.is_allowed else _DENIED


def _read_event(said: bytes) -> tuple[str, Path, str] | None:
    """Of a session's begin or stop its name, folder and session; None for a call of a tool."""
    try:
        row = json.loads(said)
    except (ValueError, RecursionError):
        return None
    if not isinstance(row, dict) or row.get("hook_event_name") not in ("SessionStart", "Stop"):
        return None
    folder = row.get("cwd")
    where = Path(folder) if isinstance(folder, str) and "\0" not in folder else Path.cwd()
    return row["hook_event_name"], where, str(row.get("session_id"))


def _answer_event(event: tuple[str, Path, str], environ: Mapping[str, str]) -> ExitCode:
    """Note a session's begin, or prove what it changed. Keeps nobody back by its own failure."""
    name, folder, session = event
    try:
        if name == "SessionStart":
            session_check.note_begin(folder, environ, session)
            return ExitCode.OK
        answer = session_check.check_stop(folder, environ, session)
    except RunnerError as error:
        print(json.dumps({"systemMessage": f"runner: not proven: {display(error.message)}"}))
        return ExitCode.OK
    if answer.note:
        print(json.dumps({"systemMessage": f"runner: {display(answer.note)}"}))
    if not answer.failed:
        return ExitCode.OK
    print("\n".join(session_check.format_failures(answer))[:_MOST_SAID], file=sys.stderr)
    return _DENIED


def _format_finding(finding: Finding) -> str:
    where = f"{finding.path}:{finding.line}" if finding.line else finding.path
    hint = f"\n  hint: {finding.hint}" if finding.hint else ""
    return f"{where}: {finding.message} ({finding.check}){hint}"


COMMANDS = {
    "staged-write": Command(_STAGED_WRITE, arguments_of_write, execute_staged_write),
    "hook": Command(_HOOK, hook_arguments, execute_hook),
}
