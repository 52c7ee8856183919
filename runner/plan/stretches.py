"""Plain sections in a row, kept together: known again by their very bytes, without a scan.

What is kept of a stretch stands by columns, each once where it is the same for all: most of a long
plan's tasks are alike, and columns are written and read many values at a time.
"""

from __future__ import annotations

import hashlib
import json
import sys
from itertools import accumulate, compress, repeat
from operator import add
from typing import TYPE_CHECKING, Any

from runner.model import Status
from runner.model.columns import new_tuple, read_each, write_once
from runner.plan.outline import SHA256, Found, OutlineTask, head_of
from runner.plan.status import StatusSpan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from runner.model import Spec

_LEAST, _MOST = 8, 512
"""Sections that a stretch has at least, since fewer are scanned as quickly, and at most."""
_COLONS = 2
_STATUSES = {str(status): status for status in Status}


class Stretches:
    """Plain sections in a row, kept by their very bytes and the line that ends the last of them.

    That line is all that a plain section's end is known by (`scanner`), so where bytes and line
    are the same, so are the sections. A row's key names the digest, the CRC of the first line,
    by which a stretch that moved is found again, and the bytes.
    """

    def __init__(
        self, data: bytes, rows: Iterable[tuple[str, bytes]], digests: Callable[[int], Spec]
    ) -> None:
        self.digests = digests
        self.rows: list[tuple[str, bytes]] = []
        """Those of this file, in its order, as they are to be kept."""
        self._data, self._view = data, memoryview(data)
        self._known = [row for row in rows if row[0].count(":") == _COLONS]
        self._by_head: dict[str, list[int]] = {}
        for index, (key, _) in enumerate(self._known):
            self._by_head.setdefault(key.split(":")[1], []).append(index)
        self._expected = 0
        self._pending: list[Found] = []

    @property
    def differ(self) -> bool:
        """Whether other rows are to be kept than were."""
        return self.rows != self._known

    def take(self, offset: int, line: int) -> Sequence[Found]:
        """The sections of a kept stretch that begins at a byte; none where there is none."""
        for index in self._candidates(offset) if self._known else ():
            key, text = self._known[index]
            digest, _, size = key.split(":")
            end = offset + int(size) if size.isdecimal() else 0
            if not offset < end <= len(self._data) or digest != self._digest(offset, end):
                continue
            try:
                found = list(_decode(json.loads(text), offset, line, self.digests))
            except (TypeError, ValueError, KeyError, IndexError, AttributeError):
                continue
            if found and found[-1].end == end:
                self.part()
                self.rows.append((key, text))
                self._expected = index + 1
                return found
        return ()

    def note(self, found: Found) -> None:
        """A plain section that was scanned."""
        pending = self._pending
        pending.append(found)
        if len(pending) == _MOST:
            self.part()

    def part(self) -> None:
        """What stands behind is no plain section that is not kept yet."""
        pending = self._pending
        if len(pending) >= _LEAST:
            start, end = pending[0].start, pending[-1].end
            digest, head = self._digest(start, end), head_of(self._data, start)
            text = json.dumps(_encode(pending), separators=(",", ":")).encode()
            self.rows.append((f"{digest}:{head}:{end - start}", text))
        pending.clear()

    def _candidates(self, offset: int) -> Iterator[int]:
        places = self._by_head.get(str(head_of(self._data, offset)), ())
        if self._expected in places:
            yield self._expected
        yield from places[:8]

    def _digest(self, start: int, end: int) -> str:
        line_end = self._data.find(b"\n", end) + 1 or len(self._data)
        return hashlib.sha256(self._view[start:line_end]).hexdigest()


def tell_digests(found: Found) -> Found:
    """The same section, whose task says its digests itself."""
    if not found.tasks or isinstance(found.tasks[0].digests, str):
        return found
    task = found.tasks[0]
    spec = task.spec
    both = spec.what.removeprefix(SHA256) + spec.proof.removeprefix(SHA256)
    return found._replace(tasks=(task._replace(digests=both),))


def _encode(sections: Sequence[Found]) -> list[object]:
    """The columns of sections; places count from the first byte of each."""
    _, starts, ends, _, lines, levels, titles, tasks = zip(*sections, strict=True)
    sizes = [end - start for start, end in zip(starts, ends, strict=True)]
    counts = list(map(len, tasks))
    own = [sizes, lines, levels, titles, counts]
    if not any(counts):
        return [len(sections), *map(write_once, own)]
    lights = [light for each in tasks for light in each]
    ids, named, _, statuses, notes, kinds, needs, outputs, spans, digests = zip(
        *lights, strict=True
    )
    firsts = (start for start, count in zip(starts, counts, strict=True) if count)
    begins, behinds, befores, afters = zip(*spans, strict=True)
    places = [begin - first for begin, first in zip(begins, firsts, strict=True)]
    lengths = [behind - begin for behind, begin in zip(behinds, begins, strict=True)]
    known = [one if isinstance(one, str) else "" for one in digests]
    own += [ids, named, statuses, notes, kinds, needs, outputs, places, lengths, befores, afters]
    return [len(sections), *map(write_once, [*own, known])]


def _decode(
    columns: Sequence[Any], offset: int, line: int, digests: Callable[[int], Spec]
) -> Iterator[Found]:
    """The sections of columns, the first at byte `offset` on `line`.

    Raises ValueError, TypeError, KeyError, IndexError or AttributeError for odd ones.
    """
    count, *own = columns[:6]
    sizes, lines, levels, titles, counts = (read_each(column, count, _MOST) for column in own)
    starts = list(accumulate(sizes, initial=offset))
    firsts = list(accumulate(lines, initial=line))
    places = list(compress(zip(starts, firsts, strict=True), counts))
    lights = _decode_tasks(columns[6:], places, digests) if places else iter(())
    tasks = (
        zip(lights)
        if len(places) == count
        else (next(zip(lights)) if one else () for one in counts)
    )
    values = (starts[:-1], starts[1:], firsts[:-1], lines, levels, titles, tasks)
    return map(new_tuple, repeat(Found), zip(repeat(None, count), *values, strict=True))


def _decode_tasks(
    columns: Sequence[Any], places: Sequence[tuple[int, int]], digests: Callable[[int], Spec]
) -> Iterator[OutlineTask]:
    """The tasks of the sections that have one, by byte and line at which each of these begins."""
    starts, firsts = zip(*places, strict=True)
    ids, titles, statuses, notes, kinds, needs, outputs, offsets, lengths, befores, afters, sums = (
        read_each(column, len(starts), _MOST) for column in columns
    )
    begins = list(map(add, starts, offsets))
    spans = zip(begins, map(add, begins, lengths), befores, afters, strict=True)
    named = (map(sys.intern, ids), titles, firsts, map(_STATUSES.__getitem__, statuses))
    # one text of an id, wherever the plan names it
    waits = (tuple(map(sys.intern, some)) for some in needs)
    placed = (map(new_tuple, repeat(StatusSpan), spans), (one or digests for one in sums))
    lights = zip(*named, notes, kinds, waits, map(tuple, outputs), *placed, strict=True)
    return map(new_tuple, repeat(OutlineTask), lights)
