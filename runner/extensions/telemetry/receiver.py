"""The interface of an event receiver, and the waiting time when one is unreachable.

`Poster` sends one POST request after the other to one address, with limits of time and bytes.

It never follows a redirect: a person named the address. It uses only status and Retry-After of a
response, and ignores proxies and netrc of the environment.
"""

from __future__ import annotations

import contextlib
import random
import socket
import ssl
import threading
import time
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

from runner import __version__
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from runner.extensions.telemetry.outbox import Outgoing

# --- the interface --------------------------------------------------------------------


MOST_BYTES = 512 << 10
"""Bytes of one message: a longer one is sent without its event's own fields."""
_FIRST, _LONGEST = 0.5, 300.0
_LONGEST_ASKED = 3600.0


class ReceiverDownError(Exception):
    """The receiver did not acknowledge: `acknowledged` of what it was sent, from the first on.

    Passed from a receiver to its delivery; never shown as an error of the runner.
    """

    def __init__(self, why: str, acknowledged: int = 0, wait: float = 0.0) -> None:
        super().__init__(why)
        self.why = why
        self.acknowledged = acknowledged
        self.wait = min(max(0.0, wait), _LONGEST_ASKED)
        """Seconds for which the receiver asked for no requests."""


class Receiver(Protocol):
    """One receiver."""

    name: str
    shown: str
    """Address in displayable form."""

    def send(self, messages: Sequence[Outgoing]) -> None:
        """Send messages in order and wait for each acknowledgement. Raises ReceiverDownError."""

    def close(self) -> None:
        """Close the connection."""


class ReceiverBackoff:
    """Pauses that double while a receiver is away, each a little different from the others'."""

    def __init__(self) -> None:
        self._tries = 0

    def pause(self, asked: float) -> float:
        """Return the seconds until the next attempt, at least those that the receiver requests."""
        spread = random.uniform(0.8, 1.2)  # noqa: S311 - so that many do not knock at once
        seconds = min(_LONGEST, _FIRST * 2.0 ** min(self._tries, 12)) * spread
        self._tries += 1
        return max(asked, seconds)

    def reset(self) -> None:
        """Reset the pause after a response."""
        self._tries = 0


# --- over HTTP ------------------------------------------------------------------------


_SECONDS = 10.0
_MOST_ANSWER = 64 << 10
_REDIRECTS = range(300, 400)
_ACCEPTED = range(200, 300)
_ASKS_TO_WAIT = (429, 503)


class Poster:
    """A connection that is kept while it works."""

    def __init__(self, url: str, seconds: float = _SECONDS) -> None:
        place = urlsplit(url)
        self._host, self._port = place.hostname or "", place.port
        self._path = (place.path or "/") + (f"?{place.query}" if place.query else "")
        self._is_tls = place.scheme == "https"
        self._seconds = seconds
        self._connection: HTTPConnection | None = None

    def post(self, body: bytes, headers: Mapping[str, str]) -> None:
        """Post a request. Raises ReceiverDownError unless a 2xx response comes in time."""
        try:
            status, wait = self._send_with_reconnect(body, headers)
        except (OSError, HTTPException, ValueError) as error:
            self.close()
            why = str(error) or type(error).__name__
            raise ReceiverDownError(f"no answer: {display(why)[:200]}") from error
        if status in _REDIRECTS:
            raise ReceiverDownError(f"redirect ({status}) not followed")
        if status not in _ACCEPTED:
            raise ReceiverDownError(f"answered with status {status}", wait=wait)

    def _send_with_reconnect(self, body: bytes, headers: Mapping[str, str]) -> tuple[int, float]:
        """Send a request, again on a new connection if the server had closed the idle one."""
        if self._connection is None:
            return self._ask(body, headers)
        began = time.monotonic()
        try:
            return self._ask(body, headers)
        except (ConnectionError, ssl.SSLEOFError):
            if time.monotonic() - began >= self._seconds:  # it was us who ended it
                raise
            self.close()
        return self._ask(body, headers)

    def _ask(self, body: bytes, headers: Mapping[str, str]) -> tuple[int, float]:
        connection = self._connection or self._connect()
        with self._deadline(connection):
            sent = {"User-Agent": f"task-graph-runner/{__version__}", **headers}
            connection.request("POST", self._path, body, sent)
            answer = connection.getresponse()
            rest = answer.read(_MOST_ANSWER)
        wait = _seconds(answer.getheader("Retry-After", ""))
        if len(rest) == _MOST_ANSWER or answer.will_close:
            self.close()  # what else it says is not ours to read
        return answer.status, wait if answer.status in _ASKS_TO_WAIT else 0.0

    def _connect(self) -> HTTPConnection:
        made: HTTPConnection
        if self._is_tls:
            context = ssl.create_default_context()
            made = HTTPSConnection(self._host, self._port, timeout=self._seconds, context=context)
        else:
            made = HTTPConnection(self._host, self._port, timeout=self._seconds)
        # Set here, so that the deadline has a socket to shut down; connecting uses the socket's own
        # timeout.
        made.connect()
        self._connection = made
        return made

    @contextlib.contextmanager
    def _deadline(self, connection: HTTPConnection) -> Iterator[None]:
        """Enforce a total timeout, since a socket's timeout applies to each read."""

        def cut() -> None:
            with contextlib.suppress(OSError, AttributeError):
                # A close in another thread does not wake a blocked read (close(2), multithreaded
                # processes); shutdown does.
                connection.sock.shutdown(socket.SHUT_RDWR)

        timer = threading.Timer(self._seconds, cut)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _seconds(value: str) -> float:
    # Only the form in seconds (RFC 9110, 10.2.3): a date depends on the other side's clock.
    return float(value) if value.isascii() and value.isdigit() and len(value) < 6 else 0.0  # noqa: PLR2004
