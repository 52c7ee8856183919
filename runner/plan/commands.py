"""Read a shell line: the programs that it starts, and whether it can fail."""

from __future__ import annotations

import shlex
from functools import lru_cache
from typing import TYPE_CHECKING

from runner.lazy_pattern import regex

if TYPE_CHECKING:
    from collections.abc import Iterator

_SHELL = """
. : [ alias bg break builtin case cd command continue do done echo elif else esac eval exec exit
export false fi for function getopts hash if in local printf pwd read readonly return set shift
source test then time times trap true type ulimit umask unset until wait while { } ( ) !
"""
_BUILTINS = frozenset(_SHELL.split())
_SWALLOWED = regex(
    r"\|\|\s*(?:(?:/usr)?/bin/true|true|:|exit\s+0|echo\b[^|&;]{0,300})(?=\s{0,9}(?:[;)&\"']|$))"
    r"|(?:[;\n]|(?<!&)&)\s*(?:true|:|exit\s+0)(?=\s*(?:[;)\"'\n]|$))"
    r"|(?<![|>])\|\s*(?:tee|cat|head|tail|less|more)\b[^|;&]{0,300}(?=$|\s{0,9}[;)\n])"
    r"|(?<![&>])&(?=\s*$)"
    r"|(?:^|[;&\s])set\s+\+e\b"
    r"|--exit-zero\b|--passWithNoTests\b|--suppress-tests-failed\b"
    r"|(?<!\S)--no-verify(?!\S)"
    r"|(?:^|(?<=[\s;&|(]))SKIP=\S+"
)
_PIPE_FAILS = regex(r"\bset\s+-\w*o\s+pipefail\b")
_NO_OPERATOR = regex(r"\\.|[<>]&[\w-]*|&>>?")
"""An escaped letter, and redirections with `&`."""
_CONTROL = regex(r"&&|\|\||;;|\|&|[;|&\n]")
_ASSIGNMENT = regex(r"[A-Za-z_]\w*=")
_PLAIN = regex(r"[A-Za-z0-9_.,:/=+@%-]+(?:[ \t]+[A-Za-z0-9_.,:/=+@%-]+)*")
"""A line without quotes, operators and comments, the usual case: words separated by blanks."""
_LONGEST = 1 << 16
"""Maximum characters of a parsed line: `shlex` needs quadratic time for a word."""
_BETWEEN = frozenset({";", "&&", "||", "|", "&", "|&", ";;", "(", "\n"})


def swallows_failure(command: str) -> str:
    """Return the part of a command that hides failures, such as `|| true`; else empty.

    Such as `|| true`, a pipe into `tee`, `--no-verify` or `SKIP=`; else empty.
    """
    for match in _SWALLOWED.finditer(command):
        # A pipe's exit is that of its last command, unless pipefail is set (bash(1), Pipelines).
        if not (match[0].startswith("|") and match[0][1:2] != "|" and _PIPE_FAILS.search(command)):
            return match[0].strip()
    return ""


def shell_operator(command: str) -> str:
    """Return the first shell operator outside quotes; empty if there is none."""
    if _PLAIN.fullmatch(command):
        return ""
    if len(command) > _LONGEST:
        return ""
    lexer = shlex.shlex(_NO_OPERATOR.sub("", command), posix=False, punctuation_chars=";&|\n")
    lexer.whitespace = " \t\r"
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        words = list(lexer)
    except ValueError:
        return ""  # an open quote: the shell will say so when the command runs
    return next((word for word in words if _CONTROL.fullmatch(word)), "")


@lru_cache(maxsize=4096)  # an editor asks about every command after each keystroke
def executables(command: str) -> tuple[str, ...]:
    """Return the programs that a shell line starts by name, as far as static analysis can tell.

    Built-ins of the shell, paths and names made at run time are left out.
    """
    return tuple(_executables(command))


def _executables(command: str) -> Iterator[str]:
    at_start = True
    for word in _words_of(command):
        if word in _BETWEEN:
            at_start = True
        elif at_start and not _ASSIGNMENT.match(word):
            at_start = False
            if word not in _BUILTINS and not set(word) & set("/$`*?~<>"):
                yield word
            elif word in ("!", "then", "do", "else", "if", "while", "until", "{", "time", "exec"):
                at_start = True


def _words_of(command: str) -> list[str]:
    """Return the words and operators of a shell line; empty if quotes are unbalanced."""
    if _PLAIN.fullmatch(command):
        return command.split()
    if len(command) > _LONGEST:
        return []
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    try:
        return list(lexer)
    except ValueError:
        return []
