"""`runner help`: how the runner is used, on one screen; `--all` for everything."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING

from runner import __version__
from runner.commands.catalogue import TABLE, TOPICS
from runner.errors import ExitCode, RunnerError
from runner.lazy_module import lazy_module

if TYPE_CHECKING:
    import textwrap
    from collections.abc import Iterable, Iterator, Mapping

    from runner.commands import run_options
    from runner.report import summary
else:
    run_options = lazy_module("runner.commands.run_options")
    summary = lazy_module("runner.report.summary")
    textwrap = lazy_module("textwrap")

_RUN = (
    ("ID …", "only these tasks, and what they depend on"),
    ("-n, --dry-run", "say what would happen; run nothing"),
    ("-j N, --jobs N", "tasks at once"),
    ("--only ID, --from ID, --until ID", "choose further"),
    ("--allow-dirty", "build on HEAD beside your uncommitted changes"),
    ("--trust", "run this plan's commands without asking"),
    ("-q, -v", "say less, say more"),
)
EXAMPLES = """\
examples:
  runner help --all
  runner help run            everything about one command
  runner help blocked        every reason of BLOCKED, and what to do
  runner help blocked proof  one of them
  runner help exit 3         what an exit code means, and what to do
"""
_PAGE = Path(__file__).with_name("when_it_stops.md")
_WIDTH = 96
_CHAPTERS = {"blocked": "Reasons of BLOCKED", "exit": "Exit codes"}


def arguments(parser: argparse.ArgumentParser) -> None:
    """What `runner help` takes."""
    names = [*(entry.name for entry in TABLE), *TOPICS]
    said = "everything about this one; or blocked, or exit"
    parser.add_argument("command", nargs="?", choices=names, metavar="COMMAND", help=said)
    parser.add_argument("code", nargs="?", metavar="CODE", help="a reason of BLOCKED, an exit code")
    parser.add_argument("--all", action="store_true", help="every command and every option of run")


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Print it. Raises RunnerError for a reason or an exit code that there is not."""
    del environ
    if given.command in TOPICS:
        print(_explain(given.command, given.code))
        return ExitCode.OK
    print("\n".join(_full_help() if given.all else _one_screen()))
    return ExitCode.OK


def _explain(topic: str, code: str | None) -> str:
    """What docs/when-it-stops.md says of one code, or of all."""
    chapters = re.split(r"^## ", _PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    chapter = next(one for one in chapters if one.startswith(_CHAPTERS[topic]))
    _, *parts = re.split(r"^### ", chapter, flags=re.MULTILINE)
    if code is None:
        return "\n\n".join(_wrap(one) for one in parts)
    wanted = f"exit {code}" if topic == "exit" else code
    found = next((one for one in parts if one.splitlines()[0] == wanted), None)
    if found is None:
        codes = ", ".join(one.splitlines()[0].removeprefix("exit ") for one in parts)
        raise RunnerError(f'there is no "{code}" here', where=f"help {topic}", hint=codes)
    return _wrap(found)


def _wrap(part: str) -> str:
    """One code of the page: its name, and its paragraphs below."""
    name, *paragraphs = (one for one in part.split("\n") if one)
    lines = (textwrap.fill(one, _WIDTH, break_long_words=False) for one in paragraphs)
    return "\n".join((name, *(textwrap.indent(one, "  ") for one in lines)))


def hand_down_examples(parser: argparse.ArgumentParser) -> None:
    """Give each command below this one the examples of it that the parser itself has."""
    lines = (parser.epilog or "").splitlines()
    for action in parser._actions:  # noqa: SLF001 - argparse has no other list of what is below
        below = action.choices.items() if isinstance(action.choices, dict) else ()
        for name, one in below:
            own = [line for line in lines if f"{parser.prog} {name} " in f"{line} "]
            if own and not one.epilog:
                one.formatter_class = parser.formatter_class
                one.epilog = "\n".join(("examples:", *own))


def _one_screen() -> Iterator[str]:
    yield from _head()
    yield from _pairs((entry.name, entry.summary) for entry in TABLE if entry.shown)
    yield ""
    yield "options of run:"
    yield from _pairs(_RUN)
    yield ""
    yield from _exit_codes()
    yield ""
    yield "runner COMMAND --help tells everything about one; runner help --all lists every command"
    yield "runner help blocked, runner help exit: what a reason or an exit code means, what to do"


def _full_help() -> Iterator[str]:
    yield from _head()
    yield from _pairs((entry.name, entry.summary) for entry in TABLE)
    yield ""
    yield from _run_options().splitlines()
    yield ""
    yield from _exit_codes()


def _head() -> Iterator[str]:
    yield f"runner {__version__}: builds a repository from TASK-GRAPH.md, task by proven task"
    yield ""
    yield "usage: runner [COMMAND] [options]"
    yield ""
    yield "commands:"


def _run_options() -> str:
    """The options of `runner run`, as its own parser tells them."""
    parser = argparse.ArgumentParser(
        prog="runner run", formatter_class=argparse.RawDescriptionHelpFormatter, add_help=False
    )
    run_options.arguments(parser)
    return parser.format_help().rstrip()


def _exit_codes() -> Iterator[str]:
    yield "exit codes:"
    yield from _pairs((str(int(code)), meaning) for code, meaning in summary.MEANING.items())


def _pairs(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Two columns, the first as wide as it must be."""
    pairs = list(rows)
    width = max(len(left) for left, _ in pairs)
    yield from (f"  {left:<{width}}  {right}" for left, right in pairs)
