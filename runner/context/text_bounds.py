"""Long texts made short: redacted first, so that no key is cut in two and missed."""

from __future__ import annotations

from dataclasses import dataclass

from runner.secrets.redact import redact
from runner.text.display import display

CHARACTERS_A_TOKEN = 4
"""A usual measure for English and code; good enough to bound a text by."""
_PROSE = 100_000
"""Nobody writes a task of this length; what comes here by mistake is cut."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """How long the parts of a brief may be, at a scale."""

    scale: float = 1.0
    known_secrets: tuple[str, ...] = ()

    def head(self, text: str, most: int) -> str:
        """The beginning of a text, at most so many characters at scale 1."""
        clean = self._clean(text)
        allowed = max(int(most * self.scale), 1)
        if len(clean) <= allowed:
            return clean
        whole_lines = clean[:allowed].rpartition("\n")[0] or clean[:allowed]
        return f"{whole_lines}\n… ({len(clean) - len(whole_lines)} more characters)"

    def tail(self, text: str, most: int) -> str:
        """The end of a text: where programs say what went wrong."""
        clean = self._clean(text)
        allowed = max(int(most * self.scale), 1)
        if len(clean) <= allowed:
            return clean
        whole_lines = clean[-allowed:].partition("\n")[2] or clean[-allowed:]
        return f"… ({len(clean) - len(whole_lines)} characters before)\n{whole_lines}"

    def whole(self, text: str) -> str:
        """The task's own words, which no scale cuts."""
        return self._clean(text)[:_PROSE]

    def count(self, most: int) -> int:
        """How many of several things."""
        return max(int(most * self.scale), 3)

    def _clean(self, text: str) -> str:
        return display(redact(text, self.known_secrets), lines=True).strip("\n")


def fence(text: str, language: str = "text") -> str:
    """A fenced block (CommonMark 4.5) that `text` cannot end."""
    import re

    longest = max(map(len, re.findall("`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def code(text: str) -> str:
    """A code span (CommonMark 6.1) of one line, also around backticks."""
    import re

    shown = display(text)
    longest = max(map(len, re.findall("`+", shown)), default=0)
    ticks = "`" * (longest + 1)
    pad = " " if longest else ""
    return f"{ticks}{pad}{shown}{pad}{ticks}"
