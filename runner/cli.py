"""The parser table and the one door for errors."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from runner.errors import ExitCode, RunnerError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Entry:
    """One command: where it is and what `--help` says of it."""

    name: str
    module: str
    summary: str
    shown: bool = False
    """Whether plain `--help` lists it; `help --all` lists every one."""


TABLE = (
    Entry(
        "run",
        "run",
        "build the plan: every ready task, until all are DONE (the default)",
        shown=True,
    ),
    Entry("status", "status", "every task with its status, and what is next", shown=True),
    Entry("show", "show", "one task: its plan, attempts, evidence and findings", shown=True),
    Entry("why", "why", "why a task would run, waits or is blocked", shown=True),
    Entry("review", "review", "everything that waits for you, numbered", shown=True),
    Entry("init", "init", "write a small working plan into this folder", shown=True),
    Entry(
        "doctor",
        "doctor",
        "what this machine offers, and what is missing",
        shown=True,
    ),
    Entry("approve", "review", "let what waits for review go on"),
    Entry("reject", "review", "refuse what waits for review, with a reason"),
    Entry("validate", "validate", "check the plan and say every mistake; runs nothing"),
    Entry("list", "status", "tasks, one a line"),
    Entry("next", "status", "tasks that could start now"),
    Entry("graph", "graph", "the graph as Mermaid text"),
    Entry("log", "log", "what happened, from the journal"),
    Entry("brief", "brief", "exactly what an implementer of a task is told"),
    Entry("decide", "decide", "write a decision into DECISIONS.md"),
    Entry("settings", "settings", "every setting, its value and where it came from"),
    Entry("version", "version", "the version"),
    Entry("help", "help", "this list; --all for every command"),
)
BY_NAME = {entry.name: entry for entry in TABLE}


def main(words: Sequence[str]) -> int:
    """Run one command; gives the exit code. The one place where a RunnerError ends."""
    try:
        return int(_run(list(words)))
    except RunnerError as error:
        _explain(error)
        return int(error.code)
    except KeyboardInterrupt:
        print("\ninterrupted; run again to go on", file=sys.stderr)
        return int(ExitCode.INTERRUPTED)
    except BrokenPipeError:
        # whoever read our output has gone; nothing more can be said there
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return int(ExitCode.OK)
    except Exception:  # noqa: BLE001 - a bug: the traceback is what helps, the journal is whole
        return _report_bug()


def _run(words: list[str]) -> ExitCode:
    entry, rest = _entry(words)
    module = import_module(f"runner.commands.{entry.module}")
    parser = _parser(entry)
    module.arguments(parser, entry.name)
    arguments = parser.parse_args(rest)
    code: ExitCode = module.execute(arguments, os.environ)
    return code


def _entry(words: list[str]) -> tuple[Entry, list[str]]:
    """The command that is meant, and what is left for it."""
    if words and words[0] in ("-h", "--help"):
        return BY_NAME["help"], words[1:]
    if words and words[0] == "--version":
        return BY_NAME["version"], words[1:]
    if not words or words[0].startswith("-"):
        return BY_NAME["run"], words
    name = words[0].removeprefix("!")
    if name in BY_NAME:
        return BY_NAME[name], words[1:]
    from runner.text.hints import did_you_mean

    looks_like_a_task = any(letter.isdigit() for letter in name)
    hint = f"runner run {name}" if looks_like_a_task else did_you_mean(name, BY_NAME)
    raise RunnerError(f'there is no command "{name}"', hint=hint or "runner help --all")


def _parser(entry: Entry) -> argparse.ArgumentParser:
    import argparse

    class Parser(argparse.ArgumentParser):
        """Says mistakes in the house's own words."""

        def error(self, message: str) -> None:  # type: ignore[override]  # never returns
            raise RunnerError(message, hint=f"runner {entry.name} --help")

    return Parser(
        prog=f"runner {entry.name}",
        description=entry.summary[0].upper() + entry.summary[1:] + ".",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )


def _explain(error: RunnerError) -> None:
    """What, where, and a hint, on standard error."""
    from runner.text.display import display

    where = f" ({display(error.where)})" if error.where else ""
    lines = [f"runner: {display(error.message)}{where}"]
    if error.detail:
        lines.append(display(error.detail, lines=True))
    if error.hint:
        lines.append(f"hint: {display(error.hint)}")
    print("\n".join(lines), file=sys.stderr)


def _report_bug() -> int:
    import traceback

    traceback.print_exc()
    print("runner: this is a bug; the journal is whole, run again", file=sys.stderr)
    return int(ExitCode.BUG)
