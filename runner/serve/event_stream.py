"""The journal as a stream of server-sent events, which goes on behind the last id that was heard.

Ids are `JOURNAL:SEQ`, the journal named by its first record: so a journal that was begun anew is
told from the one that was followed. In a stream over several folders the others' places follow
behind commas, for a client sends only the last id when it comes back. Format:
html.spec.whatwg.org, 9.2 Server-sent events.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from runner.errors import RunnerError
from runner.journal.records import Place, encode, read_places

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping
    from pathlib import Path

_POLL = 0.3
_HEARTBEAT = 15.0
_MOST_JOURNALS = 100
_AT_ONCE = 500
"""Records that are read in one step."""


def parse_id(text: str) -> tuple[str, int]:
    """Journal and number of an id; a number alone, or nothing, has no journal."""
    journal, _, number = text.rpartition(":")
    # Last-Event-ID is anybody's word: `int` raises beyond 4,300 digits (CVE-2020-10735), and
    # `isdigit` is true for `²`.
    if len(number) > 18 or not number.isascii() or not number.isdigit():  # noqa: PLR2004
        return "", 0
    return journal, int(number)


class Tail:
    """One follower's place in one journal."""

    def __init__(self, path: Path, asked: Mapping[str, int]) -> None:
        self._path = path
        self._asked, self._after = asked, 0
        self._place = Place()
        self._size = -1
        self._journal = ""

    @classmethod
    def behind(cls, path: Path, last: str) -> Tail:
        """Behind the last id that was heard; from the beginning where that is of another one."""
        journal, number = parse_id(last)
        return cls(path, {journal: number})

    def read(self) -> list[str]:
        """What came since, as events; at most some hundred at a time. Empty where nothing did."""
        return [
            f"id: {place}\nevent: record\ndata: {data}\n\n" for place, data in self.read_pairs()
        ]

    def read_pairs(self) -> Iterator[tuple[str, str]]:
        """The same as pairs of an id and a record."""
        try:
            size = self._path.stat().st_size
        except FileNotFoundError:
            size = 0
        if size == self._size:
            return
        if size < self._place.offset:
            self._place, self._journal, self._after = Place(), "", 0
        told = 0
        for record, place in read_places(self._path, self._place):
            if not self._journal:
                self._journal = record.id
                # A number alone is of whatever journal stands there.
                self._after = self._asked.get(record.id, self._asked.get("", 0))
            self._place = place
            if record.seq <= self._after:
                continue
            data = encode(record).decode("utf-8", "replace").rstrip("\n")
            yield f"{self._journal}:{record.seq}", data
            told += 1
            if told >= _AT_ONCE:
                return
        self._size = size


class Tails:
    """One follower's places in the journals of several folders."""

    def __init__(self, paths: Mapping[str, Path], last: str) -> None:
        asked = dict(parse_id(one) for one in last.split(",")[:_MOST_JOURNALS])
        asked.pop("", None)
        self._reached = asked
        # A copy each, as `_reached` moves: what a journal was asked behind stays.
        self._tails = {name: Tail(path, dict(asked)) for name, path in paths.items()}

    def read(self) -> list[str]:
        """What came since in any of them, as events."""
        return [
            f'id: {places}\nevent: record\ndata: {{"build":"{name}","record":{data}}}\n\n'
            for name, places, data in self.read_rows()
        ]

    def read_rows(self) -> Iterator[tuple[str, str, str]]:
        """Folder, places and record: each says how far it is in all of them.

        A journal that is damaged ends there, and no other.
        """
        for name, tail in list(self._tails.items()):
            try:
                for place, data in tail.read_pairs():
                    yield name, self._reach(place), data
            except RunnerError:
                del self._tails[name]

    def _reach(self, place: str) -> str:
        journal, number = parse_id(place)
        self._reached.pop(journal, None)
        # Also of those that were not read yet: whoever is cut off here goes on there.
        places = ",".join([place, *(f"{one}:{at}" for one, at in self._reached.items())])
        self._reached[journal] = number
        return places


async def follow_events(tail: Tail | Tails, is_over: Callable[[], bool]) -> AsyncIterator[str]:
    """What is there and what comes, until `is_over`; a comment where nothing does for long."""
    yield "retry: 1000\n\n"
    quiet = 0.0
    while not is_over():
        try:
            events = await asyncio.to_thread(tail.read)
        except RunnerError as error:
            # One line: a line end within would begin a field of its own (HTML, 9.2.6).
            yield f"event: damage\ndata: {error.message.splitlines()[0]}\n\n"
            return
        if events:
            quiet = 0.0
            yield "".join(events)
            continue
        await asyncio.sleep(_POLL)
        quiet += _POLL
        if quiet >= _HEARTBEAT:
            quiet = 0.0
            # A comment, which clients pass over; some proxies cut a silent connection (HTML,
            # 9.2.7 has one sent every 15 seconds or so).
            yield ": still here\n\n"
