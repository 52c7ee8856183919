"""Whether a source parses, for Python, JSON, TOML and YAML, without importing or running it.

This file needs nothing of its package and runs on older interpreters too: for costly sources
its own text is handed to a child (`python -I -c …`), where time and memory are bounded.
"""

from __future__ import annotations

import contextlib
import json
import re
import sys
import threading
import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from yaml.events import Event

TOO_DEEP = "this nests too deeply to be parsed"
_AT = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")
# `warnings` keeps its filters in one global list, which two threads must not swap at once.
_ONE_AT_A_TIME = threading.Lock()


class Mistake(Exception):  # noqa: N818 - the word for what a parser found
    """What is wrong, at which line and column (from 1; 0 where the parser does not say)."""

    def __init__(self, message: str, line: int = 0, column: int = 0) -> None:
        super().__init__(message)
        self.message, self.line, self.column = message, line, column


def parse(language: str, content: bytes, path: str) -> None:
    """Raise Mistake when `content` is not in the language; never run or import it."""
    try:
        _PARSERS[language](content, path)
    except (RecursionError, MemoryError):
        raise Mistake(TOO_DEEP) from None


@contextlib.contextmanager
def no_warnings() -> Iterator[None]:
    """Keep Python's warnings off standard error: a doubtful escape is a linter's business."""
    with _ONE_AT_A_TIME, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def compile_quietly(content: bytes, path: str, flags: int = 0) -> object:
    """`compile()` without warnings; nothing is run, nothing inherited from this module."""
    with no_warnings():
        return compile(content, path, "exec", flags=flags, dont_inherit=True)


def _python(content: bytes, path: str) -> None:
    try:
        compile_quietly(content, path)
    except SyntaxError as error:
        raise Mistake(error.msg, error.lineno or 0, error.offset or 0) from None
    except (ValueError, OverflowError) as error:  # null bytes, numbers beyond all bounds
        raise Mistake(str(error)) from None


def _json(content: bytes, _path: str) -> None:
    try:
        json.loads(_text(content), parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise Mistake(error.msg, error.lineno, error.colno) from None
    except ValueError as error:  # an integer of more than 4,300 digits
        raise Mistake(str(error).split(";")[0]) from None


def _no_constant(name: str) -> None:
    raise Mistake(name + " is not JSON (RFC 8259, section 6)")


def _toml(content: bytes, _path: str) -> None:
    import tomllib

    try:
        tomllib.loads(_text(content))
    except tomllib.TOMLDecodeError as error:
        at = _AT.search(str(error))
        line, column = (int(at[1] or 0), int(at[2] or 0)) if at else (0, 0)
        raise Mistake(_AT.sub("", str(error)), line, column) from None
    except ValueError as error:
        raise Mistake(str(error).split(";")[0]) from None


def _yaml(content: bytes, _path: str) -> None:
    """Parse to events only: nothing is built, so neither tags nor aliases can expand."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        _check_aliases(yaml.parse(_text(content), Loader=loader))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = (mark.line + 1, mark.column + 1) if mark else (0, 0)
        raise Mistake(error.problem or "this is not YAML", *where) from None
    except yaml.YAMLError as error:
        raise Mistake(str(error).split("\n")[0]) from None


def _check_aliases(events: Iterator[Event]) -> None:
    import yaml

    anchors: set[str] = set()
    for event in events:
        if isinstance(event, yaml.DocumentStartEvent):
            anchors = set()
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor not in anchors:
                mark = event.start_mark
                where = (mark.line + 1, mark.column + 1) if mark else (0, 0)
                raise Mistake(f"undefined alias {event.anchor}", *where)
        elif anchor := getattr(event, "anchor", None):
            anchors.add(anchor)


def _text(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise Mistake("this is not UTF-8", line) from None


_PARSERS = {"python": _python, "json": _json, "toml": _toml, "yaml": _yaml}


def child() -> None:
    """Parse standard input as `sys.argv` says, bounded; print the mistake and exit 1 on one."""
    import resource
    import signal

    language, path, seconds = sys.argv[1:4]
    # Both signals end the process by default, whatever C code runs. Processor time is what
    # counts, so that a busy machine refuses nothing; the alarm is for a child that sleeps.
    signal.alarm(int(seconds) * 20)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 1))
        resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
    try:
        parse(language, sys.stdin.buffer.read(), path)
    except Mistake as mistake:
        sys.stdout.write(json.dumps([mistake.message, mistake.line, mistake.column]) + "\n")
        sys.exit(1)
