"""Rows that a loop makes tests of: `rows.forEach((row) => it(row.name, …))`, `for (const … of …)`.

Only rows that are written out where the loop begins, and a loop that does nothing beside: then
each of its tests is there once for every row.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import TYPE_CHECKING, TypeAlias

from runner.languages.brace_assertions import arguments
from runner.languages.c_like_lexer import mask_literals
from runner.languages.javascript import LITERALS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    Row: TypeAlias = Mapping[str, str]
    """What stands for what in one turn of a loop: `row[0]` and `row.name`, or a name alone."""
    Place: TypeAlias = tuple[int, int]

_EACH = re.compile(
    r"\]\s*\.\s*forEach\s*\(\s*(?:function\b[ ]*\w*[ ]*\((?P<old>[^()]*)\)|\((?P<new>[^()]*)\)\s*=>"
    r"|(?P<one>[\w$]+)\s*=>)\s*\{"
)
_OF = re.compile(
    r"\bfor\s*\(\s*(?:const|let|var)\s+(?P<given>\{[^{}]*\}|\[[^\[\]]*\]|[\w$]+)\s+of\s*\["
)
_INDEXED = re.compile(r"[\w$)\]]\s*\Z")
_BODY = re.compile(r"\s*\)\s*\{")
_LOOK_BACK = 100
_LONGEST = 10_000
_OPENING = {")": "(", "]": "[", "}": "{"}
_BRACKET = re.compile(r"[()\[\]{}]")
_NAME = re.compile(r"[A-Za-z_$][\w$]*")
_PROPERTY = re.compile(r"(?:[A-Za-z_$][\w$]*|'[\w$]+'|\"[\w$]+\")\s*:\s*(?=\S)")


def rows_around(source: str, mask: str, tests: Sequence[Place]) -> dict[Place, tuple[Row, ...]]:
    """Of each test that stands in such a loop, what its names stand for in every turn.

    `tests` are the places of all calls that make a test or a group of them.
    """
    found: dict[Place, tuple[Row, ...]] = {}
    places = sorted(tests)
    for begin, end, given, opening in _loops(mask):
        outer = _outermost(places, begin, end)
        if not outer or _rest(mask, (begin, end), outer):
            continue
        rows = [_row(given, row) for row in arguments(source, mask, opening)]
        if rows and all(rows):
            found |= {one: tuple(row for row in rows if row) for one in outer}
    return found


def _outermost(places: Sequence[Place], begin: int, end: int) -> list[Place]:
    """The places between two others that are in none of them."""
    found: list[Place] = []
    for at in range(bisect_left(places, (begin, 0)), len(places)):
        if places[at][1] > end:
            break
        if not found or places[at][0] > found[-1][1]:
            found.append(places[at])
    return found


def put_in(text: str, row: Row) -> str:
    """The text with what a row has in the place of names, where these are no part of a string."""
    mask = mask_literals(text, LITERALS)
    names = sorted(row, key=len, reverse=True)
    words = "|".join(rf"{re.escape(name)}(?![\w$])" for name in names)
    found = list(re.finditer(rf"(?<![\w$.])(?:{words})", mask))
    if len(text) + sum(len(row[match[0]]) for match in found) > _LONGEST:
        return text  # it is no claim that a test of before spells out
    for match in reversed(found):
        text = text[: match.start()] + row[match[0]] + text[match.end() :]
    return text


def _rest(mask: str, body: Place, tests: Sequence[Place]) -> str:
    """What a loop does besides making tests."""
    at, said = body[0], ""
    for begin, end in sorted(tests):
        said += mask[at:begin]
        at = end + 1
    return (said + mask[at : body[1]]).strip("; \n\t\r")


def _loops(mask: str) -> Iterator[tuple[int, int, str, int]]:
    """Where the body of each loop begins and ends, its names, and where its rows are listed."""
    heads = [*_EACH.finditer(mask), *_OF.finditer(mask)]
    pairs = _pair_brackets(mask) if heads else {}
    for head in heads:
        if head.re is _EACH:
            opening = pairs.get(head.start(), -1)
            body: re.Match[str] | None = head
            given = head["old"] or head["new"] or head["one"] or ""
            if _INDEXED.search(mask[max(0, opening - _LOOK_BACK) : max(0, opening)]):
                continue
        else:
            opening, given = head.end() - 1, head["given"]
            closing = pairs.get(opening, -1)
            body = _BODY.match(mask, closing + 1) if closing >= 0 else None
        if body and opening >= 0 and body.end() - 1 in pairs:
            yield body.end(), pairs[body.end() - 1], given.strip(), opening


def _pair_brackets(mask: str) -> dict[int, int]:
    """Of every bracket that has another, where that one stands: read once, whatever is in it."""
    pairs: dict[int, int] = {}
    opened: list[int] = []
    for match in _BRACKET.finditer(mask):
        if match[0] in "([{":
            opened.append(match.start())
        elif opened and mask[opened[-1]] == _OPENING[match[0]]:
            pairs[match.start()] = opened.pop()
            pairs[pairs[match.start()]] = match.start()
        else:
            return pairs  # it is no code that can be read
    return pairs


def _row(given: str, row: str) -> dict[str, str]:
    """What each name stands for in one row; empty where that is not written out."""
    values = _values(row)
    if given.startswith(("[", "{")):
        names = [name.strip() for name in given[1:-1].split(",") if name.strip()]
        places = [f"[{at}]" for at in range(len(names))] if given[0] == "[" else names
        keys = [place if given[0] == "[" else f".{place}" for place in places]
        plain = all(_NAME.fullmatch(name) for name in names)
        fits = plain and all(key in values for key in keys)
        return dict(zip(names, (values[key] for key in keys), strict=True)) if fits else {}
    if not _NAME.fullmatch(given) or not values:
        return {}
    return {f"{given}{place}": value for place, value in values.items()}


def _values(row: str) -> dict[str, str]:
    """What a row holds, by how it is asked for: `[0]`, `.name`, and nothing for a plain value."""
    mask = mask_literals(row, LITERALS)
    if "..." in mask:
        return {}
    if row.startswith("["):
        return {f"[{at}]": one for at, one in enumerate(arguments(row, mask, 0))}
    if not row.startswith("{"):
        return {"": row}
    found = {}
    for one in arguments(row, mask, 0):
        named = _PROPERTY.match(one)
        if named is None:
            return {}
        found[f".{named[0].partition(':')[0].strip().strip(chr(34) + chr(39))}"] = one[
            named.end() :
        ]
    return found
