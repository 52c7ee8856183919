"""The application under test as its driver sees it: output, address and responses.

Which operations of a document an application serves, and which it serves beside them.
"""

from __future__ import annotations

import http.client
import json
import re
import socket
import threading
import time
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from runner.contracts.inside.operations import operations_of, path_shape
from runner.contracts.inside.report import DriveEnded

if TYPE_CHECKING:
    from runner.contracts.inside.report import Report


TAIL = 4000
NOWHERE = "/no-such-page-of-this-application"


def only_loopback(event: str, arguments: tuple[Any, ...]) -> None:
    """Refuse every connection that leaves this machine."""
    if event == "socket.connect":
        address = arguments[1]
        # A Unix socket's address is a path or bytes: it never leaves the machine (unix(7)).
        host = address[0] if isinstance(address, tuple) else "127.0.0.1"
        if host not in ("127.0.0.1", "::1", "localhost"):
            raise ConnectionRefusedError(f"{host} is not this machine")


class AppOutput:
    """The application's output as it comes: its end is kept, the rest counted for nothing."""

    def __init__(self, pipe: str) -> None:
        self.kept = b""
        self.ended = False
        threading.Thread(target=self.read, args=(pipe,), daemon=True).start()

    def read(self, pipe: str) -> None:
        """Read the pipe until it is closed by all writers, and keep the end of the output."""
        with Path(pipe).open("rb", buffering=0) as stream:
            while chunk := stream.read(1 << 16):
                self.kept = (self.kept + chunk)[-TAIL:]
        self.ended = True

    def tail(self) -> str:
        """Return the end of the application's output."""
        return self.kept.decode("utf-8", "replace")


def refuse_taken_port(url: str) -> None:
    """Stop where somebody else answers already: it would be them who is tested."""
    parts = urlsplit(url)
    try:
        socket.create_connection((parts.hostname, parts.port), timeout=1).close()
    except OSError:
        return
    raise DriveEnded("taken", f"port {parts.port} is already in use")


def reachable(job: dict[str, Any], output: AppOutput) -> tuple[str, list[list[str]] | None]:
    """Wait until the application answers; its address, and the routes it says it has."""
    last = time.monotonic() + job["start_seconds"]
    while time.monotonic() < last:
        address = handshake(job["handshake"])
        if "error" in address:
            raise DriveEnded("not-started", address["error"])
        url = job["url"] or (f"http://127.0.0.1:{address['port']}" if address else "")
        if url and answers(url, job["answer_seconds"]):
            return with_prefix(url, job["prefix"]), address.get("routes")
        # Check again: since the last check it may have written its error and ended.
        if output.ended and "error" not in handshake(job["handshake"]):
            raise DriveEnded("not-started", "it exited before it answered")
        time.sleep(0.02)
    raise DriveEnded("not-started", f"it did not answer within {job['start_seconds']:g} s")


def with_prefix(url: str, prefix: str) -> str:
    """Return the base URL of a document's paths; a URL with its own path ignores `prefix`."""
    return url.rstrip("/") + ("" if urlsplit(url).path.strip("/") else prefix)


def handshake(path: str) -> dict[str, Any]:
    """Return the handshake document of the serving script; empty if it does not exist yet."""
    try:
        document: dict[str, Any] = json.loads(Path(path).read_text("utf-8"))
    except FileNotFoundError:
        return {}
    return document


def answers(url: str, patience: float) -> bool:
    """Return whether the application answers any request."""
    try:
        return bool(fetch(url, "GET", NOWHERE, patience)[0])
    except OSError:
        return False


def fetch(url: str, method: str, path: str, patience: float) -> tuple[int, str, bytes]:
    """Return status, content type and body of a response. Raises OSError if there is none."""
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


# --- inventory ------------------------------------------------------------------------


ANYTHING = "*"
"""Method of a route below which the application declares no operations."""
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
PARAMETER = re.compile(r"\{[^{}]*\}")
NOT_THERE = {HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.NOT_IMPLEMENTED}


