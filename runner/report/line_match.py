"""Match the lines of two texts, in bounded time also for hostile input.

Patience matching (B. Cohen, 2004): lines that stand once in both texts are anchors, and the gaps
between them are matched the same way. A gap without anchors is given to difflib when it is small;
a large one counts as replaced whole, because difflib is quadratic in lines that repeat.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    Lines: TypeAlias = Sequence[str]

_SMALL = 20_000
"""Maximum pairs of equal lines in a gap for difflib."""
_DEEPEST = 32
"""Maximum splits of a gap at anchors; lines becoming unique one by one would never end."""
_CONTEXT = 3

Kind: TypeAlias = Literal["equal", "replace"]


class LineMatch(NamedTuple):
    """Lines `i1:i2` of the old text against `j1:j2` of the new one; either may be empty."""

    kind: Kind
    i1: int
    i2: int
    j1: int
    j2: int


class _Gap(NamedTuple):
    i1: int
    i2: int
    j1: int
    j2: int
    depth: int = 0


def stretches(old: Lines, new: Lines) -> list[LineMatch]:
    """Return alternating equal and replaced sections of both texts."""
    found: list[LineMatch] = []
    i = j = 0
    for first, second, size in _blocks(old, new):
        if i < first or j < second:
            found.append(LineMatch("replace", i, first, j, second))
        if size:
            found.append(LineMatch("equal", first, first + size, second, second + size))
        i, j = first + size, second + size
    return found


def hunks(found: Sequence[LineMatch], context: int = _CONTEXT) -> Iterator[list[LineMatch]]:
    """Yield the changes as hunks with `context` equal lines around them."""
    hunk: list[LineMatch] = []
    for place, one in enumerate(found):
        if one.kind == "replace":
            hunk.append(one)
            continue
        size = one.i2 - one.i1
        last = place == len(found) - 1
        if hunk and not last and size <= 2 * context:
            hunk.append(one)
            continue
        if hunk:
            yield [*hunk, _first(one, context)]
        hunk = [] if last else [_last(one, context)]
    if any(one.kind == "replace" for one in hunk):
        yield hunk


def _first(one: LineMatch, size: int) -> LineMatch:
    return one._replace(i2=min(one.i2, one.i1 + size), j2=min(one.j2, one.j1 + size))


def _last(one: LineMatch, size: int) -> LineMatch:
    return one._replace(i1=max(one.i1, one.i2 - size), j1=max(one.j1, one.j2 - size))


# --- matching -------------------------------------------------------------------------


def _blocks(old: Lines, new: Lines) -> Iterator[tuple[int, int, int]]:
    """Yield merged blocks of equal lines in order, then an empty one at the end."""
    i = j = size = 0
    for first, second in sorted(_pairs(old, new)):
        if size and first == i + size and second == j + size:
            size += 1
            continue
        if size:
            yield i, j, size
        i, j, size = first, second, 1
    if size:
        yield i, j, size
    yield len(old), len(new), 0


def _pairs(old: Lines, new: Lines) -> Iterator[tuple[int, int]]:
    """Yield every unchanged old line with its new line."""
    gaps = [_Gap(0, len(old), 0, len(new))]
    while gaps:
        gap = gaps.pop()
        head, tail = _ends(old, new, gap)
        yield from ((gap.i1 + n, gap.j1 + n) for n in range(head))
        yield from ((gap.i2 - 1 - n, gap.j2 - 1 - n) for n in range(tail))
        inner = gap._replace(i1=gap.i1 + head, i2=gap.i2 - tail, j1=gap.j1 + head, j2=gap.j2 - tail)
        if inner.i1 == inner.i2 or inner.j1 == inner.j2:
            continue
        anchors = _anchors(old, new, inner) if gap.depth < _DEEPEST else []
        if anchors:
            gaps += _between(inner, anchors)
        else:
            yield from _by_difflib(old, new, inner)


def _ends(old: Lines, new: Lines, gap: _Gap) -> tuple[int, int]:
    """Return the number of equal lines at the start and the end of a gap."""
    most = min(gap.i2 - gap.i1, gap.j2 - gap.j1)
    head = 0
    while head < most and old[gap.i1 + head] == new[gap.j1 + head]:
        head += 1
    tail = 0
    while tail < most - head and old[gap.i2 - 1 - tail] == new[gap.j2 - 1 - tail]:
        tail += 1
    return head, tail


def _anchors(old: Lines, new: Lines, gap: _Gap) -> list[tuple[int, int]]:
    """Return the longest ascending series of lines that are unique in both halves of a gap."""
    olds, news = Counter(old[gap.i1 : gap.i2]), Counter(new[gap.j1 : gap.j2])
    where = {new[j]: j for j in range(gap.j1, gap.j2) if news[new[j]] == 1}
    pairs = [
        (i, where[old[i]]) for i in range(gap.i1, gap.i2) if olds[old[i]] == 1 and old[i] in where
    ]
    return _ascending(pairs)


def _ascending(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the longest subsequence with ascending second numbers (patience sorting)."""
    tops: list[int] = []
    ends: list[int] = []
    before: list[int] = []
    for place, (_, second) in enumerate(pairs):
        pile = bisect_left(tops, second)
        tops[pile : pile + 1] = [second]
        ends[pile : pile + 1] = [place]
        before.append(ends[pile - 1] if pile else -1)
    chosen: list[tuple[int, int]] = []
    place = ends[-1] if ends else -1
    while place >= 0:
        chosen.append(pairs[place])
        place = before[place]
    return chosen[::-1]


def _between(gap: _Gap, anchors: list[tuple[int, int]]) -> Iterator[_Gap]:
    """Yield the parts of a gap between its anchors, each starting at an anchor."""
    i, j = gap.i1, gap.j1
    for first, second in (*anchors, (gap.i2, gap.j2)):
        if (i, j) != (first, second):
            yield _Gap(i, first, j, second, gap.depth + 1)
        i, j = first, second


def _by_difflib(old: Lines, new: Lines, gap: _Gap) -> Iterator[tuple[int, int]]:
    olds, news = old[gap.i1 : gap.i2], new[gap.j1 : gap.j2]
    counts = Counter(news)
    if sum(counts[line] for line in olds) > _SMALL:
        return

    for i, j, size in SequenceMatcher(None, olds, news, autojunk=False).get_matching_blocks():
        yield from ((gap.i1 + i + n, gap.j1 + j + n) for n in range(size))
