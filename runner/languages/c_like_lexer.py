"""A small lexer for languages with braces: finds strings and comments."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runner.lazy_pattern import regex

if TYPE_CHECKING:
    from collections.abc import Sequence

# An unclosed comment extends to the end of the file, an unclosed string to the end of its line: one
# missing quote must not hide everything after it.
PLAIN = (
    r"//[^\n]*|/\*.*?(?:\*/|\Z)"
    r'|"(?:\\.|[^"\\\n])*"?'
)
"""Comments and strings of most languages; each adds its own."""
_PAIRS = {"(": ")", "[": "]", "{": "}"}
_CLOSING = frozenset(_PAIRS.values())


def mask_literals(source: str, tokens: re.Pattern[str]) -> str:
    """Replace strings and comments by blanks, so that positions stay valid."""
    return tokens.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), source)


def find_closing(mask: str, opening: int) -> int:
    """Return the position of the closing bracket for `opening`; the end if there is none."""
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
    """Return the 1-based line number of an offset."""
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
    """Return the top-level statements of a file as words, without comments.

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
    """Return a declaration without its body."""
    depth = 0
    for at, word in enumerate(words):
        depth += (word in "([") - (word in ")]")
        if word == "{" and depth <= 0:
            return " ".join(words[:at])
    return " ".join(words)
