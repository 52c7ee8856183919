"""`runner help`: show the common commands on one screen, or all with `--all`."""

from __future__ import annotations

import argparse
import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from runner import __version__
from runner.commands.parser import add_fields
from runner.errors import ExitCode, RunnerError
from runner.extensions import registry
from runner.lazy_module import lazy_module
from runner.operations.table import (
    FOR_PROGRAMS,
    TABLE,
    TOP,
    TOPICS,
    all_operations,
    children,
    find_others,
    operations_of,
)
from runner.text.wording import install_hint

if TYPE_CHECKING:
    import textwrap
    from collections.abc import Iterable, Iterator, Mapping

    from runner.report import summary
else:
    summary = lazy_module("runner.report.summary")
    textwrap = lazy_module("textwrap")

_RUN = (
    ("ID …", "only these tasks and their dependencies"),
    ("-n, --dry-run", "show what would happen; run nothing"),
    ("-j N, --jobs N", "how many tasks run in parallel"),
    ("--only ID, --from ID, --until ID", "narrow the selection"),
    ("--allow-dirty", "build on HEAD; leave uncommitted changes alone"),
    ("--trust", "run this plan's commands without asking"),
    ("-q, -v", "less output, more output"),
)
_PAGE = Path(__file__).with_name("when_it_stops.md")
_WIDTH = 96
_CHAPTERS = {"blocked": "Reasons of BLOCKED", "exit": "Exit codes"}


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Print it. Raises RunnerError for a reason or an exit code that there is not."""
    if given.command in TOPICS:
        print(_explain(given.command, given.code))
        return ExitCode.OK
    print("\n".join(_full_help(environ) if given.all else _one_screen(environ)))
    return ExitCode.OK


def _explain(topic: str, code: str | None) -> str:
    """Return the explanation of one code, or of all, from docs/reference/messages.md."""
    chapters = re.split(r"^## ", _PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    chapter = next(one for one in chapters if one.startswith(_CHAPTERS[topic]))
    _, *parts = re.split(r"^### ", chapter, flags=re.MULTILINE)
    if code is None:
        return "\n\n".join(_wrap(one) for one in parts)
    wanted = f"exit {code}" if topic == "exit" else code
    found = next((one for one in parts if one.splitlines()[0] == wanted), None)
    if found is None:
        codes = ", ".join(one.splitlines()[0].removeprefix("exit ") for one in parts)
        raise RunnerError(
            f'unknown code "{code}"', where=f"help {topic}", hint=f"known codes: {codes}"
        )
    return _wrap(found)


def _wrap(part: str) -> str:
    """Format one exit code of the help page: its name and indented paragraphs."""
    name, *paragraphs = (one for one in part.split("\n") if one)
    lines = (textwrap.fill(one, _WIDTH, break_long_words=False) for one in paragraphs)
    return "\n".join((name, *(textwrap.indent(one, "  ") for one in lines)))


def _one_screen(environ: Mapping[str, str]) -> Iterator[str]:
    yield from _head()
    yield from _pairs((one.name, one.summary) for one in map(TABLE.__getitem__, TOP) if one.shown)
    yield ""
    yield _name_extensions(environ)
    yield ""
    yield "options of run:"
    yield from _pairs(_RUN)
    yield ""
    yield from _exit_codes()
    yield ""
    yield "runner COMMAND --help explains one command; runner help --all lists all commands"
    yield "runner help blocked and runner help exit explain reasons and exit codes, and what to do"


def _full_help(environ: Mapping[str, str]) -> Iterator[str]:
    yield from _head()
    yield from _pairs((name, TABLE[name].summary) for name in TOP)
    yield ""
    yield "subcommands:"
    yield from _pairs((one.name, one.summary) for name in TOP for one in children(name))
    yield ""
    yield "for programs:"
    yield from _pairs((name, TABLE[name].summary) for name in FOR_PROGRAMS)
    yield ""
    with suppress(RunnerError):  # what is wrong with one is shown below
        if rows := operations_of(find_others(environ)):
            yield "from other extensions:"
            yield from _pairs((one.name, one.summary) for one in rows.values())
            yield ""
    yield from _list_extensions(environ)
    yield from _run_options().splitlines()
    yield ""
    yield from _exit_codes()


def _name_extensions(environ: Mapping[str, str]) -> str:
    """Return one line with the names of all extensions, or what is wrong with the person's."""
    names = ", ".join(one.name for one in registry.OURS)
    try:
        named = "".join(f", {one.name}" for one in find_others(environ))
    except RunnerError as error:
        named = f"; {error.message}"
    return f"extensions: {names}{named}"


def _list_extensions(environ: Mapping[str, str]) -> Iterator[str]:
    """Yield built-in and configured extensions, each with its missing requirements."""
    yield "extensions:"
    rows = [(one, registry.find_missing(one)) for one in registry.OURS]
    lines = [
        (one.name, one.summary + "".join(f"; {install_hint(extra)}" for extra in missing))
        for one, missing in rows
    ]
    try:
        lines += [(one.name, one.summary) for one in find_others(environ)]
    except RunnerError as error:
        lines += [("-", f"{error.message}; {error.hint}")]
    yield from _pairs(lines)
    yield ""


def _head() -> Iterator[str]:
    yield f"runner {__version__}: builds a repository from TASK-GRAPH.md, one tested task at a time"
    yield ""
    yield "usage: runner [COMMAND] [options]"
    yield ""
    yield "commands:"


def _run_options() -> str:
    """Return the help text for the options of `runner run`."""
    parser = argparse.ArgumentParser(
        prog="runner run", formatter_class=argparse.RawDescriptionHelpFormatter, add_help=False
    )
    add_fields(parser, all_operations()["run"].fields)
    return parser.format_help().rstrip()


def _exit_codes() -> Iterator[str]:
    yield "exit codes:"
    yield from _pairs((str(int(code)), meaning) for code, meaning in summary.MEANING.items())


def _pairs(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield two aligned columns."""
    pairs = list(rows)
    width = max(len(left) for left, _ in pairs)
    yield from (f"  {left:<{width}}  {right}" for left, right in pairs)
