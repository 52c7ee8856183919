"""The proxy of `Network: registries`: one request is read, weighed, and bytes are passed on.

CONNECT (RFC 9110, section 9.3.6) and plain HTTP in absolute form (RFC 9112, section 3.2.2), one
request a connection. What is encrypted is not looked into.
"""

from __future__ import annotations

import re
import select
import socket
from contextlib import suppress
from typing import TYPE_CHECKING

from runner.config.registries import PORTS, wrong
from runner.process.egress.upstream import CannotReach, ProxyRequest, UpstreamConnector

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runner.config.registries import Registries
    from runner.process.egress.upstream import Connections

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
