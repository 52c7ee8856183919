"""Permission rules for shell lines: every command of a line must be allowed.

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
from collections import deque
from enum import StrEnum
from fnmatch import fnmatchcase
from itertools import islice
from typing import TYPE_CHECKING

from msgspec import Struct

from runner.lazy_pattern import regex

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


SHELL = "bash"
"""Shell commands of agents: a pattern is matched with each simple command of a line."""


class Permit(StrEnum):
    """The decision of a permission rule; later members are tighter."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


class Permission(Struct, frozen=True):
    """One `[[permission]]` of the settings."""

    tool: str
    """Tool name, or a wildcard such as `mcp__*`."""
    pattern: str
    """Subject of the call: a path glob for file tools, else a wildcard."""
    action: Permit

    def __str__(self) -> str:
        return f"{self.action} {self.tool} {self.pattern}"


class PermissionAnswer(Struct, frozen=True):
    """A person's answer, for one task, to exactly this call where a rule asks."""

    tool: str
    subject: str
    allowed: bool
    reason: str = ""
    once: bool = False
    """Whether it holds for one call only; for a write, until its attempt ends."""


class Word(Struct, frozen=True):
    """The rules' decision about one call, and the rule that made it."""

    permit: Permit
    rule: Permission | None = None
    of_repository: bool = False
    reason: str = ""
    """Why the person refused."""

    def __str__(self) -> str:
        if self.rule is None:
            return "no rule"
        whose = "the repository's" if self.of_repository else "your"
        return f'the rule "{self.rule}" of {whose} settings'


_SIGNS = frozenset(";|&`$<>\n()")
_SPACED = regex(r"[ \t]*([;|&<>()]+)[ \t]*")
_ALL = frozenset({"*", "**"})
_ORDER = tuple(Permit)
_RUNS = regex(r"bash|shell|exec|terminal|run_command|\Ash\Z|local_shell", re.IGNORECASE)
"""Tool names that run commands: `Bash`, `run_shell_command`, `exec_command`, `local_shell`."""


def command_of(tool: str, arguments: Mapping[str, object]) -> str:
    """Return the shell command of a tool call; empty for other tools."""
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
    """Return the strictest decision of one set of rules on any command or the whole line."""
    words = list(_words(line, [rule for rule in rules if fnmatchcase(SHELL, rule.tool.casefold())]))
    return max(words, key=lambda word: _ORDER.index(word.permit), default=Word(Permit.ALLOW))


def _words(line: str, rules: list[Permission]) -> Iterator[Word]:
    line = _CONTINUED.sub(lambda pair: pair[0].removesuffix("\\\n"), line)
    each = [rule for rule in rules if not _SIGNS & set(rule.pattern)]
    whole = [rule for rule in rules if _SIGNS & set(rule.pattern)]
    try:
        commands = shell_commands(line)
    except ValueError:  # it may run anything
        tightest = max(rules, key=lambda rule: _ORDER.index(rule.action), default=None)
        yield from [Word(tightest.action, tightest)] if tightest else ()
        return
    for command in commands:
        matching = [rule for rule in each if _is_about(rule, command)]
        if matching:
            yield Word(matching[-1].action, matching[-1])
    matching = [rule for rule in whole if _is_about_line(rule, line.strip())]
    if matching:
        yield Word(matching[-1].action, matching[-1])


def _is_about(rule: Permission, command: ShellCommand) -> bool:
    """Check whether a rule matches a command: as written, or also as resolved unless it allows."""
    forms = (command.text,) if rule.action is Permit.ALLOW else (command.text, *command.meant)
    return any(_matches(form, rule) for form in forms)


def _is_about_line(rule: Permission, line: str) -> bool:
    """Return whether a rule matches a whole line, with or without spaces at operators."""
    if rule.action is Permit.ALLOW:
        return _matches(line, rule)
    return _matches(line, rule) or _matches(_close_up(line), rule, _close_up(rule.pattern))


def _close_up(text: str) -> str:
    return _SPACED.sub(r"\1", text)


def _matches(text: str, rule: Permission, pattern: str = "") -> bool:
    if rule.pattern in _ALL:
        return True
    pattern = pattern or rule.pattern
    if rule.action is not Permit.ALLOW:  # what tightens does so whatever the letters' case
        text, pattern = text.casefold(), pattern.casefold()
    bare = pattern.endswith(" *") and text == pattern[:-2]  # `git push *` is about `git push`, too
    return bare or fnmatchcase(text, pattern)


