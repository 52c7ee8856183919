"""The one way out of a sandbox to registries: a proxy of ours, as long as one command runs.

The sandbox has a network of its own with nothing in it. A socket that listens there is made inside
(`client`) and handed out here: only what a proxy says of hosts by name passes.

The proxy of `Network: registries`: one request is read, weighed, and bytes are passed on.

CONNECT (RFC 9110, section 9.3.6) and plain HTTP in absolute form (RFC 9112, section 3.2.2), one
request a connection. What is encrypted is not looked into.
"""

from __future__ import annotations

import os
import re
import select
import socket
import sys
from contextlib import suppress
from pathlib import Path
from threading import BoundedSemaphore, Lock, Thread
from typing import TYPE_CHECKING

from runner import effects
from runner.config.registries import PORTS, wrong
from runner.process.egress import client
from runner.process.egress.upstream import CannotReach, ProxyRequest, UpstreamConnector

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from runner.config.registries import Registries
    from runner.process.egress.upstream import Connections

_AT_ONCE = 64
"""Connections; further ones wait."""
_PATIENCE = 2.0
"""Seconds in which the threads end; one that asks for a name takes its time, and does no more."""
_HEAD = 16384
"""Bytes of a request before its body."""
_HEAD_SECONDS = 30.0
_SILENCE = 600.0
"""Seconds after which a connection on which nothing moves is ended."""
_CHUNK = 65536
_REMEMBERED = 10
"""Refused hosts in the report."""
_REQUEST = re.compile(rb"([A-Z]+) (\S+) HTTP/1\.[01]")
_AUTHORITY = re.compile(r"(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(?::([0-9]{1,5}))?")
_SIZE = re.compile(rb"[0-9]{1,15}")
_OF_A_HOP = (
    *(b"proxy-connection", b"proxy-authorization", b"connection", b"keep-alive"),
    *(b"host", b"upgrade", b"http2-settings"),
)
"""Headers that are about this connection, or that the proxy says itself."""


class EgressServer:
    """An open resource until `close`."""

    def __init__(self, registries: Registries, environ: Mapping[str, str] | None = None) -> None:
        self._proxy = Proxy(registries, os.environ if environ is None else environ)
        self._outside, self._inside = socket.socketpair()
        self._room = BoundedSemaphore(_AT_ONCE)
        self._lock = Lock()
        self._open: set[socket.socket] = {self._outside}
        self._threads: list[Thread] = []
        self._closed = False

    @property
    def inner(self) -> int:
        """The descriptor that the first process inside is given."""
        return self._inside.fileno()

    def before(self, argv: tuple[str, ...]) -> tuple[str, ...]:
        """The command line inside."""
        # Neither a variable nor a `.pth` of the tree may run code before the port is there; and
        # nothing is written beside a source that is read-only inside.
        words = (sys.executable, "-I", "-S", "-B", str(Path(client.__file__)))
        return (*words, str(self.inner), *argv)

    def close_own_end(self) -> None:
        """The first process has its end of it, or will never have."""
        self._inside.close()
        effects.step("listen", "registries")
        self._begin(self._listen)

    def close(self) -> str:
        """Let nothing pass any more; return the report of what was refused."""
        with self._lock:
            self._closed = True
            waiting = tuple(self._open)
        for each in waiting:
            with suppress(OSError):
                # Not close(2): that leaves a thread waiting which is in accept or recv on it;
                # shutdown(2) wakes it.
                each.shutdown(socket.SHUT_RDWR)
        until = effects.monotonic() + _PATIENCE
        for thread in tuple(self._threads):
            thread.join(max(0.0, until - effects.monotonic()))
        self._inside.close()
        self._outside.close()
        return "".join(f"runner: {line}\n" for line in self._proxy.refused)

    # --- threads ----------------------------------------------------------------------

    def _begin(self, what: Callable[..., None], *given: socket.socket) -> None:
        thread = Thread(target=what, args=given, name="registries", daemon=True)
        self._threads = [one for one in self._threads if one.is_alive()]
        self._threads.append(thread)
        thread.start()

    def _listen(self) -> None:
        try:
            _, descriptors, _, _ = socket.recv_fds(self._outside, 1, 1)
        except OSError:
            return
        if not descriptors:  # the command ended before it began
            return
        with socket.socket(fileno=descriptors[0]) as listener:
            self._accept(listener)

    def _accept(self, listener: socket.socket) -> None:
        if not self.keep(listener):
            return
        try:
            while True:
                # Before accept: who waits for room waits in the kernel's queue, and not in a thread
                # of ours.
                self._room.acquire()
                try:
                    found, _ = listener.accept()
                except ConnectionAbortedError:  # who asked has gone already
                    self._room.release()
                    continue
                self._begin(self._serve, found)
        except OSError:  # it was shut down
            return
        finally:
            self.forget(listener)

    def _serve(self, client: socket.socket) -> None:
        try:
            with client:
                if self.keep(client):
                    with suppress(OSError):
                        self._proxy.serve(client, self)
                self.forget(client)
        finally:
            self._room.release()

    # --- what is open -----------------------------------------------------------------

    def keep(self, found: socket.socket) -> bool:
        """Have it shut when the door is; False where that has happened already."""
        with self._lock:
            if not self._closed:
                self._open.add(found)
            return not self._closed

    def forget(self, found: socket.socket) -> None:
        """It is closed."""
        with self._lock:
            self._open.discard(found)


