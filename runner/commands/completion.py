"""`runner help completion SHELL`: print a shell's completion script.

The script knows commands and flags by itself; it asks the runner for ids alone, with `runner
help completion ids`, which looks at the plan's headings and nothing else.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from runner.errors import ExitCode, RunnerError
from runner.lazy_module import lazy_module
from runner.model import Status
from runner.operations.row import flag
from runner.operations.table import TABLE, TOP, TOPICS, all_operations, children
from runner.plan.task_ids import heading_of
from runner.repo.head import PLANS, find_project, name_plan

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from runner.operations.row import Field, Operation
    from runner.report import shell_completion
    from runner.report.shell_completion import KnownCommand
else:
    shell_completion = lazy_module("runner.report.shell_completion")
_HEADING_OR_FENCE = re.compile(
    r"^ {0,3}(?:(?P<fence>`{3,}|~{3,}).*\n(?s:.*?)^ {0,3}(?P=fence)[`~]*[ \t]*$"
    r"|#{2,6}[ \t]+(?P<text>.*))",
    re.MULTILINE,
)
"""A whole fenced block, so that nothing in it counts as a heading; else a heading."""
_SHELLS = ("bash", "zsh", "fish")
_GLANCE = 200
"""Characters after a heading that are searched for its Status."""
_FILES, _IDS = {"FILE", "PATH"}, {"ID", "TASK", "ID|FILE"}
_HELP = flag("--help", "show this help message and exit", "-h")
_KNOWN = {
    "status": tuple(status.lower() for status in Status),
    "shell": _SHELLS,
    "command": (*TOP, *TOPICS),
}
"""Known values of fields that also accept others: a status is case-insensitive."""


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Print the script, or the ids of the plan that is here."""
    if given.shell not in ("ids", *_SHELLS):
        raise RunnerError(f"unsupported shell {given.shell}", hint=f"one of {', '.join(_SHELLS)}")
    if given.shell == "ids":
        sys.stdout.write("".join(f"{id_}\n" for id_ in _ids(environ)))
    else:
        sys.stdout.write("\n".join(shell_completion.SCRIPTS[given.shell](_commands())) + "\n")
    return ExitCode.OK


def _ids(environ: Mapping[str, str]) -> list[str]:
    """Return the task IDs in the plan's headings for shell completion; empty without a plan.

    A glance at the headings, not a reading of the plan: a person who presses a key waits for it.
    """
    try:
        root = find_project(Path.cwd())
        named = name_plan(environ) or next(path for path in PLANS if (root / path).is_file())
        text = (root / named).read_text("utf-8", "replace")
    except (RunnerError, OSError):
        return []
    ids: dict[str, None] = {}
    for match in _HEADING_OR_FENCE.finditer(text):
        heading = heading_of(match["text"]) if match["text"] else None
        if heading is None or not heading.separated:
            continue
        below = text[match.end() : match.end() + _GLANCE].lower()
        if heading.certain or "status" in below.partition("\n#")[0]:
            ids[heading.id] = None
    return list(ids)


def _commands() -> list[KnownCommand]:
    """Return all commands shown in help, with their subcommands and prefixes."""
    found: dict[str, KnownCommand] = {}
    table = all_operations()
    for one in (one for name in TOP for one in (table[name], *children(name))):
        words = one.name.split()
        for length in range(1, len(words)):
            above = found.setdefault(" ".join(words[:length]), _describe_group(words[:length]))
            if words[length] not in above.choices and not above.words:
                found[above.name] = above._replace(choices=(*above.choices, words[length]))
        if one.does:
            found[one.name] = _describe_command(one)
    return list(found.values())


def _describe_group(words: list[str]) -> KnownCommand:
    name = " ".join(words)
    return shell_completion.KnownCommand(name, TABLE[name].summary if name in TABLE else "", ())


def _describe_command(operation: Operation) -> KnownCommand:
    """Return the flags and words that a command takes."""
    options = [one for one in operation.fields if one.flags and one.shown]
    flags = tuple(
        shell_completion.Flag(name, one.help, _takes(one), _choices(one))
        for one in (_HELP, *options)
        for name in one.flags
    )
    words = [one for one in operation.fields if not one.flags and one.times != "--"]
    choices = next(filter(None, map(_choices, words)), ())
    takes = next(map(_takes, words), "")
    return shell_completion.KnownCommand(operation.name, operation.summary, flags, takes, choices)


def _choices(field: Field) -> tuple[str, ...]:
    return field.choices or _KNOWN.get(field.name, ())


def _takes(field: Field) -> str:
    if field.kind is bool:
        return ""
    metavar = field.metavar.rstrip("…")
    return "id" if metavar in _IDS else "file" if metavar in _FILES else "value"
