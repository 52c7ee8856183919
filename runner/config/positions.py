"""Lines of TOML keys, which tomllib does not tell: found by reading headers and keys again.

Good for pointing at a place, not for deciding anything: a key that is not found has line 0.
"""

from __future__ import annotations

import re
from collections import Counter

_KEY = r"""(?:[A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*')"""
_DOTTED = rf"{_KEY}(?:[ \t]*\.[ \t]*{_KEY})*"
_HEADER = re.compile(rf"^[ \t]*\[\[?[ \t]*({_DOTTED})[ \t]*\]")
_PAIR = re.compile(rf"^[ \t]*({_DOTTED})[ \t]*=(.*)")
_ONE_KEY = re.compile(_KEY)


def line_of(text: str, path: tuple[str, ...]) -> int:
    """The line, from 1, where the key at `path` is written, or the nearest table above it; 0.

    Tables of a list (`[[permission]]`) are told apart by their place in it, from 0.
    """
    best, depth = 0, 0
    table: tuple[str, ...] = ()
    seen: Counter[tuple[str, ...]] = Counter()
    for number, line in _lines_of_code(text):
        if header := _HEADER.match(line):
            table = _parts(header[1])
            if line.lstrip().startswith("[["):
                seen[table] += 1
                table = (*table, str(seen[table] - 1))
            found = table
        elif pair := _PAIR.match(line):
            found = table + _parts(pair[1])
        else:
            continue
        shared = found[: len(path)] == path or path[: len(found)] == found
        if shared and min(len(found), len(path)) > depth:
            best, depth = number, min(len(found), len(path))
    return best


def _lines_of_code(text: str) -> list[tuple[int, str]]:
    """Numbered lines, without those inside a string of several lines."""
    kept: list[tuple[int, str]] = []
    inside = ""
    for number, line in enumerate(text.splitlines(), 1):
        if not inside:
            kept.append((number, line))
        inside = _still_inside(line, inside)
    return kept


def _still_inside(line: str, inside: str) -> str:
    """The quotes that are open at the end of `line`, when `inside` were open before it."""
    for quotes in re.findall(r'"""|\'\'\'', line):
        if not inside:
            inside = quotes
        elif inside == quotes:
            inside = ""
    return inside


def _parts(dotted: str) -> tuple[str, ...]:
    return tuple(part.strip("\"'") for part in _ONE_KEY.findall(dotted))
