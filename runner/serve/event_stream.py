"""The journal as a stream of server-sent events, which goes on behind the last id that was heard.

Ids are `JOURNAL:SEQ`, the journal named by its first record: so a journal that was begun anew is
told from the one that was followed. Format: html.spec.whatwg.org, 9.2 Server-sent events.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from runner.errors import RunnerError
from runner.journal.codec import encode
from runner.journal.read_journal import Place, read_places

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

_POLL = 0.3
_HEARTBEAT = 15.0
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

    def __init__(self, path: Path, last: str) -> None:
        self._path = path
        self._asked, self._after = parse_id(last)
        self._place = Place()
        self._size = -1
        self._journal = ""

    def read(self) -> list[str]:
        """What came since, as events; at most some hundred at a time. Empty where nothing did."""
        try:
            size = self._path.stat().st_size
        except FileNotFoundError:
            size = 0
        if size == self._size:
            return []
        if size < self._place.offset:
            self._place, self._journal, self._after = Place(), "", 0
        found: list[str] = []
        for record, place in read_places(self._path, self._place):
            if not self._journal:
                self._journal = record.id
                if self._asked not in ("", record.id):
                    self._after = 0  # another journal stands there now
            self._place = place
            if record.seq <= self._after:
                continue
            data = encode(record).decode("utf-8", "replace").rstrip("\n")
            found.append(f"id: {self._journal}:{record.seq}\nevent: record\ndata: {data}\n\n")
            if len(found) >= _AT_ONCE:
                return found
        self._size = size
        return found


async def follow_events(tail: Tail, is_over: Callable[[], bool]) -> AsyncIterator[str]:
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
