"""Convert between byte offsets and an editor's lines and columns.

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
    """The range between two positions."""

    start: TextPosition
    end: TextPosition

    def holds(self, place: TextPosition) -> bool:
        """Return whether a place is within the span or at one of its ends."""
        return self.start <= place <= self.end


def span_on(line: int, start: int, end: int) -> TextSpan:
    """Return a span within one line."""
    return TextSpan(TextPosition(line, start), TextPosition(line, end))


class Units:
    """The units of a client's columns: `utf-8`, `utf-16` (what holds unless agreed) or `utf-32`."""

    def __init__(self, name: str = "utf-16") -> None:
        self.name = name

    def count(self, text: str) -> int:
        """Return the length of a text in these units."""
        if self.name == "utf-32" or text.isascii():
            return len(text)
        if self.name == "utf-8":
            return len(text.encode("utf-8", "surrogatepass"))
        return len(text) + sum(ord(one) > _ASTRAL for one in text)

    def column(self, line: str, units: int) -> int:
        """Convert a column in code units to one in characters, within the bounds of the line.

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
        """Split a text into lines."""
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
        """Number of lines, including the empty one after a final line break."""
        return len(self._lines)

    def line(self, number: int) -> str:
        """Return a line without its line end; empty if it does not exist."""
        if not 0 <= number < len(self._lines):
            return ""
        return self._lines[number].rstrip("\r\n")

    def lines(self) -> list[str]:
        """Return all lines without their line ends."""
        return [line.rstrip("\r\n") for line in self._lines]

    def place(self, line: int, units: int, by: Units) -> TextPosition:
        """Convert a client's position to the nearest place in the text."""
        if line < 0:
            return TextPosition(0, 0)
        if line >= len(self._lines):
            last = len(self._lines) - 1
            return TextPosition(last, len(self.line(last)))
        return TextPosition(line, by.column(self.line(line), units))

    def units(self, place: TextPosition, by: Units) -> int:
        """Return the column of a place in the client's units."""
        return by.count(self.line(place.line)[: place.column])

    def change(self, span: TextSpan, text: str) -> SourceText:
        """Return the text with a span replaced."""
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
    """Split a text into lines with their line ends; the last line has none."""
    found = _LINES.findall(text)
    if len(found) > 1 and not found[-1] and not found[-2].endswith(("\r", "\n")):
        found.pop()  # the pattern matches once more at the very end
    return found
