"""Source of languages with braces, cut by a small tokenizer: strings and comments do not count."""

from __future__ import annotations

import re

_PLAIN = (
    r"//[^\n]*|/\*.*?(?:\*/|\Z)"
    r'|"(?:\\.|[^"\\\n])*"?'
)
JAVASCRIPT = re.compile(_PLAIN + r"|'(?:\\.|[^'\\\n])*'?|`(?:\\.|[^`\\])*`?", re.DOTALL)
GO = re.compile(_PLAIN + r"|'(?:\\.|[^'\\\n])+'|`[^`]*`?", re.DOTALL)
RUST = re.compile(
    r'//[^\n]*|/\*.*?(?:\*/|\Z)|r#"(?:.*?)"#|"(?:\\.|[^"\\])*"?' r"|'(?:\\.|[^'\\\n])'", re.DOTALL
)
_PAIRS = {"(": ")", "[": "]", "{": "}"}
_CLOSING = frozenset(_PAIRS.values())
_SPACE = re.compile(r"\s+")


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
