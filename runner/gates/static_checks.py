"""Whether a check only looks at files: lint, types and compilers, whatever starts them."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from runner.gates.script_targets import behind_one
from runner.model.grades import is_static_tool
from runner.plan.shell.exit_status import commands_of
from runner.plan.shell.programs import program_of
from runner.plan.shell.shell_nodes import pipelines, simples
from runner.plan.shell.syntax import ShellSyntaxError, parse

if TYPE_CHECKING:
    from collections.abc import Callable

    from runner.gates.base import Check
    from runner.plan.shell.shell_nodes import Simple

_PREPARES = """
    . : cd echo exit export false local mkdir popd printf pushd pwd return set shift sleep source
    trap true ulimit umask unset wait
"""
_IDLE = frozenset(_PREPARES.split())
"""What prepares a tool, or tells: beside one it shows nothing, and alone it is another matter."""
_PIPED = "awk cat cut find git grep head ls sed sort tail tee tr uniq wc"
_FILTERS = frozenset(_PIPED.split())
"""What hands a tool its files in a pipe, or reads what it says."""
_PYTHON = re.compile(r"python[\d.]*\Z|pypy[\d.]*\Z")
_TAKES_ONE_MORE = frozenset({"-W", "-X"})
"""Options of Python with a word behind them."""
_DEEPEST = 8


def only_looks(check: Check, read: Callable[[str], bytes | None] | None = None) -> bool:
    """Whether all that a check starts only looks; `read` gives the scripts and rules it names."""
    if check.task or check.kind not in ("test", "gate"):
        return False
    if read is None:
        return _looks_as_written(check.command)
    return _looks(check.command, read, 0)


@lru_cache(maxsize=512)
def _looks_as_written(line: str) -> bool:
    return _looks(line, lambda _: None, 0)


def _looks(line: str, read: Callable[[str], bytes | None], depth: int) -> bool:
    every = [one for one in commands_of(line) if one.words]
    piped = _piped(line) if "|" in line else frozenset()
    working = [one for one in every if not _shows_nothing(one, piped)]
    return bool(working) and all(_is_static(one, read, depth) for one in working)


def _piped(line: str) -> frozenset[Simple]:
    try:
        every = [one for one in pipelines(parse(line)) if len(one.parts) > 1]
    except ShellSyntaxError:
        return frozenset()
    return frozenset(one for pipe in every for part in pipe.parts for one in simples(part))


def _shows_nothing(command: Simple, piped: frozenset[Simple]) -> bool:
    name = program_of(command).name
    return name in _IDLE or (name in _FILTERS and command in piped)


def _is_static(command: Simple, read: Callable[[str], bytes | None], depth: int) -> bool:
    name, words = program_of(command)
    if name == "find" and "-exec" in words:
        name, *rest = words[words.index("-exec") + 1 :] or ("",)
        words = tuple(rest)
    if is_static_tool(" ".join((name, *_without_options(name, words)))):
        return True
    if depth >= _DEEPEST:
        return False
    scripts = [text for _, text in behind_one(command.text, read)]
    return bool(scripts) and all(_looks(_recipe(text), read, depth + 1) for text in scripts)


def _without_options(name: str, words: tuple[str, ...]) -> tuple[str, ...]:
    """The words of Python from its `-m` on: `python -I -W error -m mypy` is `python -m mypy`."""
    if not _PYTHON.match(name):
        return words
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] not in ("-m", "-c"):
        at += 2 if words[at] in _TAKES_ONE_MORE else 1
    return words[at:]


def _recipe(text: str) -> str:
    """The lines of a rule of make without its `@`, `-` and `+`; a script's as they stand."""
    return re.sub(r"^[ \t]*[@+-]+", "", text, flags=re.MULTILINE)
