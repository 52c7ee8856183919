"""Check that Python, JSON, TOML and YAML sources parse, without importing or running them.

This file imports nothing of its package and runs on older interpreters too. The text of a costly
source goes to a child (`python -I -c …`) with bounded time and memory. The bounds of `is_costly`
were measured on CPython 3.11: within them no known source takes longer than 0.3 s or ends the
process.
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


TOO_DEEP = "nested too deeply to parse"
# Plain texts, not our `regex`: the child that reads this file has nothing of this package.
_AT = r" \(at (?:line (\d+), column (\d+)|end of document)\)$"
# `warnings` keeps its filters in one global list, which two threads must not swap in parallel.
_ONE_AT_A_TIME = threading.Lock()


class Mistake(Exception):  # noqa: N818 - the word for what a parser found
    """A syntax error with line and column (from 1; 0 where the parser does not tell)."""

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
    """Suppress Python's warnings, which are a linter's concern."""
    with _ONE_AT_A_TIME, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def compile_quietly(content: bytes, path: str, flags: int = 0) -> object:
    """Compile without warnings and without this module's flags; nothing is run."""
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
    raise Mistake(name + " is not valid JSON (RFC 8259, section 6)")


def _toml(content: bytes, _path: str) -> None:
    import tomllib

    try:
        tomllib.loads(_text(content))
    except tomllib.TOMLDecodeError as error:
        at = re.search(_AT, str(error))
        line, column = (int(at[1] or 0), int(at[2] or 0)) if at else (0, 0)
        raise Mistake(re.sub(_AT, "", str(error)), line, column) from None
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
        raise Mistake(error.problem or "not valid YAML", *where) from None
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
        raise Mistake("not valid UTF-8", line) from None


_PARSERS = {"python": _python, "json": _json, "toml": _toml, "yaml": _yaml}


def child() -> None:
    """Parse standard input as `sys.argv` says, bounded; print the mistake and exit 1 on one."""
    import resource
    import signal

    language, path, seconds = sys.argv[1:4]
    # By default both signals end the process, even in C code. Processor time counts, so that a busy
    # machine rejects nothing; the alarm is for a sleeping child.
    signal.alarm(int(seconds) * 20)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 1))
        resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
    try:
        parse(language, sys.stdin.buffer.read(), path)
    except Mistake as mistake:
        sys.stdout.write(json.dumps([mistake.message, mistake.line, mistake.column]) + "\n")
        sys.exit(1)


_LARGEST = {"python": 64 << 10, "json": 4 << 20, "toml": 256 << 10, "yaml": 256 << 10}
# A `finally` body is compiled twice, so nested ones double: 25 levels (1.4 kB) took 20 s. Their
# number limits their depth, however they are indented.
_DUPLICATED = 1 << 20
# An f-string is joined again at each field: 80,000 fields in one took 4.5 s.
_BRACES = 3_000
# Python accepts any text codec here; some (idna, punycode) are quadratic.
_COOKIE = rb"(?m)^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)"
_PLAIN_CODECS = frozenset((b"utf-8", b"utf8", b"ascii", b"us-ascii", b"latin-1", b"iso-8859-1"))
# libyaml checks every open bracket for each token: 100,000 took 14 s.
_FLOW_OPENERS = 4_000
# tomllib walks the whole table again for each part of a dotted key: 50,000 parts took 42 s.
_DOTS_IN_A_LINE = 300


def is_costly(language: str, content: bytes) -> bool:
    """Return whether `content` is too costly to parse safely in this process."""
    if len(content) > _LARGEST.get(language, 0):
        return True
    if language == "python":
        return _is_costly_python(content)
    if language == "yaml":
        return content.count(b"[") + content.count(b"{") > _FLOW_OPENERS
    if language == "toml":
        return any(line.count(b".") > _DOTS_IN_A_LINE for line in re.split(rb"[\r\n]", content))
    return False


def is_tangled(content: bytes) -> bool:
    """Return whether parsing a Python source may be disproportionately slow."""
    return content.count(b"{") > _BRACES or has_foreign_codec(content)


def has_foreign_codec(content: bytes) -> bool:
    """Return whether a coding cookie (PEP 263) names a codec other than UTF-8."""
    head = b"\n".join(re.split(rb"\r\n?|\n", content, maxsplit=2)[:2])
    cookie = re.search(_COOKIE, head)
    name = cookie[1].lower().replace(b"_", b"-") if cookie else b"utf-8"
    return name not in _PLAIN_CODECS


def _is_costly_python(content: bytes) -> bool:
    return len(content) << min(content.count(b"finally"), 20) > _DUPLICATED or is_tangled(content)
