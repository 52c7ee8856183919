"""Check what a task requires of the machine, and list what is missing."""

from __future__ import annotations

import re
import shlex
from functools import lru_cache
from typing import TYPE_CHECKING

from runner.lazy_pattern import regex
from runner.model import BlockKind, Reason
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from runner.model import GateSpec, Task

_ROOT_WORDS = frozenset({"sudo", "doas", "pkexec"})
NEEDS_ROOT = (
    "needs root, which the runner never uses: do the task yourself and set its Status to DONE, "
    "or remove root (Requires, sudo) from the task"
)
"""Note of such a task, with the ways that work: an approval does not give it root."""
_BREAKS = frozenset("();|&\n{}!")
_LEADING = frozenset(
    # These words are followed by another command word.
    (
        *("env", "exec", "time", "nohup", "nice", "command", "builtin", "xargs", "setsid"),
        *("timeout", "if", "then", "else", "elif", "while", "until", "do", "{", "!"),
    )
)
_OF_THE_SHELL = frozenset(
    (
        *(".", ":", "[", "alias", "bg", "break", "case", "cd", "continue", "echo", "eval", "exit"),
        *("export", "false", "fg", "for", "function", "getopts", "hash", "jobs", "kill", "local"),
        *("printf", "pwd", "read", "readonly", "return", "set", "shift", "source", "test"),
        *("times", "trap", "true", "type", "ulimit", "umask", "unalias", "unset", "wait"),
    )
)
_ASSIGNMENT = regex(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
_COMMENT = regex(r"(?m)^[ \t]*#.*$")
_ROUGHLY = regex(r"(?:^|[;&|({]|\b(?:then|do|else)\b)\s*(?:sudo|doas|pkexec)(?=\s)", re.MULTILINE)
_MAY_CALL_ROOT = regex(r"sudo|doas|pkexec|['\"\\]")
"""Text of a line that may call root: such a word, or characters that could build one."""
_PLAIN_PROGRAM = regex(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")


def needs_root(task: Task, gates: Iterable[GateSpec] = ()) -> bool:
    """Return whether a task requires root, or one of its commands or gates calls sudo."""
    required = any(requirement.kind == "root" for requirement in task.requires)
    return required or any(map(_calls_root, _commands(task, gates)))


def find_unmet_requirements(
    task: Task,
    environ: Mapping[str, str],
    which: Callable[[str], str | None],
    *,
    gates: Iterable[GateSpec] = (),
    permitted: Collection[str] | None = None,
    leased: Collection[str] = (),
) -> tuple[tuple[Reason, str], ...]:
    """Return the reason codes and notes of all unmet requirements of a task.

    `which` finds a program on PATH. `gates` are the project's gates for this task. `permitted`
    are the names a person lets tasks have as secrets; None for every name. `leased` are those
    that a command of theirs says: whether it does is seen when an attempt asks.
    """
    gates = tuple(gates)
    return (
        *(((Reason.ROOT, NEEDS_ROOT),) if needs_root(task, gates) else ()),
        *_secrets(task, environ, permitted, leased),
        *_tools(task, which, gates),
    )


def _secrets(
    task: Task,
    environ: Mapping[str, str],
    permitted: Collection[str] | None,
    leased: Collection[str],
) -> Iterator[tuple[Reason, str]]:
    for name in _requirements_of_kind(task, "secret"):
        if name in leased:
            continue
        if permitted is not None and name not in permitted:
            yield Reason.SECRET, f"secret {name} is not in sandbox.secrets of your own settings"
        elif not environ.get(name):
            yield Reason.SECRET, f"secret {name} is not set in the environment"


def _tools(
    task: Task, which: Callable[[str], str | None], gates: tuple[GateSpec, ...]
) -> Iterator[tuple[Reason, str]]:
    required = _requirements_of_kind(task, "tool")
    for name in required:
        if which(name) is None:
            yield Reason.TOOL, f"tool {name} is not on PATH"
    commands = [(f"gate {gate.name}", gate.command) for gate in (*gates, *task.gates)]
    if task.command:  # without its program every attempt would end alike
        commands.insert(0, ("the task's Command", task.command))
    for what, command in commands:
        program = _program(command)
        if not program or program in required or program in _ROOT_WORDS:
            continue
        if which(program) is None:
            yield Reason.TOOL, f"{program}, which {what} runs, is not on PATH"


def _requirements_of_kind(task: Task, kind: str) -> tuple[str, ...]:
    return tuple(
        display(requirement.name) for requirement in task.requires if requirement.kind == kind
    )


def _commands(task: Task, gates: Iterable[GateSpec]) -> Iterator[str]:
    yield task.command
    yield from (block.text for block in task.blocks if block.kind is BlockKind.RUN)
    yield from (contract.command for contract in task.test_contracts)
    yield from (contract.value for contract in task.contracts if contract.kind == "command")
    yield from (gate.command for gate in (*task.gates, *gates))


# --- reading shell lines --------------------------------------------------------------


@lru_cache(maxsize=1024)
def _calls_root(line: str) -> bool:
    if not _MAY_CALL_ROOT.search(line):
        return False
    words = _command_words(line)
    if words is None:  # quotes that only the shell itself understands
        return bool(_ROUGHLY.search(line))
    return any(word.rpartition("/")[2] in _ROOT_WORDS for word in words)


@lru_cache(maxsize=1024)
def _program(line: str) -> str:
    """Return the program at the start of a line; empty for shell words, paths and expansions."""
    first = next(iter(_command_words(line.removeprefix("sh:")) or ()), "")
    return first if _PLAIN_PROGRAM.fullmatch(first) and first not in _OF_THE_SHELL else ""


def _command_words(line: str) -> list[str] | None:
    """Return the command words of shell text, including `sh -c`; None if it is unreadable."""
    try:
        tokens = _tokens(line)
    except ValueError:
        return None
    found: list[str] = []
    expected = True
    for before, token in zip(["", *tokens], tokens, strict=False):
        if re.fullmatch(r"-\w*c", before) and any(
            word in ("sh", "bash", "dash", "zsh") for word in found[-1:]
        ):
            found += _command_words(token) or ()
        elif set(token) <= _BREAKS:
            expected = True
        elif expected and not _ASSIGNMENT.match(token) and not _is_option(token):
            expected = token in _LEADING
            found += [] if expected else [token]
    return found


def _is_option(token: str) -> bool:
    """Check for an option or duration between `timeout` or `env` and the command."""
    return token.startswith("-") or bool(re.fullmatch(r"\d+[smhd]?", token))


def _tokens(line: str) -> list[str]:
    lexer = shlex.shlex(_COMMENT.sub("", line), posix=True, punctuation_chars="();|&\n")
    lexer.whitespace = " \t\r"
    lexer.whitespace_split = True
    lexer.commenters = ""
    return list(lexer)
