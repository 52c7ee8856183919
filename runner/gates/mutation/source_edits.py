"""Places of a source changed at once: code around expressions, and code in place of other code."""

from __future__ import annotations

from itertools import groupby
from typing import NamedTuple


class Wrap(NamedTuple):
    """Code around an expression."""

    start: int
    end: int
    before: bytes
    after: bytes


class Edit(NamedTuple):
    """Other code in the place of some."""

    start: int
    end: int
    text: str


def compose(content: bytes, wraps: list[Wrap]) -> bytes:
    """The bytes with code around expressions, which may stand inside of each other."""
    # At one place: what ends comes before what begins; outer ones begin first and end last.
    marks = [(one.start, 1, -one.end, one.before) for one in wraps]
    marks += [(one.end, 0, -one.start, one.after) for one in wraps]
    parts, at = [], 0
    for place, texts in groupby(sorted(marks), key=lambda one: one[0]):
        parts += [content[at:place], *(text for *_, text in texts)]
        at = place
    return b"".join([*parts, content[at:]])


def inside_out(text: str, edits: list[Edit]) -> str:
    """The text with each place changed; of places inside of each other the inner one first."""
    found = sorted(edits, key=lambda one: (one.end - one.start, one.start))
    left: list[Edit] = []
    for one in found:
        if not any(a.start < one.end and one.start < a.end for a in left):
            left.append(one)  # a place around another one stays as it is
    for one in sorted(left, key=lambda one: -one.start):
        text = text[: one.start] + one.text + text[one.end :]
    return text
