"""Read a shell line: its commands, those of shells that it starts, and whether it can fail."""

from __future__ import annotations

import shlex
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from runner.lazy_pattern import regex
from runner.plan.shell.programs import (
    SHELLS,
    is_script_word,
    is_test_program,
    is_word_alone,
    may_be_test_program,
    names_test_tool,
    program_of,
    programs_of,
    starts_nothing,
)
from runner.plan.shell.syntax import ShellSyntaxError, read_commands

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from runner.plan.shell.programs import StartedProgram
    from runner.plan.shell.syntax import Simple

_DEEPEST = 5
"""Maximum nesting of shells."""
_LIKE_BASH = frozenset({"bash", "zsh", "ksh"})
_GIVES_LINE = frozenset({"su", "runuser", "flock", "script"})
_GIVEN_BY = regex(r"-\w*c|--command|--session-command")
_WRITES = regex(r">(?!\s*&|\s*/dev/null)")
"""A redirection to a file."""
_WRITES_BEHIND = regex(r"(?:[)}]|\b(?:done|fi|esac))\s*\d*>(?!\s*&|\s*/dev/null)")
"""A redirection after a compound command, which belongs to none of its commands."""
_FEW_WORDS = regex(r"[\w./-]+(?: [\w./-]+)*")
"""A single command without quotes, variables and operators: it need not be parsed."""
_PLAIN_SHELLS = frozenset({"sh", "bash", "dash"})
"""Shells that read only their script."""
_PLAIN_PATH = regex(r"[\w.][\w./-]*")
_LONGEST_SCRIPT = 1 << 16
_HIDDEN = regex(r"`|\$\(|[<>]\(|<<")
"""Places of commands outside of a list: in a substitution or a here document."""


class ShellScript(NamedTuple):
    """The script that a command gives to a shell."""

    text: str
    bash: bool = False
    """Whether that shell supports bash's extensions of sh."""


@lru_cache(maxsize=1024)
def commands_of(line: str) -> tuple[Simple, ...]:
    """Return every command of a line, in its order; none for what is no shell line."""
    try:
        return tuple(_commands(line, 0))
    except ShellSyntaxError:
        return ()


def _commands(line: str, depth: int) -> Iterator[Simple]:
    every = read_commands(line)
    for at, one in enumerate(every):
        given = script_of(one, every[at - 1] if at and one.before in ("|", "|&") else None)
        if given and depth < _DEEPEST:
            yield from _commands(given.text, depth + 1)
        else:
            yield one


def script_of(command: Simple, fed_by: Simple | None = None) -> ShellScript | None:
    """Return what `sh -c`, `bash <<EOF`, `su -c` or `eval` runs, else None.

    A shell without a script reads what the command before the pipe prints.
    """
    name, words = program_of(command)
    bash = name in _LIKE_BASH
    if name == "eval":
        # Like the shell: arguments joined by single spaces (POSIX.1-2017, eval).
        return ShellScript(" ".join(words))
    if (line := _find_line(programs_of(command))) is not None:
        return line
    if name not in SHELLS or any(is_script_word(at, words) for at in range(len(words))):
        return None
    for one in filter(None, (command, fed_by)):
        if one.documents:
            return ShellScript(one.documents[-1], bash)
    program, *printed = (fed_by.values if fed_by else ()) or ("",)
    if program not in ("echo", "printf"):
        return None
    return ShellScript(" ".join(printed).replace(r"\n", "\n"), bash)


def _find_line(programs: Sequence[StartedProgram]) -> ShellScript | None:
    for one in programs:
        for word, line in pairwise(one.words if one.name in SHELLS | _GIVES_LINE else ()):
            # Options may be combined after one dash, `-euc` (POSIX.1-2017, XBD 12.2).
            if _GIVEN_BY.fullmatch(word):
                return ShellScript(line, one.name in _LIKE_BASH)
    return None


def tests_among(commands: Sequence[Simple]) -> list[Simple]:
    """Return the test programs; files named like tests only where there is no other."""
    named = [one for one in commands if one.words]
    sure = [one for one in named if is_test_program(one)]
    return sure or [one for one in named if may_be_test_program(one)]


def tests_in(line: str) -> bool:
    """Return whether a line starts a test program, as far as its words show it."""
    return bool(tests_among(commands_of(line)))


def ends_with_test_tool(line: str) -> bool:
    """Return whether the last command is a test tool by name; a target or script is none."""
    return any(map(names_test_tool, commands_of(line)[-1:]))


def starts_no_program(line: str, read: Callable[[str], bytes | None] | None = None) -> bool:
    """Return whether a line starts no program that could be instrumented.

    With `read`, which gives the bytes of a path, a script that it names may do its work.
    """
    scripts = _scripts_alone(line)
    if not scripts or read is None:
        return scripts == ()
    contents = [read(path) for path in scripts]
    return all(one is not None and _is_quiet_script(one) for one in contents)


@lru_cache(maxsize=1024)
def _scripts_alone(line: str) -> tuple[str, ...] | None:
    """Return the only programs of a line if all are shell scripts; None otherwise."""
    if _HIDDEN.search(line) or _WRITES_BEHIND.search(line):
        return None
    if _FEW_WORDS.fullmatch(line) and is_word_alone(line.split(maxsplit=1)[0]):
        return ()
    every = commands_of(line)
    if not every or any(_WRITES.search(one.text) for one in every):
        return None  # it may write a report of its own, or over what measures the next command
    scripts = [_named_script(one) for one in every if not starts_nothing(one)]
    if scripts and any(one.values[:1] == ("cd",) for one in every):
        return None
    return tuple(one for one in scripts if one) if all(scripts) else None


def _named_script(command: Simple) -> str:
    """Return the project file that a shell runs as its script; "" for anything else."""
    words = command.words
    if command.assignments or len(words) < 2 or words[0].text not in _PLAIN_SHELLS:  # noqa: PLR2004 - the shell, and its script
        return ""
    path = words[1].text.removeprefix("./")
    return path if _PLAIN_PATH.fullmatch(path) and ".." not in path else ""


@lru_cache(maxsize=256)
def _is_quiet_script(content: bytes) -> bool:
    """Return whether a script starts no other program."""
    try:
        return len(content) <= _LONGEST_SCRIPT and _scripts_alone(content.decode()) == ()
    except UnicodeDecodeError:
        return False


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
