"""`runner completion SHELL`: a script that completes commands, flags and ids in a person's shell.

The script knows commands and flags by itself; it asks the runner for ids alone, with `runner
completion ids`, which looks at the plan's headings and nothing else.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from runner.commands.catalogue import TABLE, fill
from runner.errors import ExitCode, RunnerError
from runner.lazy_module import lazy_module
from runner.model import Status
from runner.plan.task_ids import heading_of
from runner.repo.head import PLANS, find_project

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping

    from runner.commands.catalogue import Entry
    from runner.report import shell_completion
    from runner.report.shell_completion import Flag, Known
else:
    argparse = lazy_module("argparse")
    shell_completion = lazy_module("runner.report.shell_completion")

EXAMPLES = """\
examples:
  source <(runner completion bash)                  in ~/.bashrc
  source <(runner completion zsh)                   in ~/.zshrc, after compinit
  runner completion fish > ~/.config/fish/completions/runner.fish
"""
_HEADING_OR_FENCE = re.compile(
    r"^ {0,3}(?:(?P<fence>`{3,}|~{3,}).*\n(?s:.*?)^ {0,3}(?P=fence)[`~]*[ \t]*$"
    r"|#{2,6}[ \t]+(?P<text>.*))",
    re.MULTILINE,
)
"""A fenced block whole, so that nothing in it is taken for a heading; else a heading."""
_GLANCE = 200
"""Letters below a heading in which its Status is looked for."""
_FILES = {"FILE", "PATH"}
_STATUSES = tuple(status.lower() for status in Status)
"""What stands for STATUS, which is read in any case."""


class _Shells(tuple[str, ...]):
    """The shells a person may name; what their scripts ask for is taken, and not offered."""

    __slots__ = ()

    def __contains__(self, named: object) -> bool:
        return named == "ids" or super().__contains__(named)


def arguments(parser: argparse.ArgumentParser) -> None:
    """What `runner completion` takes."""
    parser.add_argument(
        "shell", choices=_Shells(("bash", "zsh", "fish")), metavar="SHELL", help="bash, zsh or fish"
    )


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Print the script, or the ids of the plan that is here."""
    if given.shell == "ids":
        sys.stdout.write("".join(f"{id_}\n" for id_ in _ids(environ)))
    else:
        sys.stdout.write("\n".join(shell_completion.SCRIPTS[given.shell](_commands())) + "\n")
    return ExitCode.OK


def _ids(environ: Mapping[str, str]) -> list[str]:
    """The ids of the plan's headings; none where there is no plan: a shell shows no mistakes here.

    A glance at the headings, not a reading of the plan: a person who presses a key waits for it.
    """
    try:
        root = find_project(Path.cwd())
        named = environ.get("RUNNER_TASK_GRAPH") or next(
            path for path in PLANS if (root / path).is_file()
        )
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


def _commands() -> list[Known]:
    """Every command with what its own parser takes."""
    return [one for entry in TABLE for one in _list_commands(entry)]


def _list_commands(entry: Entry) -> Iterator[Known]:
    """A command, then those below it."""
    parser = argparse.ArgumentParser(prog=f"runner {entry.name}")
    fill(parser, entry)
    yield _describe_command(entry.name, entry.summary, parser)
    for action in parser._actions:  # noqa: SLF001 - argparse has no other list of its options
        below = action.choices.items() if isinstance(action.choices, dict) else ()
        yield from (_describe_command(f"{entry.name} {word}", "", one) for word, one in below)


def _describe_command(name: str, summary: str, parser: argparse.ArgumentParser) -> Known:
    """What a parser takes itself."""
    flags: dict[str, Flag] = {}
    words, choices = "", tuple[str, ...]()
    for action in parser._actions:  # noqa: SLF001 - argparse has no other list of its options
        takes = "" if action.nargs == 0 else _takes(action)
        chosen = tuple(map(str, action.choices or ()))
        chosen = chosen or (_STATUSES if action.metavar == "STATUS" else ())
        if not action.option_strings:
            words, choices = words or takes, choices or chosen
        said = (action.help or "").replace("%%", "%")
        flags.update(
            (one, shell_completion.Flag(one, said, takes, chosen)) for one in action.option_strings
        )
    return shell_completion.Known(name, summary, tuple(flags.values()), words, choices)


def _takes(action: argparse.Action) -> str:
    metavar = str(action.metavar or "").rstrip("…")
    return "id" if metavar == "ID" else "file" if metavar in _FILES else "value"