class Inventory:
    """The operations of a document, held against an application that runs."""

    def __init__(
        self,
        operations: list[tuple[str, str]],
        routes: list[list[str]] | None,
        url: str,
        patience: float,
        report: Report,
    ) -> None:
        self.operations = operations
        self.known = routes
        self.url = url
        self.patience = patience
        self.report = report
        self.answered: dict[str, set[int]] = {}
        self.alike: dict[str, set[tuple[str, bytes]]] = {}
        report.operations = len(operations)

    def compare(self) -> None:
        """Compare with the routes the application has, or with the document it serves itself."""
        prefix = urlsplit(self.url).path.rstrip("/")
        known = self.known if self.known is not None else self.own_document()
        if known is None:
            return
        opaque = tuple(path.rstrip("/") + "/" for method, path in known if method == ANYTHING)
        served = {(method, path_shape(path)): path for method, path in known if method != ANYTHING}
        documented = {(method, path_shape(prefix + path)): path for method, path in self.operations}
        for key in sorted(served.keys() - documented.keys()):
            text = "is served, but is not in the document"
            self.report.add_problem((f"{key[0]} {served[key]}", "undocumented-operation"), text)
        if self.known is not None:
            for (method, whole), path in documented.items():
                if (method, whole) not in served and not f"{whole}/".startswith(opaque):
                    self.record_missing(f"{method} {path}", "has no route in the application")

    def own_document(self) -> list[list[str]] | None:
        """Return the operations in the application's own /openapi.json, or None."""
        address = f"http://{urlsplit(self.url).netloc}"
        try:
            status, kind, body = fetch(address, "GET", "/openapi.json", self.patience)
            served = json.loads(body) if status == HTTPStatus.OK and "json" in kind else None
        except (OSError, ValueError):
            return None
        return [list(one) for one in operations_of(served)] if isinstance(served, dict) else None

    def record_answer(self, label: str, status: int, kind: str, body: bytes) -> None:
        """Record one response of an operation."""
        self.answered.setdefault(label, set()).add(status)
        same = self.alike.setdefault(label, set())
        # Two different answers are enough: the question is only whether they are stable.
        if len(same) <= 1:
            same.add((kind, body))

    def record_missing_operations(self) -> None:
        """Record operations that respond like a missing page."""
        for method, path in self.operations:
            label = f"{method} {path}"
            statuses = self.answered.get(label, set())
            if statuses and statuses <= NOT_THERE:
                self.record_missing(label, f"answers {min(statuses)} to every request")
            elif statuses == {HTTPStatus.NOT_FOUND} and self.alike[label] == {self.nowhere(method)}:
                self.record_missing(label, "answers every request as if the path did not exist")

    def report_undocumented(self) -> None:
        """Report undocumented methods of documented paths that succeed without a route table."""
        if self.known is not None or any(key[1] == "late" for key in self.report.problems):
            return
        paths = dict.fromkeys(path for _, path in self.operations)
        asked = {(method, path) for path in paths for method in METHODS} - set(self.operations)
        for method, path in sorted(asked):
            if self.succeeds(method, path):
                text = "is served, but is not in the document"
                self.report.add_problem((f"{method} {path}", "undocumented-operation"), text)

    def succeeds(self, method: str, path: str) -> bool:
        """Return whether a call succeeds, unlike calls of unknown paths."""
        at = PARAMETER.sub("1", path)
        try:
            tried = fetch(self.url, method, at, self.patience)
            if tried[0] // 100 != HTTPStatus.OK // 100:
                return False
            return tried not in (
                fetch(self.url, method, NOWHERE, self.patience),
                fetch(self.url, "GET", at, self.patience),
            )
        except OSError:
            return False

    def record_missing(self, label: str, text: str) -> None:
        """Record an operation that is not served."""
        self.report.add_problem((label, "missing-operation"), text)

    def nowhere(self, method: str) -> tuple[str, bytes]:
        """Return how the application responds to an unknown page."""
        try:
            _, kind, body = fetch(self.url, method, NOWHERE, self.patience)
        except OSError:
            return "", b""
        return kind, body
