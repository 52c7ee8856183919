"""Lines of a Markdown file with their byte offsets, and the problems found in them."""

from __future__ import annotations

import re
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from runner.errors import RunnerError
from runner.lazy_pattern import regex
from runner.model import Severity
from runner.text.display import caret, display
from runner.text.wording import plural

if TYPE_CHECKING:
    from collections.abc import Sequence

BOM = b"\xef\xbb\xbf"
# Including U+0000, which CommonMark 0.31, 2.3 replaces for security.
_BAD_BYTES = regex("[\ud800-\udfff\0]")


class Run(NamedTuple):
    """A piece of text on one line; `line` from 0 in its source, `column` from 0."""

    text: str
    line: int
    column: int

    def part(self, start: int, end: int) -> Run:
        """Return the characters from `start` to `end` without surrounding spaces."""
        text = self.text[start:end]
        lead = len(text) - len(text.lstrip())
        return Run(text.strip(), self.line, self.column + start + lead)


class Source:
    """Lines of a file from byte `start` on; `first_line` counts from 1."""

    __slots__ = ("_begins", "first_line", "lines", "raw", "start")

    def __init__(self, raw: bytes, start: int, first_line: int) -> None:
        self.raw = raw
        self.start = start
        self.first_line = first_line
        self.lines = text_of(raw).split("\n")
        self._begins: list[int] = []

    @property
    def text(self) -> str:
        """All lines, ended by LF."""
        return "\n".join(self.lines)

    @property
    def line_count(self) -> int:
        """Number of lines; an empty last line is not counted."""
        return len(self.lines) - (not self.lines[-1])

    def between(self, start: int, end: int) -> str:
        """Return the lines from `start` up to `end`, ended by LF."""
        return "\n".join(self.lines[start:end])

    def byte(self, line: int, column: int) -> int:
        """Return the byte offset of a character in the file."""
        if not self._begins:
            self._begins = [0, *accumulate(map(len, self.raw.splitlines(keepends=True)))]
        begin = self._begins[line]
        if not column:
            return self.start + begin
        raw_line = self.raw[begin : (self._begins[line + 1 :] or [begin])[0]]
        # A non-UTF-8 byte is one character, as in `text_of`, so that columns agree.
        characters = raw_line.decode("utf-8", "surrogateescape")[:column]
        return self.start + begin + len(characters.encode("utf-8", "surrogateescape"))

    def run(self, line: int) -> Run:
        """Return a whole line without surrounding spaces."""
        whole = Run(self.lines[line], line, 0)
        return whole.part(0, len(whole.text))


def text_of(raw: bytes) -> str:
    """Decode bytes with LF line ends; each invalid UTF-8 byte becomes U+FFFD."""
    text = raw.decode("utf-8", "surrogateescape")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _BAD_BYTES.sub("\ufffd", text)


def body_start(data: bytes) -> int:
    """Return the start of the text after a byte order mark."""
    return len(BOM) if data.startswith(BOM) else 0


def line_end_of(data: bytes) -> bytes:
    """Return the first line end of a file; LF by default."""
    match = re.search(rb"\r\n|\r|\n", data)
    return match[0] if match else b"\n"


class Problem(Struct, frozen=True):
    """Something to say about a place in a file; `line` and `column` count from 1."""

    message: str
    path: str
    line: int
    column: int
    hint: str = ""
    severity: Severity = Severity.ERROR
    source_line: str = ""
    width: int = 1
    task: str = ""
    """Only task that a mistake stops, at its turn; empty: nothing runs."""

    @property
    def is_error(self) -> bool:
        """Whether this is a mistake, which `validate` refuses."""
        return self.severity is Severity.ERROR

    @property
    def stops_all(self) -> bool:
        """Whether nothing may run before this is mended."""
        return self.is_error and not self.task


def render(problem: Problem) -> str:
    """Format a problem for output: place and message, source line with a caret, hint."""
    place = f"{display(problem.path)}:{problem.line}:{problem.column}"
    lines = [f"{place}: {problem.severity.value}: {display(problem.message)}"]
    if problem.source_line:
        shown = caret(problem.source_line, problem.column, problem.width)
        lines += ["  " + line for line in shown.split("\n")]
    if problem.hint:
        lines.append(f"hint: {display(problem.hint)}")
    return "\n".join(lines)


def refusal(mistakes: Sequence[Problem], outcome: str) -> RunnerError:
    """Return the error with all mistakes of a plan that cannot be used."""
    count = plural(len(mistakes), "mistake")
    text = "\n\n".join(render(problem) for problem in mistakes)
    return RunnerError(f"the plan has {count}; {outcome}", detail=text)
