"""Line numbers as compact ranges: `1-5,9`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def ranges_of(lines: Iterable[int]) -> str:
    """`{1, 2, 3, 9}` as `1-3,9`."""
    spans: list[list[int]] = []
    for line in sorted(set(lines)):
        if spans and line == spans[-1][1] + 1:
            spans[-1][1] = line
        else:
            spans.append([line, line])
    return ",".join(f"{start}-{end}" if end > start else f"{start}" for start, end in spans)


def spans_in(ranges: str) -> tuple[tuple[int, int], ...]:
    """First and last line of each range. Raises ValueError for what is none."""
    found = []
    for part in filter(None, ranges.split(",")):
        start, _, end = part.partition("-")
        found.append((int(start), int(end or start)))
    return tuple(found)
