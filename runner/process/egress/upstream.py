"""Requests of the registry proxy, and its connections to a host or to the person's own proxy."""

from __future__ import annotations

import base64
import socket
from functools import cache
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from runner.lazy_module import lazy_module

if TYPE_CHECKING:
    import ipaddress
    from collections.abc import Iterator, Mapping
    from ipaddress import IPv4Network, IPv6Network

    from runner.config.registries import Registries
else:
    ipaddress = lazy_module("ipaddress")


_SECONDS = 20.0
"""Seconds to open one connection, or for a proxy's answer."""
_ANSWER = 16384
# An explicit list: which networks `ipaddress` considers private depends on Python's version
# (CPython gh-113171, CVE-2024-4032).
_PRIVATE = (
    # RFC 6890 and the registries it started, except documentation-only addresses
    *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16"),
    *("172.16.0.0/12", "192.0.0.0/24", "192.168.0.0/16", "198.18.0.0/15", "224.0.0.0/3"),
    # Each can embed an IPv4 address, even 127.0.0.1: RFC 4291 (compatible), 6052 and 8215 (NAT64),
    # 3056 (6to4), 4380 (Teredo).
    *("::/96", "64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32"),
    *("fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8", "::ffff:0:0/96"),
)
"""Addresses of this machine, of networks behind it, and those that embed an IPv4 address."""


class CannotReach(Exception):  # noqa: N818 - the word for what happened
    """There is no way to a host, and why."""

    def __init__(self, why: str, *, is_private: bool = False) -> None:
        super().__init__(why)
        self.why, self.is_private = why, is_private


class Upstream(Struct, frozen=True):
    """The person's own proxy."""

    host: str
    port: int
    authorization: str = ""
    """Value of Proxy-Authorization."""


class UpstreamConnector:
    """Makes connections to registries."""

    def __init__(self, registries: Registries, environ: Mapping[str, str]) -> None:
        self._registries = registries
        self._environ = environ

    def connect(self, request: ProxyRequest, door: Connections) -> tuple[socket.socket, bytes]:
        """Connect and send the head; return socket and first output. Raises CannotReach.

        Raises CannotReach.
        """
        upstream = upstream_for(request, self._environ)
        if upstream is not None:
            return self._through(upstream, request, door)
        server = _connect(self._addresses(request), request.port, door)
        if not request.is_tunnel:
            server.sendall(request.head(absolute=False))
        return server, b""

    def _addresses(self, request: ProxyRequest) -> list[str]:
        """Return the permitted addresses of a host; only registries may be private."""
        # Resolve once and connect to the checked address: a second lookup could return a private
        # one (DNS rebinding).
        found = list(dict.fromkeys(_resolve(request.host, request.port)))
        if self._registries.is_named(request.host, request.port):
            return found
        public = [address for address in found if not is_private(address)]
        if not public:
            raise CannotReach("its address is in a private network", is_private=True)
        return public

    def _through(
        self, upstream: Upstream, request: ProxyRequest, door: Connections
    ) -> tuple[socket.socket, bytes]:
        """Connect through the user's proxy, which resolves the host name itself."""
        addresses = list(dict.fromkeys(_resolve(upstream.host, upstream.port)))
        server = _connect(addresses, upstream.port, door)
        login = f"Proxy-Authorization: {upstream.authorization}" if upstream.authorization else ""
        try:
            if not request.is_tunnel:
                head = request.head(absolute=True)
                first, _, rest = head.partition(b"\r\n")
                server.sendall(b"\r\n".join(filter(None, (first, login.encode(), rest))))
                return server, b""
            lines = (f"CONNECT {request.authority} HTTP/1.1", f"Host: {request.authority}", login)
            server.sendall("\r\n".join((*filter(None, lines), "", "")).encode("ascii"))
            return server, _accept(server)
        except (OSError, CannotReach) as problem:
            server.close()
            why = problem.why if isinstance(problem, CannotReach) else "your own proxy disconnected"
            raise CannotReach(why) from problem


def is_private(address: str) -> bool:
    """Return whether an address is on this machine or in a private network."""
    # getaddrinfo(3) returns a link-local address with its zone (RFC 4007, section 11).
    found = ipaddress.ip_address(address.partition("%")[0])
    return any(
        found in network for network in _private_networks() if network.version == found.version
    )


@cache
def _private_networks() -> tuple[IPv4Network | IPv6Network, ...]:
    return tuple(map(ipaddress.ip_network, _PRIVATE))


