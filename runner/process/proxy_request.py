"""A request that the proxy was sent, and the connections that end with its command."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import socket


class Connections(Protocol):
    """The open connections of one command: all of them are closed with it."""

    def keep(self, found: socket.socket) -> bool:
        """Close it when the command ends; false where it has ended already."""

    def forget(self, found: socket.socket) -> None:
        """It is closed."""


@dataclass(frozen=True, slots=True)
class Request:
    """What a program asks for."""

    host: str
    port: int
    method: str
    target: str = ""
    """Path and query; empty for a tunnel."""
    headers: tuple[bytes, ...] = ()
    body: int | None = None
    """Bytes behind the head; None in a tunnel. What follows them would be another request."""

    @property
    def is_tunnel(self) -> bool:
        """Whether bytes are passed on as they come."""
        return self.method == "CONNECT"

    @property
    def authority(self) -> str:
        """Host and port as an URL has them."""
        return f"{self.host}:{self.port}"

    def head(self, *, absolute: bool) -> bytes:
        """The request as a server, or a further proxy, wants it."""
        host = self.host if self.port == 80 else self.authority  # noqa: PLR2004 - the port of http
        target = f"http://{host}{self.target}" if absolute else self.target
        lines = (
            f"{self.method} {target} HTTP/1.1".encode("ascii"),
            f"Host: {host}".encode("ascii"),
            *self.headers,
            b"Connection: close",
        )
        return b"\r\n".join(lines) + b"\r\n\r\n"
