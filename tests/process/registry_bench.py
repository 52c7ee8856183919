"""Servers of this machine that stand for registries, and a door without a sandbox around it."""

from __future__ import annotations

import os
import socket
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

from runner.process.egress.server import EgressServer

if TYPE_CHECKING:
    from collections.abc import Iterator


class _Answers(BaseHTTPRequestHandler):
    """Says what it was asked."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.server.asked.append((self.command, self.path, dict(self.headers)))
        body = self.server.body
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = self.close_connection and not self.server.goes_on

    def do_POST(self):
        self.server.received = self.rfile.read(int(self.headers["Content-Length"]))
        self.do_GET()

    def log_message(self, *_words):
        pass


class Registry(ThreadingHTTPServer):
    """A server that remembers."""

    daemon_threads = True

    def __init__(self, body: bytes) -> None:
        super().__init__(("127.0.0.1", 0), _Answers)
        self.body, self.asked, self.received = body, [], b""
        self.goes_on = False
        """Whether it listens on though it was asked to close, as some proxies do."""

    @property
    def name(self) -> str:
        return f"localhost:{self.server_port}"


@contextmanager
def a_registry(body: bytes = b"a package\n") -> Iterator[Registry]:
    """One that listens."""
    server = Registry(body)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class Opened:
    """A door whose inner side is this very process."""

    def __init__(self, door: EgressServer) -> None:
        self.door = door
        inner = socket.socket(fileno=os.dup(door.inner))
        with inner, socket.create_server(("127.0.0.1", 0)) as listener:
            socket.send_fds(inner, [b"x"], [listener.fileno()])
            self.address = listener.getsockname()
        door.close_own_end()

    def asks(self, head: bytes, *, more: bytes = b"") -> bytes:
        """Everything that comes back for a request."""
        with socket.create_connection(self.address, timeout=10) as connection:
            connection.sendall(head)
            connection.sendall(more)
            said = b""
            while chunk := connection.recv(65536):
                said += chunk
            return said

    def tunnel(self, name: str) -> tuple[socket.socket, bytes]:
        """A connection behind CONNECT, and what was said to that."""
        connection = socket.create_connection(self.address, timeout=10)
        connection.sendall(f"CONNECT {name} HTTP/1.1\r\nHost: {name}\r\n\r\n".encode())
        return connection, connection.recv(65536)


@contextmanager
def opened(registries, environ=None) -> Iterator[Opened]:
    """A door that is open."""
    found = Opened(EgressServer(registries, environ or {}))
    try:
        yield found
    finally:
        found.door.close()