def _resolve(host: str, port: int) -> Iterator[str]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as problem:
        raise CannotReach("the host name is unknown") from problem
    for _family, _kind, _protocol, _name, address in found:
        yield str(address[0])


def _connect(addresses: list[str], port: int, door: Connections) -> socket.socket:
    """Connect to the first address that answers. Raises CannotReach."""
    for address in addresses:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        server = socket.socket(family, socket.SOCK_STREAM)
        try:
            server.settimeout(_SECONDS)
            if door.keep(server):
                server.connect((address, port))
                return server
        except OSError:
            pass
        door.forget(server)
        server.close()
    raise CannotReach("it does not answer")


# --- the person's own proxy -----------------------------------------------------------


def upstream_for(request: ProxyRequest, environ: Mapping[str, str]) -> Upstream | None:
    """Return the user's proxy for a request, or None. Raises CannotReach if unsupported.

    Raises CannotReach for one that we do not speak with.
    """
    scheme = "https" if request.is_tunnel else "http"
    names = (f"{scheme}_proxy", f"{scheme}_PROXY".upper(), "all_proxy", "ALL_PROXY")
    address = next((environ[name] for name in names if environ.get(name)), "")
    if not address or _is_direct(request.host, environ):
        return None
    from urllib.parse import unquote, urlsplit

    try:
        parts = urlsplit(address if "://" in address else f"http://{address}")
        port = parts.port or 80
    except ValueError as error:
        raise CannotReach("the address of your own proxy is invalid") from error
    if parts.scheme != "http" or not parts.hostname:
        raise CannotReach(f"your own proxy uses {parts.scheme}; the runner supports only http")
    user = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
    basic = f"Basic {base64.b64encode(user.encode()).decode()}" if parts.username else ""
    return Upstream(parts.hostname, port, basic)


def _is_direct(host: str, environ: Mapping[str, str]) -> bool:
    """Return whether NO_PROXY excludes the host: exact names, parent domains or `*`."""
    setting = environ.get("no_proxy") or environ.get("NO_PROXY") or ""
    names = [name.strip().lower().removeprefix("*").lstrip(".") for name in setting.split(",")]
    return setting.strip() == "*" or any(
        name and (host == name or host.endswith(f".{name}")) for name in names
    )


def _accept(server: socket.socket) -> bytes:
    """Return the bytes after a proxy's success response. Raises CannotReach otherwise."""
    read = bytearray()
    while b"\r\n\r\n" not in read and len(read) < _ANSWER:
        chunk = server.recv(_ANSWER)
        if not chunk:
            break
        read += chunk
    head, _, rest = bytes(read).partition(b"\r\n\r\n")
    status = head.split(b"\r\n")[0].split(b" ")
    if len(status) < 2 or not status[1].startswith(b"2"):  # noqa: PLR2004 - version, status, words
        reason = b" ".join(status[1:]).decode("latin-1")[:100]
        raise CannotReach(f"your own proxy refused: {reason}")
    return rest


# --- proxy request --------------------------------------------------------------------


class Connections(Protocol):
    """The open connections of one command: all of them are closed with it."""

    def keep(self, found: socket.socket) -> bool:
        """Close it when the command ends; false where it has ended already."""

    def forget(self, found: socket.socket) -> None:
        """Unregister a closed connection."""


class ProxyRequest(Struct, frozen=True):
    """A program's request to the proxy."""

    host: str
    port: int
    method: str
    target: str = ""
    """Path and query; empty for a tunnel."""
    headers: tuple[bytes, ...] = ()
    body: int | None = None
    """Body length in bytes; None in a tunnel. Data after it would be another request."""

    @property
    def is_tunnel(self) -> bool:
        """Whether bytes are passed on as they come."""
        return self.method == "CONNECT"

    @property
    def authority(self) -> str:
        """Host and port as an URL has them."""
        return f"{self.host}:{self.port}"

    def head(self, *, absolute: bool) -> bytes:
        """Return the request's head for the server or another proxy."""
        host = self.host if self.port == 80 else self.authority  # noqa: PLR2004 - the port of http
        target = f"http://{host}{self.target}" if absolute else self.target
        lines = (
            f"{self.method} {target} HTTP/1.1".encode("ascii"),
            f"Host: {host}".encode("ascii"),
            *self.headers,
            b"Connection: close",
        )
        return b"\r\n".join(lines) + b"\r\n\r\n"
