"""Why a line that is to prove something proves nothing: it skips checks, or its exit is lost.

A shell with failing programs decides whether an exit is lost (`judge`); here it is explained, with
the smallest change of the line after which the failure counts.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from runner.lazy_pattern import regex
from runner.plan.commands import swallows_failure
from runner.plan.shell.judge import PREPARES, loses_exit
from runner.plan.shell.lenient_options import find_bypass, without_bypass
from runner.plan.shell.programs import program_of
from runner.plan.shell.shell_commands import commands_of, script_of, tests_among
from runner.plan.shell.syntax import ShellSyntaxError, read_commands
from runner.text.display import code_span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.model import TestContract
    from runner.plan.shell.syntax import Simple

_SKIPS = regex(r"SKIP=\S")
_MAY_LOSE = regex(r"[|;&`()\n]|<<<|\beval\b|\bscript\b|sh\b|-f(?:ork)?\b")
"""What a line has that could lose an exit: most have none of it, and are not judged."""
_FOR_BASH = regex(r"#![^\n]*\b(?:bash|zsh|ksh)\b")
"""How a script begins that such a shell runs."""
_BUILT_IN = """
. : [ [[ alias break continue echo eval exec exit export false getopts local popd printf pushd pwd
return set shift source trap true type ulimit umask unset wait
"""
_PREPARES = PREPARES | frozenset(_BUILT_IN.split())
_IN_BACKGROUND = regex(r"\bcoproc\s+|(?<=\bsetsid)\s+(?:-f|--fork)\b")
_AND_OUTPUT = regex(r"&>(>?)\s*([\w./-]+)")
_EACH = regex(r"(?<=\{\}) (?:\\;|';'|\";\")")
"""The end of `find -exec … ;`, which loses the exit that `+` keeps (POSIX.1-2017, find)."""
_NEXT = regex(r"(\|\||&&|\|&|[;&|)}\n]+)\s*[^;&|\n]*")
_IDLE = ("true", ":", "exit 0", "exit", "wait")
_LONGEST = 60


class NoProof(NamedTuple):
    """Why a line that is to prove something proves nothing."""

    by: str
    """The part of the line that makes it so."""
    message: str
    hint: str


class Swallow(NamedTuple):
    """A failure that a line loses."""

    program: str
    """The command whose exit is lost."""
    by: str
    """What it is lost to, such as `|| true`."""
    right: str
    """The line that would fail."""


def no_proof_in(contract: TestContract) -> NoProof | None:
    """Return why a test contract could not fail, or skips what would; None where it is a proof."""
    line = contract.command
    if contract.fails:  # its failure is looked for, whatever the line makes of it
        return None
    if word := bypass_of(line):
        return NoProof(word, f"skips checks: `{word}`", without_bypass(word))
    found = swallow_of(line)
    if found is None:
        return None
    by, program = code_span(found.by), code_span(found.program)
    message = f"cannot fail: {by} swallows the exit code of {program}"
    if found.by.startswith("&>"):
        message = f"cannot fail if /bin/sh is not bash: `&` runs {program} in the background"
    return NoProof(found.by, message, f"write it as {code_span(found.right)}")


@lru_cache(maxsize=512)
def swallow_of(line: str, *, bash: bool = False) -> Swallow | None:
    """Return how a line loses the exit of what it runs; None where it does not, or nobody knows."""
    if not _MAY_LOSE.search(line):
        return None
    bash = bash or bool(_FOR_BASH.match(line))
    command = deciding_command(line)  # none for what is no shell line: the shell will say so
    if command is None or not loses_exit(line, bash=bash):
        return None
    every = read_commands(line)
    for given in filter(None, map(script_of, every)):
        if inner := swallow_of(given.text, bash=given.bash):
            return inner
        if len(every) == 1:  # the script is right as a line of its own
            return Swallow(command.text, line.strip()[:_LONGEST], given.text)
    return Swallow(command.text, _by(command, line), _right(command, line))


def bypass_of(line: str) -> str:
    """Return the word that leaves checks out (`--no-verify`, `SKIP=…`, `--exit-zero`), or ""."""
    for one in commands_of(line):
        if program_of(one).name in ("echo", "printf", "grep"):
            continue
        skips = (word.text for word in (*one.assignments, *one.words) if _SKIPS.match(word.text))
        if word := next(skips, "") or find_bypass(one):
            return word
    return ""


def deciding_command(line: str) -> Simple | None:
    """The last test program, else the last program that does more than prepare."""
    every = [one for one in commands_of(line) if one.words]
    working = [one for one in every if program_of(one).name not in _PREPARES]
    return next(reversed(tests_among(every) or working), None)


# --- what to write instead ----------------------------------------------------------------


def _by(command: Simple, line: str) -> str:
    """What follows a command up to the next one; else what stands around it."""
    if (found := swallows_failure(line)) and not found.startswith("--"):
        return found
    if output := _AND_OUTPUT.search(command.text):
        return output[0]
    place = _place(command, line)
    outer = [one for one in read_commands(line) if place.depth > one.depth and _holds(one, place)]
    if outer:  # it is substituted: `echo $(pytest)`
        return outer[-1].text.strip()[:_LONGEST]
    rest = line[place.end :].strip()
    if not rest:
        return (line[: place.start].strip() or line)[:_LONGEST]
    return (_NEXT.match(rest) or [rest])[0].strip()[:_LONGEST]


def _place(command: Simple, line: str) -> Simple:
    """Where a command stands: itself, or the one that gives it to a shell."""
    every = read_commands(line)
    holding = [one for one in every if command in commands_of(one.text)]
    return command if command in every else next(iter(holding), every[-1])


def _holds(outer: Simple, inner: Simple) -> bool:
    return outer.start <= inner.start and inner.end <= outer.end


def _right(command: Simple, line: str) -> str:
    """The smallest change of the line after which the failure counts."""
    place = _place(command, line)
    candidates = (one.strip() for one in _candidates(place, line))
    right = next((one for one in candidates if _is_heard(one)), place.text.strip())
    return _IN_BACKGROUND.sub("", right)


def _is_heard(line: str) -> bool:
    try:
        return bool(read_commands(line)) and loses_exit(line) is False
    except ShellSyntaxError:
        return False


def _candidates(command: Simple, line: str) -> Iterator[str]:
    """What is before stays; what follows runs only where it passed, or not at all."""
    if _AND_OUTPUT.search(line):
        yield _AND_OUTPUT.sub(r">\1 \2 2>&1", line)
    if ending := _EACH.search(line):
        yield f"{line[: ending.start()]} +{line[ending.end() :]}"
    if re.search(r"\bdo\b", line):
        yield f"{line[: command.end]} || exit 1{line[command.end :]}"
    items = [*_items(line)]
    at = next((n for n, item in enumerate(items) if item[0].start <= command.start <= item[1]), -1)
    if at < 0:
        return
    start, end = items[at][0].start, items[at][1]
    rest = [line[one[0].start : one[1]].strip() for one in items[at + 1 :]]
    rest = [one for one in rest if one not in _IDLE]
    for whole in (line[start:end], line[start : command.end]):
        yield line[:start] + " && ".join([whole.strip(), *rest])
    yield line[:start] + command.text


def _items(line: str) -> Iterator[tuple[Simple, int]]:
    """The lists of a line that `;`, `&` and line ends divide: first command, and the end."""
    try:
        every = [one for one in read_commands(line) if not one.depth]
    except ShellSyntaxError:
        return
    first: Simple | None = None
    end = 0
    for one in every:
        if first is not None and one.before in (";", "&", "\n"):
            yield first, end
            first = None
        first = first or one
        end = one.end
    if first is not None:
        yield first, end
