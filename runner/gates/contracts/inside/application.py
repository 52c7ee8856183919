"""The application under test as its driver sees it: its output, its address, its answers."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from runner.gates.contracts.inside.report import Ended

TAIL = 4000
NOWHERE = "/no-such-page-of-this-application"


def only_loopback(event: str, arguments: tuple[Any, ...]) -> None:
    """Refuse every connection that leaves this machine."""
    if event == "socket.connect":
        address = arguments[1]
        host = address[0] if isinstance(address, tuple) else "127.0.0.1"
        if host not in ("127.0.0.1", "::1", "localhost"):
            raise ConnectionRefusedError(f"{host} is not this machine")


class Output:
    """The application's output as it comes: its end is kept, the rest counted for nothing."""

    def __init__(self, pipe: str) -> None:
        self.kept = b""
        self.ended = False
        threading.Thread(target=self.read, args=(pipe,), daemon=True).start()

    def read(self, pipe: str) -> None:
        """Keep the end of what comes, until nobody writes any more."""
        with Path(pipe).open("rb", buffering=0) as stream:
            while chunk := stream.read(1 << 16):
                self.kept = (self.kept + chunk)[-TAIL:]
        self.ended = True

    def tail(self) -> str:
        """The last of what it printed."""
        return self.kept.decode("utf-8", "replace")


def refuse_taken_port(url: str) -> None:
    """Stop where somebody else answers already: it would be them who is tested."""
    parts = urlsplit(url)
    try:
        socket.create_connection((parts.hostname, parts.port), timeout=1).close()
    except OSError:
        return
    raise Ended("taken", f"port {parts.port} is in use before the application starts")


def reachable(job: dict[str, Any], output: Output) -> tuple[str, list[list[str]] | None]:
    """Wait until the application answers; its address, and the routes it says it has."""
    last = time.monotonic() + job["start_seconds"]
    while time.monotonic() < last:
        said = handshake(job["handshake"])
        if "error" in said:
            raise Ended("not-started", said["error"])
        url = job["url"] or (f"http://127.0.0.1:{said['port']}" if said else "")
        if url and answers(url, job["answer_seconds"]):
            return with_prefix(url, job["prefix"]), said.get("routes")
        if output.ended and "error" not in handshake(job["handshake"]):
            raise Ended("not-started", "it ended before it answered")
        time.sleep(0.02)
    raise Ended("not-started", f"it did not answer within {job['start_seconds']:g} s")


def with_prefix(url: str, prefix: str) -> str:
    """The address below which the paths of the document lie; a path of its own wins."""
    return url.rstrip("/") + ("" if urlsplit(url).path.strip("/") else prefix)


def handshake(path: str) -> dict[str, Any]:
    """What the serving script said of itself; empty while it says nothing."""
    try:
        said: dict[str, Any] = json.loads(Path(path).read_text("utf-8"))
    except FileNotFoundError:
        return {}
    return said


def answers(url: str, patience: float) -> bool:
    """Whether the application gives any answer at all."""
    try:
        return bool(fetch(url, "GET", NOWHERE, patience)[0])
    except OSError:
        return False


def fetch(url: str, method: str, path: str, patience: float) -> tuple[int, str, bytes]:
    """Status, content type and body of one answer; raises OSError when there is none."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=patience)
    try:
        connection.request(method, parts.path + path)
        answer = connection.getresponse()
        return answer.status, answer.getheader("content-type", ""), answer.read(1 << 20)
    except http.client.HTTPException as problem:
        raise OSError(str(problem)) from problem
    finally:
        connection.close()
