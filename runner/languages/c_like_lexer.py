"""Source of languages with braces, cut by a small tokenizer: strings and comments do not count."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runner.lazy_pattern import regex

if TYPE_CHECKING:
    from collections.abc import Sequence

# A comment that is never closed reaches to the end of the file, a string that is not to that of its
# line: one lost quote must not hide all that follows.
PLAIN = (
    r"//[^\n]*|/\*.*?(?:\*/|\Z)"
    r'|"(?:\\.|[^"\\\n])*"?'
)
"""Comments and strings as most of them have them: a language adds its own."""
_PAIRS = {"(": ")", "[": "]", "{": "}"}
_CLOSING = frozenset(_PAIRS.values())


def mask_literals(source: str, tokens: re.Pattern[str]) -> str:
    """The source with blanks where strings and comments were: places and lines stay."""
    return tokens.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), source)


def find_closing(mask: str, opening: int) -> int:
    """Where the bracket that opens at `opening` closes; the end where it never does."""
    depth = 0
    for at in range(opening, len(mask)):
        letter = mask[at]
        if letter in _PAIRS:
            depth += 1
        elif letter in _CLOSING:
            depth -= 1
            if depth == 0:
                return at
    return len(mask)


def line_of(source: str, at: int) -> int:
    """The line number of a place, from 1."""
    return source.count("\n", 0, at) + 1


# --- statements -------------------------------------------------------------------------

_TOKENS = regex(
    r"(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<text>\"(?:\\.|[^\"\\\n])*\"|`(?:\\.|[^`\\])*`"
    r"|'(?:\\.|[^'\\\n])*')|(?P<open>[{(\[])|(?P<close>[})\]])|(?P<end>;)|(?P<line>\n)"
    r"|(?P<word>[\w$#@]+)|(?P<other>[^\w\s])",
    re.DOTALL,
)
_GOES_ON = regex(r"(?:[,.=+\-*/&|?:<(\[{]|=>|\bextends|\bof|\bin)\Z")


def top_statements(content: bytes, *, by_line: bool) -> list[list[str]]:
    """Statements at the top of a file as words, comments left out, braces with what is inside.

    `by_line`: a line's end ends a statement that could end there.
    """
    found: list[list[str]] = []
    words: list[str] = []
    depth = 0
    for match in _TOKENS.finditer(content.decode("utf-8", "replace")):
        kind, token = match.lastgroup, match[0]
        if kind == "comment":
            continue
        depth += (kind == "open") - (kind == "close")
        if kind != "line":
            words.append(token)
        ended = kind == "end" or (kind == "close" and token == "}")
        if kind == "line" and by_line and words:
            ended = not _GOES_ON.search(words[-1])
        if ended and depth <= 0 and words:
            found.append(words)
            words, depth = [], 0
    return [*found, words] if words else found


def header_of(words: Sequence[str]) -> str:
    """A declaration up to its body."""
    depth = 0
    for at, word in enumerate(words):
        depth += (word in "([") - (word in ")]")
        if word == "{" and depth <= 0:
            return " ".join(words[:at])
    return " ".join(words)
