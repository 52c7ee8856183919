"""`runner hook`: what the write pipeline says of a write that an agent program is about to make.

Called by the program itself before its tool writes, with the call as JSON on standard input, as
Claude Code and Codex (PreToolUse) and Gemini CLI (BeforeTool) hand it over. Exit 2 keeps the write
from being made, and standard error tells the agent why; so it mends it in the same turn.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from runner.errors import ExitCode
from runner.text.display import display

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from runner.model import Finding

_EPILOG = """\
example for Claude Code, in .claude/settings.json; for a task's scope, name it in RUNNER_TASK:
  {"hooks": {"PreToolUse": [{"matcher": "Bash|Write|Edit|MultiEdit|NotebookEdit",
    "hooks": [{"type": "command", "command": "runner hook"}]}]}}

exit: 0 the write may be made, 2 it may not, and standard error says why
"""
_DENIED = ExitCode.USAGE
"""Both programs take 2 for a refusal."""
_MOST = 32 << 20


def arguments(parser: argparse.ArgumentParser, name: str) -> None:
    """What `runner hook` takes."""
    del name
    parser.epilog = _EPILOG
    parser.add_argument("--rules", metavar="FILE", help="by what it judges; else $RUNNER_HOOK")


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Judge one call. Raises RunnerError, which keeps the write back too, where nobody can."""
    from runner.app.write.hook_answer import HookCall, judge_call

    named = given.rules or environ.get("RUNNER_HOOK", "")
    answer = judge_call(HookCall(sys.stdin.buffer.read(_MOST), Path.cwd(), named), environ)
    if (refused := answer.command) is not None:
        said = f"{display(refused.path)}: {refused.message} ({refused.check})"
        print(f"{said}\n  hint: {refused.hint}", file=sys.stderr)
    for finding in answer.findings:
        print(_format_finding(finding), file=sys.stderr)
    return ExitCode.OK if answer.is_allowed else _DENIED


def _format_finding(finding: Finding) -> str:
    where = f"{finding.path}:{finding.line}" if finding.line else finding.path
    hint = f"\n  hint: {finding.hint}" if finding.hint else ""
    return f"{where}: {finding.message} ({finding.check}){hint}"
