"""Shell lines that start nothing but the shell's words and programs known to start no other."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from runner.lazy_pattern import regex
from runner.plan.shell.programs import is_word_alone, starts_nothing
from runner.plan.shell.shell_commands import commands_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from runner.plan.shell.syntax import Simple

_WRITES = regex(r">(?!\s*&|\s*/dev/null)")
"""A redirection into a file."""
_WRITES_BEHIND = regex(r"(?:[)}]|\b(?:done|fi|esac))\s*\d*>(?!\s*&|\s*/dev/null)")
"""The same behind commands that stand together: it belongs to none of them."""
_FEW_WORDS = regex(r"[\w./-]+(?: [\w./-]+)*")
"""A line that is one command without quotes, variables and operators: it need not be parsed."""
_PLAIN_SHELLS = frozenset({"sh", "bash", "dash"})
"""Shells that read nothing but their script."""
_PLAIN_PATH = regex(r"[\w.][\w./-]*")
_LONGEST_SCRIPT = 1 << 16
_HIDDEN = regex(r"`|\$\(|[<>]\(|<<")
"""Where a command may stand that is no part of a list: in a redirection, in a text that follows."""


def starts_no_program(line: str, read: Callable[[str], bytes | None] | None = None) -> bool:
    """Whether a line starts nothing that instruments could look into, by its words.

    With `read`, which gives the bytes of a path, a script that it names may do its work.
    """
    scripts = _scripts_alone(line)
    if not scripts or read is None:
        return scripts == ()
    contents = [read(path) for path in scripts]
    return all(one is not None and _is_quiet_script(one) for one in contents)


@lru_cache(maxsize=1024)
def _scripts_alone(line: str) -> tuple[str, ...] | None:
    """The shell scripts that a line runs and that are all it starts; None where it starts more."""
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
    """The file of the project that a shell runs as its script; "" for anything else."""
    words = command.words
    if command.assignments or len(words) < 2 or words[0].text not in _PLAIN_SHELLS:  # noqa: PLR2004 - the shell, and its script
        return ""
    path = words[1].text.removeprefix("./")
    return path if _PLAIN_PATH.fullmatch(path) and ".." not in path else ""


@lru_cache(maxsize=256)
def _is_quiet_script(content: bytes) -> bool:
    """Whether a script starts no program either."""
    try:
        return len(content) <= _LONGEST_SCRIPT and _scripts_alone(content.decode()) == ()
    except UnicodeDecodeError:
        return False
