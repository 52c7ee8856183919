"""Rules on a line of shell: each of its commands has to be allowed by itself.

`allow bash git status*` must not let `git status; rm -rf /` run, nor is `deny bash git push*` got
round by `cd a && /usr/bin/git push`. A pattern with signs of the shell is about the whole line.
"""

from __future__ import annotations

import re
import shlex
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from runner.config.permission_rules import SHELL, Permission, Permit, Word
from runner.text.shell_commands import shell_commands

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from runner.text.shell_commands import ShellCommand

_SIGNS = frozenset(";|&`$<>\n()")
_ALL = frozenset({"*", "**"})
_ORDER = tuple(Permit)
_RUNS = re.compile(r"bash|shell|exec|terminal|run_command|\Ash\Z|local_shell", re.IGNORECASE)
"""Names of tools that run commands: `Bash`, `run_shell_command`, `exec_command`, `local_shell`."""


def command_of(tool: str, arguments: Mapping[str, object]) -> str:
    """The line of shell that a call is to run; empty for a call of another tool."""
    if tool and not _RUNS.search(tool):
        return ""
    for name in ("command", "cmd", "script"):
        match arguments.get(name):
            case str(line):
                return line
            case [_, *_] as words if all(isinstance(word, str) for word in words):
                return shlex.join(map(str, words))
    return ""


def strictest_word(line: str, rules: Sequence[Permission]) -> Word:
    """What one source of rules says: the strictest word on any command, or on the whole line."""
    words = list(_words(line, [rule for rule in rules if _names(rule.tool)]))
    return max(words, key=lambda word: _ORDER.index(word.permit), default=Word(Permit.ALLOW))


def _words(line: str, rules: list[Permission]) -> Iterator[Word]:
    each = [rule for rule in rules if not _SIGNS & set(rule.pattern)]
    whole = [rule for rule in rules if _SIGNS & set(rule.pattern)]
    for command in shell_commands(line):
        said = [rule for rule in each if _is_about(rule, command)]
        if said:
            yield Word(said[-1].action, said[-1])
    said = [rule for rule in whole if _matches(line.strip(), rule)]
    if said:
        yield Word(said[-1].action, said[-1])


def _names(tool: str) -> bool:
    return fnmatchcase(SHELL, tool.casefold())


def _is_about(rule: Permission, command: ShellCommand) -> bool:
    """What allows is about a command as it is written, what tightens also about what it means."""
    forms = (command.text,) if rule.action is Permit.ALLOW else (command.text, *command.meant)
    return any(_matches(form, rule) for form in forms)


def _matches(text: str, rule: Permission) -> bool:
    if rule.pattern in _ALL:
        return True
    pattern = rule.pattern
    if rule.action is not Permit.ALLOW:  # what tightens does so whatever the letters' case
        text, pattern = text.casefold(), pattern.casefold()
    bare = pattern.endswith(" *") and text == pattern[:-2]  # `git push *` is about `git push`, too
    return bare or fnmatchcase(text, pattern)
