"""A shell line with a program that fails in the place of each test program that it names.

Where it passes all the same, its tests never ran, or nobody hears how they end.
"""

from __future__ import annotations

import shlex
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING

from runner.lazy_pattern import regex
from runner.plan.shell.programs import is_test_program, names_test_tool, program_of, programs_of
from runner.plan.shell.shell_nodes import simples
from runner.plan.shell.syntax import ShellSyntaxError, parse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.plan.shell.shell_nodes import Simple

_FAILS = "false"
_FOR_EACH = frozenset({"xargs", "parallel"})
"""Programs that start another as often as they are told, which may be never."""
_FINDS = frozenset({"-exec", "-execdir"})
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh"})
_GIVEN = regex(r"-\w*c")
_DEEPEST = 3


@lru_cache(maxsize=512)
def with_failing_tests(line: str, depth: int = 0) -> str:
    """The line in which its tests fail without having run; empty where it names none.

    So it is where one cannot be replaced without touching what stands beside it.
    """
    try:
        every = [*simples(parse(line))]
    except ShellSyntaxError:
        return ""
    found = [(one, at, word) for one in every for at, word in _replaced(one, depth)]
    for command, at, word in sorted(found, key=lambda one: one[0].start, reverse=True):
        spans = _spans(command)
        if at >= len(spans) or line[command.start : command.end] != command.text:
            return ""
        start, end = (command.start + place for place in spans[at])
        line = f"{line[:start]}{word}{line[end:]}"
    return line if found else ""


def _replaced(command: Simple, depth: int) -> Iterator[tuple[int, str]]:
    """Which word becomes what."""
    words = command.values
    every = programs_of(command)
    if (inner := _script_at(command)) is not None and depth < _DEEPEST:
        if script := with_failing_tests(words[inner], depth + 1):
            yield inner, shlex.quote(script)
    elif every[0].name == "find":
        begun = next((at for at, word in enumerate(words) if word in _FINDS), len(words))
        if is_test_program(words[begun + 1 :]):
            yield begun + 1, _FAILS
    elif words and names_test_tool(command):
        # What only runs another (`timeout 9 pytest`) fails itself.
        each = [one for one in every[:-1] if one.name in _FOR_EACH]
        yield len(words) - len(program_of(command).words) - 1 if each else 0, _FAILS


def _script_at(command: Simple) -> int | None:
    """Which word is the script of `bash -c '…'`, where its quotes keep it as it stands."""
    words = command.values
    if program_of(command).name not in _SHELLS:
        return None
    at = next((at for at, word in enumerate(words) if _GIVEN.fullmatch(word)), len(words)) + 1
    plain = at < len(words) and command.words[at].text == f"'{words[at]}'"
    return at if plain else None


def _spans(command: Simple) -> list[tuple[int, int]]:
    """Where each word stands in the command's text; none where that is not plain."""
    texts = [word.text for word in (*command.assignments, *command.words)]
    places = [*accumulate(texts, lambda at, one: command.text.find(one, at) + len(one), initial=0)]
    spans = [(end - len(one), end) for one, end in zip(texts, places[1:], strict=True)]
    whole = [command.text[start:end] for start, end in spans]
    return spans[len(command.assignments) :] if whole == texts and spans == sorted(spans) else []
