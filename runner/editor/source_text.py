"""A text as an editor counts it: lines, and columns in the units that client and server agreed on.

Lines end in LF, CR LF or CR alone, and in nothing else (Language Server Protocol 3.17, Text
Documents): U+2028 is a character of its line. Inside the house columns are characters.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

_LINES = re.compile(r"[^\r\n]*(?:\r\n|\n|\r|\Z)")
_SURROGATE = re.compile("[\ud800-\udfff]")
_ASTRAL = 0xFFFF


class TextPosition(NamedTuple):
    """A place between two characters; `line` and `column` count from 0."""

    line: int
    column: int


class TextSpan(NamedTuple):
    """What lies between two places."""

    start: TextPosition
    end: TextPosition

    def holds(self, place: TextPosition) -> bool:
        """Whether a place lies in it or at one of its ends."""
        return self.start <= place <= self.end


def span_on(line: int, start: int, end: int) -> TextSpan:
    """A span within one line."""
    return TextSpan(TextPosition(line, start), TextPosition(line, end))


class Units:
    """The units of a client's columns: `utf-8`, `utf-16` (what holds unless agreed) or `utf-32`."""

    def __init__(self, name: str = "utf-16") -> None:
        self.name = name

    def count(self, text: str) -> int:
        """How many units a text has."""
        if self.name == "utf-32" or text.isascii():
            return len(text)
        if self.name == "utf-8":
            return len(text.encode("utf-8", "surrogatepass"))
        return len(text) + sum(ord(one) > _ASTRAL for one in text)

    def column(self, line: str, units: int) -> int:
        """The character a column of units stands at; inside of one it is that one's begin.

        What lies behind the line is its end, what lies before it its begin.
        """
        if self.name == "utf-32" or line.isascii():
            return max(0, min(units, len(line)))
        gone = 0
        for column, one in enumerate(line):
            gone += self.count(one)
            if gone > units:
                return column
        return len(line)


class SourceText:
    """The text of a document; a change makes a new one. Lone surrogates are U+FFFD."""

    __slots__ = ("_lines",)

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = list(lines)

    @classmethod
    def of(cls, text: str) -> SourceText:
        """The lines of a text."""
        return cls(_split(_SURROGATE.sub("\ufffd", text)))

    @property
    def text(self) -> str:
        """All of it."""
        return "".join(self._lines)

    @property
    def data(self) -> bytes:
        """All of it in UTF-8."""
        return self.text.encode()

    @property
    def line_count(self) -> int:
        """How many lines there are; behind a last line end there is one more, an empty one."""
        return len(self._lines)

    def line(self, number: int) -> str:
        """A line without its end; empty where there is none."""
        if not 0 <= number < len(self._lines):
            return ""
        return self._lines[number].rstrip("\r\n")

    def lines(self) -> list[str]:
        """All lines without their ends."""
        return [line.rstrip("\r\n") for line in self._lines]

    def place(self, line: int, units: int, by: Units) -> TextPosition:
        """A client's position as a place; what lies outside of the text is its nearest place."""
        if line < 0:
            return TextPosition(0, 0)
        if line >= len(self._lines):
            last = len(self._lines) - 1
            return TextPosition(last, len(self.line(last)))
        return TextPosition(line, by.column(self.line(line), units))

    def units(self, place: TextPosition, by: Units) -> int:
        """The column of a place as the client counts it."""
        return by.count(self.line(place.line)[: place.column])

    def change(self, span: TextSpan, text: str) -> SourceText:
        """The text with another one in place of a span."""
        start, end = min(span), max(span)
        head = self._lines[start.line][: start.column]
        tail = self._lines[end.line][end.column :]
        first = start.line
        if not head and first and self._lines[first - 1].endswith("\r"):
            first -= 1  # a LF that comes to stand behind it makes one line end of both
            head = self._lines[first]
        new = _split(head + _SURROGATE.sub("\ufffd", text) + tail)
        if end.line + 1 < len(self._lines):
            new.pop()  # behind its last line end the next line begins
        return SourceText((*self._lines[:first], *new, *self._lines[end.line + 1 :]))


def _split(text: str) -> list[str]:
    """Lines with their ends; the last one has none, and may be empty."""
    found = _LINES.findall(text)
    if len(found) > 1 and not found[-1] and not found[-2].endswith(("\r", "\n")):
        found.pop()  # the pattern matches once more at the very end
    return found
