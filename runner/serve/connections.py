"""Connections of the page's listener: few wait for a head, and none of them blocks another.

asyncio accepts through `Listener`, so a connection counts from its first packet on, also before
its TLS handshake. `Protocol` is uvicorn's own, and reports when a head is complete.
"""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from uvicorn.protocols.http.h11_impl import H11Protocol

from runner.serve.access import group_address

if TYPE_CHECKING:
    from collections.abc import Callable

    from uvicorn.config import Config
    from uvicorn.server import ServerState

MOST_WAITING = 64
"""Connections without a complete request head; one more closes the oldest."""
HEAD_SECONDS = 10.0
"""A head is complete after so long, or the connection is closed."""
_GRACE_SECONDS = 1.0
"""In a burst, a connection has so long to send its head before a later one closes it."""
_CHECK_SECONDS = 0.1
"""So often the waiting connections are looked at."""
_MOST_IN_BURST = 512
"""Then the oldest is closed at once: a process has 1,024 descriptors or more."""
_READ_SECONDS = 30.0
"""A client that does not read its answer for so long is cut off."""


@dataclass(slots=True)
class _Connection:
    socket: socket.socket
    """As asyncio was given it, which closes it in the end."""
    client: str
    since: float = 0.0
    """When it began to wait for a head; 0: it does not wait."""

    def close(self) -> None:
        """End it at the socket: asyncio then sees its end, in a TLS handshake, too."""
        self.since = 0.0
        with suppress(OSError):  # it is closed
            self.socket.shutdown(socket.SHUT_RDWR)

    def has_unread(self) -> bool:
        """Return whether a busy loop has not yet read what the client sent."""
        try:
            return bool(self.socket.recv(1, socket.MSG_PEEK))
        except OSError:
            return False


class Listener(socket.socket):
    """A listening socket that closes connections which do not send a request."""

    def __init__(self, family: socket.AddressFamily, most_of_address: int = 0) -> None:
        super().__init__(family, socket.SOCK_STREAM)
        self._most_of_address = most_of_address
        self._open: dict[int, _Connection] = {}
        """By descriptor."""
        self._timer: asyncio.TimerHandle | None = None

    def accept(self) -> tuple[socket.socket, tuple[str, int]]:
        """The next connection, which now waits for its head."""
        accepted, address = super().accept()
        made = _Connection(accepted, group_address(address[0]))
        self._open = {n: one for n, one in self._open.items() if one.socket.fileno() >= 0}
        of_client = sum(one.client == made.client for one in self._open.values())
        waiting = [one for one in self._open.values() if one.since]
        if len(waiting) >= _MOST_IN_BURST:
            min(waiting, key=lambda one: one.since).close()
        self._open[accepted.fileno()] = made
        if self._most_of_address and of_client >= self._most_of_address:
            made.close()
        else:
            self.wait(accepted.fileno())
        return accepted, address

    def wait(self, number: int) -> None:
        """Count a connection as one without a complete head, from now on."""
        loop = asyncio.get_running_loop()
        if known := self._open.get(number):
            known.since = loop.time()
        if self._timer is None:
            self._timer = loop.call_later(_CHECK_SECONDS, self._close_late)

    def release(self, number: int) -> None:
        """Count it no longer: its head is complete."""
        if known := self._open.get(number):
            known.since = 0.0

    def _close_late(self) -> None:
        loop = asyncio.get_running_loop()
        waiting = [one for one in self._open.values() if one.since and one.socket.fileno() >= 0]
        waiting.sort(key=lambda one: one.since)
        count = len(waiting)
        for one in waiting:
            age = loop.time() - one.since
            is_over = count > MOST_WAITING and age >= _GRACE_SECONDS
            if age >= HEAD_SECONDS or (is_over and not one.has_unread()):
                one.close()
                count -= 1
        self._timer = loop.call_later(_CHECK_SECONDS, self._close_late) if count else None


class Protocol(H11Protocol):
    """uvicorn's protocol; tells the listener which connections wait for a head."""

    def __init__(
        self,
        listener: Listener,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, object],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._listener = listener
        self._unread: asyncio.TimerHandle | None = None

    @property
    def _number(self) -> int:
        """The descriptor of its socket."""
        found: int = self.transport.get_extra_info("socket").fileno()
        return found

    @property
    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def handle_events(self) -> None:
        """Read what came; a request whose head is complete waits no more."""
        super().handle_events()
        if self._is_answering:
            self._listener.release(self._number)

    def on_response_complete(self) -> None:
        """Wait for the next head, also where the rest of a refused body is still on its way."""
        super().on_response_complete()
        if not self._is_answering and not self.transport.is_closing():
            self._listener.wait(self._number)

    def connection_lost(self, exc: Exception | None) -> None:
        """End what waits for the client."""
        self.resume_writing()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """The client does not read."""
        super().pause_writing()
        self._unread = self.loop.call_later(_READ_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """It reads again."""
        super().resume_writing()
        if self._unread is not None:
            self._unread.cancel()


def make_protocol(listener: Listener) -> Callable[..., Protocol]:
    """What uvicorn makes for each connection of a listener."""
    return partial(Protocol, listener)
