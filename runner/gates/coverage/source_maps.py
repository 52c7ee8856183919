"""Source maps: which line of a source stands at which offset of what a compiler made of it.

Revision 3 of the format (ECMA-426): `mappings` are segments in base 64, each number relative to the
one before. Node keeps the maps of what it ran beside the counts of V8, with sources resolved.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_VALUE = {letter: number for number, letter in enumerate(_DIGITS)}
_MORE, _BITS = 32, 5
_MOST_SEGMENTS = 2_000_000
_WITH_SOURCE = 4
"""Numbers of a segment that says where in which source it stands."""


class Segment(NamedTuple):
    """One place in what was compiled, and where it stands in which source."""

    offset: int
    source: int
    line: int
    """Counted from 1."""


class SourceMap(NamedTuple):
    """A map as far as lines need it."""

    sources: tuple[str, ...]
    texts: tuple[str | None, ...]
    """The sources as the compiler read them, where the map has them."""
    segments: tuple[Segment, ...]
    size: int
    """Code units of what was compiled."""


def read_map(said: object) -> SourceMap | None:
    """A map as Node keeps it in `source-map-cache`; None where there is none that can be read."""
    if not isinstance(said, dict) or not isinstance(data := said.get("data"), dict):
        return None
    try:
        lengths = [int(one) for one in said["lineLengths"]]
        sources = tuple(map(str, data["sources"]))
        texts = data.get("sourcesContent") or ()
        kept = tuple(one if isinstance(one, str) else None for one in texts)
        segments = tuple(_segments(str(data["mappings"]), lengths, len(sources)))
    except (KeyError, TypeError, ValueError, IndexError, OverflowError):
        return None
    size = sum(lengths) + max(0, len(lengths) - 1)
    texts = kept if len(kept) == len(sources) else (None,) * len(sources)
    return SourceMap(sources, texts, segments, size) if segments else None


def _segments(mappings: str, lengths: list[int], sources: int) -> Iterator[Segment]:
    starts = [0, *accumulate(length + 1 for length in lengths)]
    source = line = count = 0
    for row, text in enumerate(mappings.split(";")[: len(lengths)]):
        column = 0
        for part in filter(None, text.split(",")):
            count += 1
            if count > _MOST_SEGMENTS:
                raise ValueError("too many segments")
            numbers = _numbers(part)
            column += numbers[0]
            if len(numbers) < _WITH_SOURCE:
                continue
            source += numbers[1]
            line += numbers[2]
            if not (0 <= source < sources and line >= 0):
                raise ValueError("no such source")
            if 0 <= column <= lengths[row]:
                yield Segment(starts[row] + column, source, line + 1)


def _numbers(part: str) -> list[int]:
    """The numbers of one segment; the lowest bit of each is its sign."""
    found, value, shift = [], 0, 0
    for letter in part:
        digit = _VALUE[letter]
        value += (digit & (_MORE - 1)) << shift
        if digit & _MORE:
            shift += _BITS
            continue
        found.append(-(value >> 1) if value & 1 else value >> 1)
        value = shift = 0
    return found


def lines_of(known: SourceMap, painted: bytearray) -> dict[int, dict[int, bool]]:
    """By source: each line that the map names, and whether any of it ran."""
    found: dict[int, dict[int, bool]] = {}
    for one in known.segments:
        lines = found.setdefault(one.source, {})
        ran = one.offset < len(painted) and bool(painted[one.offset])
        lines[one.line] = lines.get(one.line, False) or ran
    return found
