"""A place in a shell text: what stands next there, and how to go on."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runner.lazy_pattern import regex

if TYPE_CHECKING:
    from runner.plan.shell.shell_nodes import HereDocument

_OPERATOR = regex(r"&&|\|\||;;&?|;&|\|&|[;&|()\n]")
_BLANK = regex(r"(?:[ \t\r]|\\\n)+")
PLAIN = regex(r"[^\s\\'\"`$;&|()<>]+")
BREAKS = frozenset(" \t\r\n;&|()<>")


class Cursor:
    """Where somebody reads a text, who has the here documents that begin with the next line."""

    def __init__(self, text: str, redirection: re.Pattern[str]) -> None:
        self.text = text
        self.at = 0
        self.redirects = redirection
        self.waiting: list[tuple[str, HereDocument]] = []
        """The here documents whose text begins with the next line, with what ends them."""

    def skip(self, count: int) -> None:
        """Past so many characters."""
        self.at += count

    def blanks(self) -> None:
        """Past blanks and a comment."""
        if found := _BLANK.match(self.text, self.at):
            self.at = found.end()
        # `#` begins a comment only where a word could begin (POSIX, 2.3 Token Recognition): `a#b`
        # is a word.
        if self.text.startswith("#", self.at):
            before = self.text[self.at - 1 : self.at] if self.at else " "
            if before in " \t\n;&|()":
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end

    def newlines(self) -> None:
        """Past blanks, comments and line ends."""
        self.blanks()
        while self.text.startswith("\n", self.at):
            self.newline()
            self.blanks()

    def newline(self) -> None:
        """Past a line's end, and the here documents that begin with it."""
        self.at += 1
        for end, document in self.waiting:
            found = re.compile(end, re.MULTILINE).search(self.text, self.at)
            document.text = self.text[self.at : found.start() if found else len(self.text)]
            document.read = document.text
            if document.expands:
                self.expand(document)
            self.at = found.end() + 1 if found else len(self.text)
        self.at = min(self.at, len(self.text))
        self.waiting.clear()

    def expand(self, document: HereDocument) -> None:
        """Read what is substituted in a here document."""

    def operator(self) -> str:
        """The operator that stands next; empty before a word or a redirection."""
        self.blanks()
        if self.redirects.match(self.text, self.at):
            return ""
        found = _OPERATOR.match(self.text, self.at)
        return found[0] if found else ""

    def keyword(self) -> str:
        """The next word, where it stands alone and unquoted; it is not taken."""
        self.blanks()
        found = PLAIN.match(self.text, self.at)
        if found is None:
            return ""
        after = self.text[found.end() : found.end() + 1]
        return found[0] if not after or after in BREAKS else ""

    def sees(self, ends: tuple[str, ...]) -> bool:
        """Whether one of these words or operators stands next."""
        return bool(ends) and (self.operator() in ends or self.keyword() in ends)

    def find_arithmetic_end(self, start: int) -> int:
        """Behind the `))` of an arithmetic expression whose `((` stands there."""
        depth = 0
        for at in range(start, len(self.text)):
            depth += (self.text[at] == "(") - (self.text[at] == ")")
            if not depth:
                return at + 1
        return len(self.text)
