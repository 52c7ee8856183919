"""How much a model may say: bytes on the wire, of an answer, and of a call's arguments.

A provider, or whatever answers in its name, is a stranger: without bounds, one answer takes all
memory, and whoever wants the run ended waits until it is read.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import httpx2
from pydantic_ai.messages import PartDeltaEvent, PartStartEvent

from runner.model import Finding

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from pydantic_ai.messages import AgentStreamEvent

CHECK = "budget"
_MEGABYTE = 1 << 20
WIRE = 64 * _MEGABYTE
"""Bytes of one response: 128,000 tokens, each in an event of its own, take about 40 MB."""
ANSWER = 8 * _MEGABYTE
ARGUMENT = 4 * _MEGABYTE
"""Characters of one call's arguments: a file that a model wrote whole is smaller."""


@dataclass(slots=True)
class AnswerBounds:
    """Counts one answer while it comes; `end` is called with what was too much, and raises."""

    end: Callable[[Finding], None]
    _whole: int = 0
    _part: int = 0

    def count(self, event: AgentStreamEvent) -> None:
        """Take account of one more piece of the answer."""
        if isinstance(event, PartStartEvent):
            self._part = 0
            size = _size(event.part)
        elif isinstance(event, PartDeltaEvent):
            size = _size(event.delta)
        else:
            return
        self._part += size
        self._whole += size
        if self._part > ARGUMENT:
            self.end(_too_much("one part of the model's answer", ARGUMENT))
        if self._whole > ANSWER:
            self.end(_too_much("one answer of the model", ANSWER))


def _size(part: object) -> int:
    """Characters of a part or of what is added to one, in whichever of the fields it stands."""
    names = ("content", "args", "content_delta", "args_delta", "tool_name_delta")
    return sum(_length(getattr(part, name, None)) for name in names)


def _length(value: object) -> int:
    if value is None:
        return 0
    return len(value) if isinstance(value, str) else len(json.dumps(value, default=str))


def _too_much(what: str, most: int) -> Finding:
    return Finding(
        CHECK,
        f"{what} was longer than {most // _MEGABYTE} MB",
        hint="ask for less in one task, or name another model",
    )


async def limit_response(response: httpx2.Response, end: Callable[[Finding], None]) -> None:
    """Have the body of a response counted while it is read."""
    if isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = _Counted(response.stream, end)


class _Counted(httpx2.AsyncByteStream):
    """A body that ends the session where it does not end itself."""

    def __init__(self, inner: httpx2.AsyncByteStream, end: Callable[[Finding], None]) -> None:
        self._inner = inner
        self._end = end

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._inner:
            size += len(chunk)
            if size > WIRE:
                self._end(_too_much("one response of the model's server", WIRE))
            yield chunk

    async def aclose(self) -> None:
        """Give the connection back."""
        await self._inner.aclose()
