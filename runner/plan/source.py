"""A stretch of a Markdown file: its lines as text, and where each byte of them lies."""

from __future__ import annotations

import re
from itertools import accumulate
from typing import NamedTuple

from runner.lazy_pattern import regex

BOM = b"\xef\xbb\xbf"
# U+0000 among them, as CommonMark 0.31, 2.3 wants it for safety.
_BAD_BYTES = regex("[\ud800-\udfff\0]")


class Run(NamedTuple):
    """A piece of text on one line; `line` from 0 in its source, `column` from 0."""

    text: str
    line: int
    column: int

    def part(self, start: int, end: int) -> Run:
        """The characters from `start` to `end`, without the blanks around them."""
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
        """How many lines there are; a last line that is empty counts for none."""
        return len(self.lines) - (not self.lines[-1])

    def between(self, start: int, end: int) -> str:
        """The lines from `start` up to `end`, ended by LF."""
        return "\n".join(self.lines[start:end])

    def byte(self, line: int, column: int) -> int:
        """Where in the file a character begins."""
        if not self._begins:
            self._begins = [0, *accumulate(map(len, self.raw.splitlines(keepends=True)))]
        begin = self._begins[line]
        if not column:
            return self.start + begin
        raw_line = self.raw[begin : (self._begins[line + 1 :] or [begin])[0]]
        # A byte that is no UTF-8 is one character here as in `text_of`, so that columns agree.
        characters = raw_line.decode("utf-8", "surrogateescape")[:column]
        return self.start + begin + len(characters.encode("utf-8", "surrogateescape"))

    def run(self, line: int) -> Run:
        """A whole line, without the blanks around it."""
        whole = Run(self.lines[line], line, 0)
        return whole.part(0, len(whole.text))


def text_of(raw: bytes) -> str:
    """Bytes as text with LF line ends; what is not UTF-8 becomes U+FFFD, one a byte."""
    text = raw.decode("utf-8", "surrogateescape")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _BAD_BYTES.sub("\ufffd", text)


def body_start(data: bytes) -> int:
    """Where the text begins: behind a byte order mark."""
    return len(BOM) if data.startswith(BOM) else 0


def line_end_of(data: bytes) -> bytes:
    """The line end a file uses first; LF when it has none."""
    match = re.search(rb"\r\n|\r|\n", data)
    return match[0] if match else b"\n"
