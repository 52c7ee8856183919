"""The proxy from a sandbox to package registries (`Network: registries`), for one command.

The sandbox has a network of its own with nothing in it. A socket that listens there is made inside
(`client`) and handed out here. The proxy reads one request a connection and checks its host.

CONNECT (RFC 9110, section 9.3.6) and plain HTTP in absolute form (RFC 9112, section 3.2.2). What is
encrypted is not looked into.
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
"""Parallel connections; further ones wait."""
_PATIENCE = 2.0
"""Seconds for the threads to end; one in a name lookup takes longer but does no more."""
_HEAD = 16384
"""Maximum bytes of a request before its body."""
_HEAD_SECONDS = 30.0
_SILENCE = 600.0
"""Seconds after which an idle connection is closed."""
_CHUNK = 65536
_REMEMBERED = 10
"""Maximum refused hosts in the report."""
_REQUEST = re.compile(rb"([A-Z]+) (\S+) HTTP/1\.[01]")
_AUTHORITY = re.compile(r"(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(?::([0-9]{1,5}))?")
_SIZE = re.compile(rb"[0-9]{1,15}")
_OF_A_HOP = (
    *(b"proxy-connection", b"proxy-authorization", b"connection", b"keep-alive"),
    *(b"host", b"upgrade", b"http2-settings"),
)
"""Headers about this connection, or that the proxy sets itself."""


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
        """Return the command line that starts the proxy client and then `argv` in the sandbox."""
        # No variable and no `.pth` of the tree may run code before the port is open; and no byte
        # code is written next to a source that is read-only inside.
        words = (sys.executable, "-I", "-S", "-B", str(Path(client.__file__)))
        return (*words, str(self.inner), *argv)

    def close_own_end(self) -> None:
        """Close the inner socket after the start of the first process, and start to listen."""
        self._inside.close()
        effects.step("listen", "registries")
        self._begin(self._listen)

    def close(self) -> str:
        """Close all connections and return the report of refused requests."""
        with self._lock:
            self._closed = True
            waiting = tuple(self._open)
        for each in waiting:
            with suppress(OSError):
                # Not close(2): it does not wake a thread blocked in accept or recv; shutdown(2)
                # does.
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
                # Before accept: waiting connections stay in the kernel's queue instead of one of
                # our threads.
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
        """Register a connection to close with the server; False if it is closed already."""
        with self._lock:
            if not self._closed:
                self._open.add(found)
            return not self._closed

    def forget(self, found: socket.socket) -> None:
        """Unregister a closed connection."""
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
        """Refused requests with hints, a line each."""
        return tuple(self._refused)

    def serve(self, client: socket.socket, door: Connections) -> None:
        """Serve one connection from its request to its end. Raises OSError if it breaks."""
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
            # Data after the body would be a second request, to an unchecked host.
            rest = rest[: request.body]
            server.sendall(rest)
            if door.keep(server):
                left = max(0, (request.body or 0) - len(rest))
                _pass_on(client, server, None if request.is_tunnel else left)
            door.forget(server)

    def _admit(self, request: ProxyRequest) -> None:
        """Raise RequestRefused where the host is none of those that may be reached."""
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
        """Record a refusal for the report of `close`."""
        name = request.host if request.port in PORTS else request.authority
        allow = allow and not wrong(name)
        setting = f'sandbox.registries = ["{name}"]'
        hint = f" (to allow it, set {setting} in your own settings)" if allow else ""
        if len(self._refused) < _REMEMBERED:
            self._refused[f"{request.authority[:300]} could not be reached: {why}{hint}"] = None


# --- one request ----------------------------------------------------------------------


def _head_of(client: socket.socket) -> tuple[bytes, bytes]:
    """Read a request's head; return it and the bytes after it. Raises RequestRefused."""
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
    """Parse a proxy request. Raises RequestRefused for an invalid one."""
    first, *lines = head.split(b"\r\n")
    match = _REQUEST.fullmatch(first)
    # Servers differ on a bare LF, a bare CR or a folded line: request smuggling (RFC 9112, sections
    # 2.2, 5.2 and 11.2).
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
    """Return the body length (RFC 9112, section 6.3). Raises RequestRefused if ambiguous."""
    fields = [line.partition(b":") for line in headers]
    if any(name.strip().lower() == b"transfer-encoding" for name, _, _ in fields):
        raise RequestRefused(411, "the request needs a Content-Length")
    # Several different lengths are an error, not a choice (RFC 9112, section 6.3): one of the two
    # servers would read the rest as another request.
    sizes = {size.strip() for name, _, size in fields if name.strip().lower() == b"content-length"}
    if len(sizes) > 1 or not all(_SIZE.fullmatch(size) for size in sizes):
        raise RequestRefused(400, "the request has an invalid or ambiguous Content-Length")
    return max(map(int, sizes), default=0)


def _place(authority: str, default: int) -> tuple[str, int]:
    match = _AUTHORITY.fullmatch(authority)
    if match is None:
        raise RequestRefused(400, "the request names no valid host")
    # `host.` is the same host (RFC 1034, section 3.1): otherwise it would bypass a list of names.
    return match[1].lower().removesuffix("."), int(match[2] or default)


def _answer(status: int, why: str) -> bytes:
    """Return a response that closes the connection, with the reason in its first line."""
    # The message contains program input: a line end in it would inject a header.
    text = "".join(letter if letter.isprintable() else "?" for letter in why)
    body = f"runner: {text}\n".encode("ascii", "replace")
    first = f"HTTP/1.1 {status} {text}".encode("ascii", "replace")
    size = b"Content-Length: %d" % len(body)
    return b"\r\n".join((first, b"Content-Type: text/plain", size, b"Connection: close", b"", body))


# --- passing on -----------------------------------------------------------------------


def _pass_on(one: socket.socket, other: socket.socket, most: int | None) -> None:
    """Copy bytes both ways until both ends close, at most `most` from the first one."""
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
        """Return the poll events to wait for at one end."""
        if end is self._sink and self._held:
            return select.POLLOUT
        return select.POLLIN if end is self._source and not (self._held or self._ended) else 0

    def move(self, ready: Mapping[int, int]) -> None:
        """Read, write, or pass the end on. Raises OSError where an end broke."""
        if self._held and self._sink.fileno() in ready:
            # It may be ready only for reading, and accept nothing.
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
                # One direction only (shutdown(2)): the other may still carry an answer.
                self._sink.shutdown(socket.SHUT_WR)
