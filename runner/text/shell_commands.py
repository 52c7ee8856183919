"""The simple commands in a line of shell, as rules on commands see them: nothing is run.

Good for holding a line against rules. What cannot be taken apart is one command as it stands, so a
rule that forbids is asked about more than there is, never about less.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

_OPERATORS = re.compile(r"\A[;&|\n()]+\Z")
_ASSIGNED = re.compile(r"[A-Za-z_]\w*\+?=")
_INNER = re.compile(r"\$\(|`|<\(|>\(")
_WRAPPERS_WORDS = """
sudo doas env command exec nohup time nice ionice stdbuf setsid xargs timeout busybox caffeinate
builtin eval then do else if while until ! { chroot unshare strace watch parallel
"""
_WRAPPERS = frozenset(_WRAPPERS_WORDS.split())
"""Words in front of the command that really runs."""
_SHELLS = re.compile(r"(?:\S*/)?(?:ba|da|z|k|a|fi)?sh\Z")
_SCRIPT = re.compile(r"-[a-zA-Z]*c[a-zA-Z]*\Z")
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
    lexer = shlex.shlex(line.replace("\\\n", " "), posix=True, punctuation_chars=";&|()\n")
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
