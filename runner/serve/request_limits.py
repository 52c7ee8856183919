"""How many requests are in work at once, for each session and for all clients without one.

Bodies, answers and event streams are counted apart: whoever fills one kind can still open pages.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import asynccontextmanager, contextmanager, nullcontext
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from contextlib import AbstractContextManager

BODY_SECONDS = 10.0
"""A body is complete after so long."""
MOST_STREAMS = 400
"""Event streams of all sessions."""


class RequestKind(Enum):
    """What a request occupies."""

    BODY = "body"
    WORK = "work"
    STREAM = "stream"


MOST_OF_SESSION = {RequestKind.BODY: 32, RequestKind.WORK: 32, RequestKind.STREAM: 16}
MOST_WITHOUT_SESSION = 16
"""Bodies, and answers, of all clients without a session together."""


class FullError(Exception):
    """No place is free."""


class RequestLimits:
    """The requests of one server; `owner` is a session or token, empty for all clients without."""

    def __init__(self) -> None:
        self._taken: Counter[tuple[RequestKind, str]] = Counter()
        self._bodies: dict[asyncio.Timeout, None] = {}
        """Of clients without a session, the oldest first."""

    def has_room(self, kind: RequestKind, owner: str) -> bool:
        """Return whether one more request may begin."""
        if kind is RequestKind.BODY and not owner:
            return True  # the oldest ends
        if kind is RequestKind.STREAM:
            streams = sum(count for (one, _), count in self._taken.items() if one is kind)
            if streams >= MOST_STREAMS:
                return False
        most = MOST_OF_SESSION[kind] if owner else MOST_WITHOUT_SESSION
        return self._taken[kind, owner] < most

    def take(self, kind: RequestKind, owner: str) -> AbstractContextManager[None]:
        """Occupy a place. Raises FullError, before the context is entered."""
        if not self.has_room(kind, owner):
            raise FullError
        return self._hold(kind, owner)

    @contextmanager
    def _hold(self, kind: RequestKind, owner: str) -> Iterator[None]:
        self._taken[kind, owner] += 1
        try:
            yield
        finally:
            self._taken[kind, owner] -= 1
            if not self._taken[kind, owner]:
                del self._taken[kind, owner]

    @asynccontextmanager
    async def await_body(self, owner: str) -> AsyncIterator[None]:
        """Bound the time in which a body comes. Raises FullError, and TimeoutError at its end."""
        place = self.take(RequestKind.BODY, owner) if owner else nullcontext()
        async with asyncio.timeout(BODY_SECONDS) as limit:
            if not owner:
                self._end_oldest()
                self._bodies[limit] = None
            try:
                with place:
                    yield
            finally:
                self._bodies.pop(limit, None)

    def _end_oldest(self) -> None:
        """Make room for one more body of a client without a session."""
        while len(self._bodies) >= MOST_WITHOUT_SESSION:
            oldest = next(iter(self._bodies))
            del self._bodies[oldest]
            if not oldest.expired():
                oldest.reschedule(0)
