"""The last bytes of a stream, and how they are redacted where the ones before them are gone."""

from __future__ import annotations

import re
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

LEAD = (1 << 17) + (1 << 13)
"""Bytes that are read before the first one that is shown: more than the longest private key that
is swallowed (64 kB) with an unfinished line before it (64 kB)."""
_BLOCK = 65536
_TOKEN = re.compile(rb"[A-Za-z0-9+/=_.~-]*+")


class TailBuffer:
    """The last bytes of a stream, in blocks: many tiny writes must not cost many objects."""

    def __init__(self, room: int) -> None:
        self.lost = 0
        self._room = room
        self.held = 0
        """Bytes that are there."""
        self._blocks: deque[bytearray] = deque()

    def add(self, chunk: bytes) -> None:
        """Add to the end; whole blocks that no longer fit are lost at the beginning."""
        if not self._blocks or len(self._blocks[-1]) >= _BLOCK:
            self._blocks.append(bytearray())
        self._blocks[-1] += chunk
        self.held += len(chunk)
        while self.held - len(self._blocks[0]) > self._room:
            self._lose(len(self._blocks.popleft()))

    def trim(self) -> deque[bytearray]:
        """The blocks that are left when exactly what fits is kept."""
        surplus = max(0, self.held - self._room)
        if surplus:
            del self._blocks[0][:surplus]
            self._lose(surplus)
        return self._blocks

    def _lose(self, count: int) -> None:
        self.lost += count
        self.held -= count

    def leave_out(self, count: int) -> None:
        """Lose all that is held, and `count` bytes that never came here."""
        self.lost += self.held + count
        self.held = 0
        self._blocks.clear()

    def end(self, count: int) -> bytes:
        """The last bytes, as many as there are up to `count`."""
        found: list[bytearray] = []
        held = 0
        for block in reversed(self._blocks):
            found.append(block)
            held += len(block)
            if held >= count:
                break
        return b"".join(reversed(found))[-count:]


def redact_end(window: bytes, shown: int, known: Collection[str], *, whole: bool) -> bytes:
    """The last `shown` bytes of a window, redacted by what stands before them in it.

    What the window begins in the middle of may be the rest of a key: it is dropped up to the
    first byte that belongs to none. `whole` says that nothing follows the window; otherwise its
    last line, if it is unfinished, is left out.
    """
    from runner.secrets.redact import StreamRedactor

    begin = _TOKEN.match(window)
    start = begin.end() if begin else 0
    first = max(start, len(window) - shown)
    redactor = StreamRedactor(known)
    redactor.feed(window[start:first])
    clean = redactor.feed(window[first:])
    return clean + redactor.finish() if whole else clean
