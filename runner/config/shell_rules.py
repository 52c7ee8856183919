"""Rules on a line of shell: each of its commands has to be allowed by itself.

`allow bash git status*` must not let `git status; rm -rf /` run, nor is `deny bash git push*` got
round by `cd a && /usr/bin/git push`. A pattern with signs of the shell is about the whole line.

One permission rule of the settings, what it says of a call, and what a person answered.

The simple commands in a line of shell, as rules on commands see them: nothing is run.

Good for holding a line against rules. What cannot be taken apart is one command as it stands, so a
rule that forbids is asked about more than there is, never about less.
"""

from __future__ import annotations

import re
import shlex
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from runner.lazy_dataclass import dataclass
from runner.lazy_pattern import regex

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


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
_RUNS = regex(r"bash|shell|exec|terminal|run_command|\Ash\Z|local_shell", re.IGNORECASE)
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
    line = _CONTINUED.sub(lambda pair: pair[0].removesuffix("\\\n"), line)
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


# --- the commands of a line -----------------------------------------------------------


# POSIX 2.2.1: a backslash and the line's end are taken away before words are told apart, so
# `gi\⏎t` is one word. Escapes are read in pairs: behind `\\` the line's end is a line's end.
_CONTINUED = regex(r"\\.", re.DOTALL)
_OPERATORS = regex(r"\A[;&|\n()]+\Z")
_ASSIGNED = regex(r"[A-Za-z_]\w*\+?=")
_INNER = regex(r"\$\(|`|<\(|>\(")
_WRAPPERS_WORDS = """
sudo doas env command exec nohup time nice ionice stdbuf setsid xargs timeout busybox caffeinate
builtin eval then do else if while until ! { chroot unshare strace watch parallel
"""
_WRAPPERS = frozenset(_WRAPPERS_WORDS.split())
"""Words in front of the command that really runs."""
_SHELLS = regex(r"(?:\S*/)?(?:ba|da|z|k|a|fi)?sh\Z")
_SCRIPT = regex(r"-[a-zA-Z]*c[a-zA-Z]*\Z")
_LONGEST, _DEEPEST, _MOST = 100_000, 6, 500


@dataclass(frozen=True, slots=True)
class ShellCommand:
    """One command of a line."""

    text: str
    """Its words, as the shell would see them after quotes."""
    meant: tuple[str, ...] = ()
    """What it runs besides: without its folder, variables and what stands in front of it."""


def shell_commands(line: str) -> tuple[ShellCommand, ...]:
    """Every simple command of a line, those inside of `$(…)` and `sh -c '…'` too."""
    return tuple(_commands(line[:_LONGEST], 0))[:_MOST]


def _commands(line: str, depth: int) -> list[ShellCommand]:
    found = []
    for words in _split(line):
        found.append(_command(words))
        if depth < _DEEPEST:
            for script in _scripts(words):
                found += _commands(script, depth + 1)
    if depth < _DEEPEST:
        for inner in _find_substitutions(line):
            found += _commands(inner, depth + 1)
    return found


def _split(line: str) -> list[list[str]]:
    """The words of each command between `;`, `&&`, `|`, brackets and line ends."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=";&|()\n")
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t\r", True, "#"
    commands: list[list[str]] = [[]]
    try:
        for word in lexer:
            if _OPERATORS.match(word):
                commands.append([])
            else:
                commands[-1].append(word)
    except ValueError:  # an open quote
        return [line.split()]
    return [words for words in commands if words]


def _command(words: list[str]) -> ShellCommand:
    meant: dict[str, None] = {}
    left = words
    while left:
        meant[" ".join(left)] = None
        meant[" ".join([left[0].rpartition("/")[2], *left[1:]])] = None
        left = _without_front(left)
    text = " ".join(words)
    return ShellCommand(text, tuple(one for one in meant if one != text))


def _without_front(words: list[str]) -> list[str]:
    """The words behind a variable, or behind a program that runs another with its options."""
    name = words[0].rpartition("/")[2]
    if _ASSIGNED.match(words[0]):
        return words[1:]
    if name not in _WRAPPERS:
        return []
    at = 1
    while at < len(words) and (words[at].startswith("-") or words[at][:1].isdigit()):
        at += 1
    return words[at:]


def _scripts(words: list[str]) -> list[str]:
    """What a shell is handed as a program, or `eval` as words."""
    left, found = words, []
    while left:
        name = left[0].rpartition("/")[2]
        if name == "eval":
            found.append(" ".join(left[1:]))
        if _SHELLS.match(left[0]):
            options = [at for at, word in enumerate(left[1:], 1) if _SCRIPT.match(word)]
            found += [left[at + 1] for at in options[:1] if at + 1 < len(left)]
        left = _without_front(left)
    return found


def _find_substitutions(line: str) -> list[str]:
    """What stands in `$(…)`, `<(…)` and back quotes."""
    found = []
    for match in _INNER.finditer(line):
        if match[0] == "`":
            end = line.find("`", match.end())
            found.append(line[match.end() : end if end >= 0 else len(line)])
        else:
            found.append(line[match.end() : _closing(line, match.end())])
    return found


def _closing(line: str, at: int) -> int:
    depth = 1
    for place in range(at, len(line)):
        depth += {"(": 1, ")": -1}.get(line[place], 0)
        if not depth:
            return place
    return len(line)
