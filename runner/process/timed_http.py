"""Openers for urllib with a timeout for the whole response.

A socket's timeout is for one read: a server that sends a byte a second would never time out.
"""

from __future__ import annotations

import io
import time
from http.client import HTTPConnection, HTTPResponse, HTTPSConnection
from typing import TYPE_CHECKING, Any
from urllib.request import HTTPHandler, HTTPSHandler, build_opener

if TYPE_CHECKING:
    from socket import socket
    from urllib.request import BaseHandler, OpenerDirector, Request

SECONDS = 120.0
"""Seconds for a response from its first byte to its last."""


def open_timed(*handlers: BaseHandler | type[BaseHandler]) -> OpenerDirector:
    """Return an opener whose requests raise TimeoutError after their `SECONDS`."""
    return build_opener(*handlers, _PlainHandler, _TlsHandler)


class _Reading(io.RawIOBase):
    """A socket's file that is read until a moment, and no longer."""

    def __init__(self, held: socket, raw: io.RawIOBase) -> None:
        self._held, self._raw = held, raw
        self._until, self._each = time.monotonic() + SECONDS, held.gettimeout()

    def readable(self) -> bool:
        """Return True, as readers of the stream require."""
        return True

    def readinto(self, buffer: Any) -> int | None:  # Any: as typeshed has it below `io`
        """Read into the buffer. Raises TimeoutError after the total timeout."""
        try:
            return self._read_some(buffer)
        except TimeoutError:
            if time.monotonic() < self._until:
                raise
            raise TimeoutError(f"no complete response within {SECONDS:g} s") from None

    def _read_some(self, buffer: Any) -> int | None:
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._held.settimeout(left if self._each is None else min(left, self._each))
        return self._raw.readinto(buffer)

    def close(self) -> None:
        """Close the stream, and its socket unless it is used elsewhere (socket.makefile)."""
        self._raw.close()
        super().close()


class _Response(HTTPResponse):
    def __init__(self, sock: socket, *words: Any, **more: Any) -> None:  # Any: as it is called
        super().__init__(sock, *words, **more)
        self.fp = io.BufferedReader(_Reading(sock, self.fp.detach()))


class _PlainConnection(HTTPConnection):
    response_class = _Response


class _TlsConnection(HTTPSConnection):
    response_class = _Response


class _PlainHandler(HTTPHandler):
    def http_open(self, req: Request) -> HTTPResponse:
        return self.do_open(_PlainConnection, req)


class _TlsHandler(HTTPSHandler):
    def https_open(self, req: Request) -> HTTPResponse:
        return self.do_open(_TlsConnection, req)
