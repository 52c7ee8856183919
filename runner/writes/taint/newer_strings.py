"""Source of Python 3.12 read on an older one: string literals nested in f-strings (PEP 701).

Each of them is replaced by an empty tuple of the same length, so that lines and columns stay what
they are. What the text means changes, so nothing but a scan may read it.
"""

from __future__ import annotations

import re

_STRING = re.compile(r"(?i)(?<![\w])(rf|fr|f|rb|br|b|u|r)?('''|\"\"\"|'|\")")


def readable(source: str) -> str:
    """The source with what an older parser refuses in f-strings taken out; linear in its size."""
    parts: list[str] = []
    at = 0
    while match := _next(source, at):
        start, body = match.start(), match.end()
        parts.append(source[at:body])
        quote = match[2]
        if source[start] == "#":
            at = body
            continue
        is_format = "f" in (match[1] or "").lower()
        text, at = _literal(source, body, quote, is_format=is_format)
        parts.append(text)
    parts.append(source[at:])
    return "".join(parts)


_TOKEN = re.compile(r"#[^\n]*|" + _STRING.pattern.replace("(?i)", ""), re.IGNORECASE)


def _next(source: str, at: int) -> re.Match[str] | None:
    return _TOKEN.search(source, at)


def _literal(source: str, at: int, quote: str, *, is_format: bool) -> tuple[str, int]:
    """The rest of a literal that began before `at`, and where it ends."""
    parts: list[str] = []
    while at < len(source):
        if source.startswith(quote, at):
            return "".join(parts) + quote, at + len(quote)
        letter = source[at]
        if letter == "\\" or source[at : at + 2] in ("{{", "}}"):
            parts.append(source[at : at + 2])
            at += 2
        elif is_format and letter == "{":
            text, at = _field(source, at + 1)
            parts.append("{" + text)
        elif letter == "\n" and len(quote) == 1:
            return "".join(parts), at  # unfinished: the parser says so
        else:
            parts.append(letter)
            at += 1
    return "".join(parts), at


def _field(source: str, at: int) -> tuple[str, int]:
    """A replacement field up to its brace, its own literals turned into tuples."""
    parts: list[str] = []
    depth = 0
    while at < len(source):
        match = _STRING.match(source, at)
        if match:
            is_format = "f" in (match[1] or "").lower()
            _, end = _literal(source, match.end(), match[2], is_format=is_format)
            parts.append("(" + " " * (end - at - 2) + ")")
            at = end
            continue
        letter = source[at]
        depth += letter in "([{"
        depth -= letter in ")]}"
        parts.append(letter)
        at += 1
        if depth < 0 or letter == "\n":
            break
    return "".join(parts), at
