"""`runner pipeline staged-write`, and `hook` for agent programs.

A person sees a staged write as a diff, and applies, edits or rejects it. `hook` prints the findings
on a write that a program is about to make.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from runner.commands.output import read_input
from runner.errors import ExitCode, RunnerError
from runner.lazy_module import lazy_module
from runner.text.display import display
from runner.text.wording import moment, plural

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from runner.app.prove import session_check
    from runner.app.write import hook_answer, staged_states, workplace
    from runner.app.write.staged_states import StagedState
    from runner.model import Finding
    from runner.report import documents, table
    from runner.secrets import redact
    from runner.terminal import terminal_review
    from runner.terminal.terminal_review import StagedDialogue
    from runner.writes.staging import Staged
else:
    table = lazy_module("runner.report.table")
    hook_answer = lazy_module("runner.app.write.hook_answer")
    redact = lazy_module("runner.secrets.redact")
    session_check = lazy_module("runner.app.prove.session_check")
    staged_states = lazy_module("runner.app.write.staged_states")
    terminal_review = lazy_module("runner.terminal.terminal_review")
    workplace = lazy_module("runner.app.write.workplace")
    documents = lazy_module("runner.report.documents")

# --- a write by hand ------------------------------------------------------------------
_HEAD = ("ID", "Task", "Action", "File", "Staged", "Standing")


def stage_write(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Propose new content for a file. Raises RunnerError for what cannot be staged."""
    content = workplace.require_named(given.content, read_input)
    return _open_dialogue(environ).stage(given.task, given.file, content)


def list_staged(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """List the proposals that wait."""
    known = _open_dialogue(environ).proposals.list(given.task)
    return _print_list(known, everything=given.all, as_json=given.json)


def show_staged(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Show one proposal as a diff."""
    dialogue = _open_dialogue(environ)
    return dialogue.show(_find(dialogue, given.id), as_json=given.json)


def apply_staged(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Write exactly the proposed bytes."""
    dialogue = _open_dialogue(environ)
    return dialogue.apply(_find(dialogue, given.id))


def edit_staged(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Change the proposal in the person's editor."""
    dialogue = _open_dialogue(environ)
    return dialogue.edit(_find(dialogue, given.id))


def reject_staged(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Refuse the proposal, with a reason."""
    dialogue = _open_dialogue(environ)
    return dialogue.reject(_find(dialogue, given.id), given.reason)


def _open_dialogue(environ: Mapping[str, str]) -> StagedDialogue:
    from runner.app.write.proposals import Proposals

    proposals = Proposals(workplace.Workplace.of(Path.cwd(), environ))
    return terminal_review.StagedDialogue(proposals, environ)


def _find(dialogue: StagedDialogue, typed: str) -> Staged:
    return staged_states.find_staged(dialogue.proposals.staging, typed)


def _print_list(
    known: Sequence[tuple[Staged, StagedState]], *, everything: bool, as_json: bool
) -> ExitCode:
    """Print those that wait, or `everything`; count those that are left out."""
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
        print("nothing is waiting for you", file=sys.stderr)
    if len(shown) < len(known):
        rest = plural(len(known) - len(shown), "staged write")
        print(f"{rest} decided; list all: runner pipeline staged-write list --all", file=sys.stderr)
    return ExitCode.OK


# --- a write that is about to be made -------------------------------------------------
_DENIED = ExitCode.USAGE
"""Both programs treat exit code 2 as a denial."""
_MOST = 32 << 20
_LONGEST_FAILURE = 8_000
"""Characters of a failure in the message to an agent."""


def execute_hook(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Judge one call. Raises RunnerError, which keeps the write back too, where nobody can."""
    named = given.rules or environ.get("RUNNER_HOOK", "")
    data = sys.stdin.buffer.read(_MOST)
    if not named and (event := _read_event(data)) is not None:
        return _answer_event(event, environ)
    answer = hook_answer.judge_call(hook_answer.HookCall(data, Path.cwd(), named), environ)
    if (refused := answer.command) is not None:
        line = f"{display(refused.path)}: {refused.message} ({refused.check})"
        print(f"{line}\n  hint: {refused.hint}", file=sys.stderr)
    for finding in answer.findings:
        print(_format_finding(finding), file=sys.stderr)
    return ExitCode.OK if answer.is_allowed else _DENIED


def _read_event(data: bytes) -> tuple[str, Path, str] | None:
    """Return name, folder and session of a session's start or stop event; None for a tool call."""
    try:
        row = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(row, dict) or row.get("hook_event_name") not in ("SessionStart", "Stop"):
        return None
    folder = row.get("cwd")
    where = Path(folder) if isinstance(folder, str) and "\0" not in folder else Path.cwd()
    return row["hook_event_name"], where, str(row.get("session_id"))


def _answer_event(event: tuple[str, Path, str], environ: Mapping[str, str]) -> ExitCode:
    """Record a session's start, or check its changes at its stop; errors never block the agent."""
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
    print("\n".join(session_check.format_failures(answer))[:_LONGEST_FAILURE], file=sys.stderr)
    return _DENIED


def _format_finding(finding: Finding) -> str:
    where = f"{finding.path}:{finding.line}" if finding.line else finding.path
    hint = f"\n  hint: {finding.hint}" if finding.hint else ""
    return f"{where}: {finding.message} ({finding.check}){hint}"
