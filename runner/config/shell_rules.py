"""Rules on a line of shell: each of its commands has to be allowed by itself.

`allow bash git status*` must not let `git status; rm -rf /` run, nor is `deny bash git push*` got
round by `cd a && /usr/bin/git push`. A pattern with signs of the shell is about the whole line.

One permission rule of the settings, what it says of a call, and what a person answered.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from runner.text.shell_commands import shell_commands

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from runner.text.shell_commands import ShellCommand


SHELL = "bash"
"""Shell commands of agents: a pattern is held against each simple command of a line."""


class Permit(StrEnum):
    """What a rule says of a call; later members are tighter."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


@dataclass(frozen=True, slots=True)
class Permission:
    """One `[[permission]]` of the settings."""

    tool: str
    """A name, or a wildcard such as `mcp__*`."""
    pattern: str
    """What the call is about: a path's glob for tools of files, else a wildcard of the subject."""
    action: Permit

    def __str__(self) -> str:
        return f"{self.action} {self.tool} {self.pattern}"


@dataclass(frozen=True, slots=True)
class PermissionAnswer:
    """What a person said, of one task, to exactly this call where a rule asks."""

    tool: str
    subject: str
    allowed: bool
    reason: str = ""
    once: bool = False
    """Whether it holds for one call; of a write, until the attempt that makes it is over."""


@dataclass(frozen=True, slots=True)
class Word:
    """What the rules say of one call, and which of them says it."""

    permit: Permit
    rule: Permission | None = None
    of_repository: bool = False
    reason: str = ""
    """Why a person who was asked said no."""

    def __str__(self) -> str:
        if self.rule is None:
            return "no rule"
        whose = "the repository's" if self.of_repository else "your"
        return f'the rule "{self.rule}" of {whose} settings'


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
