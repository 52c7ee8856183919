"""`runner hook`: what the write pipeline says of a write that an agent program is about to make.

Called by the program itself before its tool writes, with the call as JSON on standard input, as
Claude Code and Codex (PreToolUse) and Gemini CLI (BeforeTool) hand it over. Exit 2 keeps the write
from being made, and standard error tells the agent why; so it mends it in the same turn.
When a session begins (SessionStart) the tree is noted; when it wants to stop (Stop) the tests run
that its changes may affect, and exit 2 sends what fails back.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from runner.errors import ExitCode, RunnerError
from runner.lazy_module import lazy_module
from runner.text.display import display

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from runner.app.prove import session_check
    from runner.app.write import hook_answer
    from runner.model import Finding
    from runner.secrets import redact
else:
    hook_answer = lazy_module("runner.app.write.hook_answer")
    redact = lazy_module("runner.secrets.redact")
    session_check = lazy_module("runner.app.prove.session_check")

EXAMPLES = """\
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


def arguments(parser: argparse.ArgumentParser) -> None:
    """What `runner hook` takes."""
    parser.add_argument("--rules", metavar="FILE", help="by what it judges; else $RUNNER_HOOK")


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
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