class RequestRefused(Exception):  # noqa: N818 - the word for what happened
    """A request is not served: the status, and why."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status, self.why = status, why


class Proxy:
    """Serves connections, each in a thread of its own."""

    def __init__(self, registries: Registries, environ: Mapping[str, str]) -> None:
        self._registries = registries
        self._onward = UpstreamConnector(registries, environ)
        self._refused: dict[str, None] = {}

    @property
    def refused(self) -> tuple[str, ...]:
        """What was not let through and how it could be, a line each."""
        return tuple(self._refused)

    def serve(self, client: socket.socket, door: Connections) -> None:
        """One connection from its request to its end. Raises OSError where it breaks."""
        client.settimeout(_HEAD_SECONDS)
        try:
            head, rest = _head_of(client)
            request = parse_request(head)
            self._admit(request)
            server, first = self._reach(request, door)
        except RequestRefused as no:
            client.sendall(_answer(no.status, no.why))
            return
        with server:
            if request.is_tunnel:
                client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n" + first)
            # What follows the body would be a second request, to a host that nobody weighed.
            rest = rest[: request.body]
            server.sendall(rest)
            if door.keep(server):
                left = max(0, (request.body or 0) - len(rest))
                _pass_on(client, server, None if request.is_tunnel else left)
            door.forget(server)

    def _admit(self, request: ProxyRequest) -> None:
        """Raise Refused where the host is none of those that may be reached."""
        why = self._registries.refusal(request.host, request.port)
        if why:
            self._note(request, why, allow=True)
            raise RequestRefused(403, f"{request.authority} was refused: {why}")

    def _reach(self, request: ProxyRequest, door: Connections) -> tuple[socket.socket, bytes]:
        try:
            return self._onward.connect(request, door)
        except CannotReach as no:
            self._note(request, no.why, allow=no.is_private)
            raise RequestRefused(
                403 if no.is_private else 502, f"{request.authority}: {no.why}"
            ) from no

    def _note(self, request: ProxyRequest, why: str, *, allow: bool) -> None:
        """Remember what `close` reports."""
        name = request.host if request.port in PORTS else request.authority
        allow = allow and not wrong(name)
        hint = f' (to allow it, set sandbox.registries = ["{name}"] yourself)' if allow else ""
        if len(self._refused) < _REMEMBERED:
            self._refused[f"{request.authority[:300]} could not be reached: {why}{hint}"] = None


# --- one request ----------------------------------------------------------------------


def _head_of(client: socket.socket) -> tuple[bytes, bytes]:
    """The head of a request, and what came behind it."""
    read = bytearray()
    while b"\r\n\r\n" not in read:
        if len(read) > _HEAD:
            raise RequestRefused(431, "the request is too long")
        chunk = client.recv(_CHUNK)
        if not chunk:
            raise OSError("the connection ended")
        read += chunk
    head, _, rest = bytes(read).partition(b"\r\n\r\n")
    return head, rest


def parse_request(head: bytes) -> ProxyRequest:
    """What a request asks for. Raises Refused for one that is none to a proxy."""
    first, *lines = head.split(b"\r\n")
    match = _REQUEST.fullmatch(first)
    # A bare LF, a bare CR or a folded line is read in two ways by two servers: request smuggling
    # (RFC 9112, sections 2.2, 5.2 and 11.2).
    if match is None or any(b"\n" in line or b"\r" in line or line[:1] in b" \t" for line in lines):
        raise RequestRefused(400, "not a valid proxy request")
    method, target = match[1].decode(), match[2].decode("latin-1")
    if method == "CONNECT":
        return ProxyRequest(*_place(target, 443), method)
    scheme, separator, rest = target.partition("://")
    plain = rest.isascii() and rest.isprintable()
    if scheme.lower() != "http" or not separator or not plain:
        raise RequestRefused(400, "this proxy supports only CONNECT and absolute http:// URLs")
    end = next((at for at, letter in enumerate(rest) if letter in "/?#"), len(rest))
    path = rest[end:].partition("#")[0]
    kept = tuple(line for line in lines if line.partition(b":")[0].strip().lower() not in _OF_A_HOP)
    path = path if path[:1] == "/" else f"/{path}"
    return ProxyRequest(*_place(rest[:end], 80), method, path, kept, _body(kept))


def _body(headers: tuple[bytes, ...]) -> int:
    """Bytes of the body (RFC 9112, section 6.3); in pieces of unsaid length it is not taken."""
    fields = [line.partition(b":") for line in headers]
    if any(name.strip().lower() == b"transfer-encoding" for name, _, _ in fields):
        raise RequestRefused(411, "the request needs a Content-Length")
    # Several lengths that differ are an error and not a choice (RFC 9112, section 6.3): one of the
    # two servers would take the rest for another request.
    sizes = {size.strip() for name, _, size in fields if name.strip().lower() == b"content-length"}
    if len(sizes) > 1 or not all(_SIZE.fullmatch(size) for size in sizes):
        raise RequestRefused(400, "the request has an invalid or ambiguous Content-Length")
    return max(map(int, sizes), default=0)


def _place(authority: str, default: int) -> tuple[str, int]:
    match = _AUTHORITY.fullmatch(authority)
    if match is None:
        raise RequestRefused(400, "the request names no valid host")
    # `host.` is the same host (RFC 1034, section 3.1): without this it would pass by a list of
    # names.
    return match[1].lower().removesuffix("."), int(match[2] or default)


def _answer(status: int, why: str) -> bytes:
    """An answer that ends the connection, the reason in its first line, which tools show."""
    # The words hold what the program asked for: a line end in them would be a header of ours.
    text = "".join(letter if letter.isprintable() else "?" for letter in why)
    body = f"runner: {text}\n".encode("ascii", "replace")
    first = f"HTTP/1.1 {status} {text}".encode("ascii", "replace")
    size = b"Content-Length: %d" % len(body)
    return b"\r\n".join((first, b"Content-Type: text/plain", size, b"Connection: close", b"", body))


# --- passing on -----------------------------------------------------------------------


def _pass_on(one: socket.socket, other: socket.socket, most: int | None) -> None:
    """Bytes both ways until both have ended, `most` of the first; a way holds at most a chunk."""
    ways = (_Way(one, other, most), _Way(other, one))
    for each in (one, other):
        each.settimeout(0)
    while any(way.goes_on for way in ways):
        poll = select.poll()
        for each in (one, other):
            wanted = sum(way.wait_mask(each) for way in ways)
            if wanted:
                poll.register(each, wanted)
        ready = dict(poll.poll(_SILENCE * 1000))
        if not ready:
            return
        for way in ways:
            way.move(ready)


class _Way:
    """One direction of a connection."""

    def __init__(self, source: socket.socket, sink: socket.socket, most: int | None = None) -> None:
        self._source, self._sink = source, sink
        self._held = b""
        self._left = most
        self._ended = self._passed = False

    @property
    def goes_on(self) -> bool:
        return bool(self._held) or not self._ended

    def wait_mask(self, end: socket.socket) -> int:
        """What to wait for at one end."""
        if end is self._sink and self._held:
            return select.POLLOUT
        return select.POLLIN if end is self._source and not (self._held or self._ended) else 0

    def move(self, ready: Mapping[int, int]) -> None:
        """Read, write, or pass the end on. Raises OSError where an end broke."""
        if self._held and self._sink.fileno() in ready:
            # It may be ready for the other way alone, to be read from, and take nothing.
            with suppress(BlockingIOError):
                self._held = self._held[self._sink.send(self._held) :]
        elif not (self._held or self._ended) and self._source.fileno() in ready:
            try:
                found = self._source.recv(_CHUNK)
            except BlockingIOError:
                return
            self._held = found[: self._left]
            self._ended = not found or len(self._held) < len(found)  # more is another request
            if self._left is not None:
                self._left -= len(self._held)
        if self._ended and not self._passed:
            self._passed = True
            with suppress(OSError):  # it may be gone
                # One way only (shutdown(2)): the other may still have an answer under way.
                self._sink.shutdown(socket.SHUT_WR)