# POSIX 2.2.1: a backslash and newline are removed before word splitting, so `gi\⏎t` is one word.
# Escapes are read in pairs: after `\\` a newline stays a newline.
_CONTINUED = regex(r"\\.", re.DOTALL)
_OPERATORS = regex(r"\A[;&|\n()]+\Z")
_ASSIGNED = regex(r"[A-Za-z_]\w*\+?=")
_INNER = regex(r"\$\(|`|<\(|>\(")
_WRAPPERS_WORDS = """
sudo doas env command exec nohup time nice ionice stdbuf setsid xargs timeout busybox caffeinate
builtin eval then do else if while until ! { chroot unshare strace watch parallel
"""
_WRAPPERS = frozenset(_WRAPPERS_WORDS.split())
"""Words before the command that really runs."""
_FINDS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_GIT_VALUES = frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env"})
"""Options of git itself that take a value (git(1))."""
_SHELLS = regex(r"(?:\S*/)?(?:ba|da|z|k|a|fi)?sh\Z")
_SCRIPT = regex(r"-[a-zA-Z]*c[a-zA-Z]*\Z")
_MOST_LETTERS = 1_000_000
"""Of a line and all that stands in it, each text as often as it is read; Linux takes 128 KiB as one
word (execve(2), MAX_ARG_STRLEN)."""


class ShellCommand(Struct, frozen=True):
    """One command of a line."""

    text: str
    """Its words after quote removal, as the shell sees them."""
    meant: tuple[str, ...] = ()
    """Other commands it runs: without folder, variables and prefix words."""


def shell_commands(line: str) -> tuple[ShellCommand, ...]:
    """Return every simple command of a line, including nested ones. Raises ValueError.

    Raises ValueError for a line in which too much stands.
    """
    reader = _Reader()
    reader.read(line)
    return tuple(reader.found)


class _Reader:
    """Takes a line apart, and each line that stands in it once."""

    def __init__(self) -> None:
        self.found: list[ShellCommand] = []
        self._letters = 0

    def read(self, line: str) -> None:
        """Find its commands. Raises ValueError where that is too much."""
        waiting, known = deque([line]), {line}
        self._count(line)
        while waiting:
            for inner in self._take_apart(waiting.popleft()):
                if inner not in known:
                    known.add(inner)
                    waiting.append(inner)

    def _take_apart(self, line: str) -> Iterator[str]:
        """Yield the lines nested in a line, and collect its own commands."""
        for words in _split(line):
            meant: dict[str, None] = {}
            for left in _fronts(words):
                text = " ".join(left)
                self._count(text)
                meant |= {text: None, " ".join([left[0].rpartition("/")[2], *left[1:]]): None}
                yield from map(self._count, _scripts(left))
            text = " ".join(words)
            self.found.append(ShellCommand(text, tuple(one for one in meant if one != text)))
        yield from map(self._count, _find_substitutions(line))

    def _count(self, text: str) -> str:
        """Return the text; count its length and raise ValueError above the limit."""
        self._letters += len(text)
        if self._letters > _MOST_LETTERS:
            raise ValueError("the command line is too long to analyse")
        return text


def _split(line: str) -> list[list[str]]:
    """Split a line into the words of its commands."""
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


def _fronts(words: list[str]) -> Iterator[list[str]]:
    """Yield a command and each one it wraps: `sudo env A=1 git push` wraps `git push`."""
    while words:
        yield words
        words = _without_front(words)


def _without_front(words: list[str]) -> list[str]:
    """Return the words after a leading assignment or wrapper program; empty if there is none."""
    name = words[0].rpartition("/")[2]
    if _ASSIGNED.match(words[0]):
        return words[1:]
    if name == "git":
        return _without_git_options(words)
    if name not in _WRAPPERS:
        return []
    at = 1
    while at < len(words) and (words[at].startswith("-") or words[at][:1].isdigit()):
        at += 1
    return words[at:]


def _without_git_options(words: list[str]) -> list[str]:
    """Return `git push` for `git -C . push`; empty if git has no options itself."""
    at = 1
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in _GIT_VALUES else 1
    return ["git", *words[at:]] if at > 1 and words[at:] else []


def _scripts(words: list[str]) -> Iterator[str]:
    """Yield the lines that a shell, `eval` or `find` runs."""
    name = words[0].rpartition("/")[2]
    if name == "eval":
        yield " ".join(words[1:])
    if name == "find":
        runs = (at for at, word in enumerate(words, 1) if word in _FINDS)
        yield from (shlex.join(words[at:]) for at in runs)
    if _SHELLS.match(words[0]):
        options = (at for at, word in enumerate(words[1:-1], 2) if _SCRIPT.match(word))
        yield from (words[at] for at in islice(options, 1))
        handed = (at for at, word in enumerate(words) if word.startswith("<<<"))
        yield from (words[at][3:] or " ".join(words[at + 1 : at + 2]) for at in handed)


def _find_substitutions(line: str) -> Iterator[str]:
    """Yield the commands inside `$(…)`, `<(…)` and back quotes."""
    for match in _INNER.finditer(line):
        if match[0] == "`":
            end = line.find("`", match.end())
            yield line[match.end() : end if end >= 0 else len(line)]
        else:
            yield line[match.end() : _closing(line, match.end())]


def _closing(line: str, at: int) -> int:
    depth = 1
    for place in range(at, len(line)):
        depth += {"(": 1, ")": -1}.get(line[place], 0)
        if not depth:
            return place
    return len(line)
