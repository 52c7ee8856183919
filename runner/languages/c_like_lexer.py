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
_SPACE = regex(r"\s+")


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


def statement_end(mask: str, start: int) -> int:
    """Where the expression that begins at `start` ends: at `;`, or a line end outside brackets.

    A line that goes on with `.` belongs to it.
    """
    at = start
    while at < len(mask):
        letter = mask[at]
        if letter in _PAIRS:
            at = find_closing(mask, at)
        elif letter in _CLOSING or letter == ";" or _ends_line(mask, at):
            return at
        at += 1
    return len(mask)


def _ends_line(mask: str, at: int) -> bool:
    # A bounded look: the whole rest at each line end would take quadratic time in a file of empty
    # lines.
    return mask[at] == "\n" and not mask[at : at + 400].lstrip().startswith(".")


def line_of(source: str, at: int) -> int:
    """The line number of a place, from 1."""
    return source.count("\n", 0, at) + 1


def squeeze_code(code: str, tokens: re.Pattern[str] | None = None) -> str:
    """Code with single spaces, its comments taken out; strings stay as they are."""
    if tokens:
        code = tokens.sub(lambda match: "" if match[0].startswith(("//", "/*")) else match[0], code)
    return _SPACE.sub(" ", code).strip()


def string_at(source: str, at: int, tokens: re.Pattern[str]) -> str:
    """The content of the string that begins at `at`, blanks skipped; empty where none does."""
    blank = re.compile(r"\s*").match(source, at)
    match = tokens.match(source, blank.end() if blank else at)
    return match[0][1:-1] if match and match[0][0] in "\"'`" else ""


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
        kind, said = match.lastgroup, match[0]
        if kind == "comment":
            continue
        depth += (kind == "open") - (kind == "close")
        if kind != "line":
            words.append(said)
        ended = kind == "end" or (kind == "close" and said == "}")
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
