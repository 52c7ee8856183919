"""Write the report of an application's test in a fixed format."""

from __future__ import annotations

import json
import os
import sys
import threading
from http import HTTPStatus
from pathlib import Path
from typing import Any

MOST_PROBLEMS = 40
LONGEST = 1500
UNREADABLE = {
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
}
"""Responses of servers to a body they cannot parse, before any operation runs."""


class DriveEnded(Exception):  # noqa: N818 - an outcome of the test, no error of ours
    """The test cannot continue: its ending, and a message."""

    def __init__(self, ended: str, message: str) -> None:
        super().__init__(message)
        self.ended = ended
        self.message = message


class Report:
    """The report of a test, written once."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.problems: dict[tuple[str, ...], dict[str, str]] = {}
        self.operations = 0
        self.requests = 0
        self.lock = threading.Lock()

    def add_problem(self, key: tuple[str, ...], text: str, request: str = "") -> None:
        """Add a problem; of similar ones the shortest request is kept."""
        known = self.problems.get(key)
        better = known is None or len(request) < len(known["request"])
        # An untested operation is no difference and must not displace one.
        untried = [one["kind"] == "error" for one in self.problems.values()]
        if better and (known or untried.count(key[1] == "error") < MOST_PROBLEMS):
            self.problems[key] = {
                "operation": key[0],
                "kind": key[1],
                "text": text[:LONGEST],
                "request": request[:LONGEST],
            }

    def leave(self) -> None:
        """End the process immediately without joining threads that wait for a response."""
        sys.stdout.flush()
        os._exit(0)

    def end(self, ended: str, message: str = "", log: str = "") -> None:
        """Write the report, once: what ends a test first is what it says."""
        # Never released: the timeout may strike just while the test writes its result.
        if not self.lock.acquire(blocking=False):
            return
        document = {
            "ended": ended,
            "message": message[:LONGEST],
            "log": log,
            "operations": self.operations,
            "requests": self.requests,
            "problems": [self.problems[key] for key in sorted(self.problems)],
        }
        beside = Path(self.path + ".new")
        beside.write_text(json.dumps(document), "utf-8")
        beside.replace(self.path)
        say(f"{ended}: {self.requests} requests, {len(self.problems)} problems")


def say(line: str) -> None:
    """Print a line at once, as a sign of progress."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def describe_failure(kind: str, failure: Any) -> tuple[str, str]:
    """Return what distinguishes a failure from others of its kind, and its description."""
    status = getattr(failure, "status_code", "")
    if kind == "UndefinedStatusCode":
        has = ", ".join(map(str, failure.defined_status_codes)) or "none"
        return str(status), f"answers {status}; documented: {has}"
    if kind == "ServerError":
        return str(status), f"answers {status}: the application failed"
    if kind == "JsonSchemaError":
        where = "/".join(map(str, failure.instance_path))
        text = failure.validation_message
        at = f" (at {where})" if where else ""
        place = "/".join(map(str, failure.schema_path))
        return place, f"answers with a body that differs from the document: {text}{at}"
    if kind == "UndefinedContentType":
        has = ", ".join(failure.defined_content_types)
        return failure.content_type, f"answers with {failure.content_type}; documented: {has}"
    if kind == "MissingHeaders":
        names = ", ".join(failure.missing_headers)
        return names, f"answers without the header {names}, which the document requires"
    first = " ".join((failure.message or "").split())
    return "", f"fails a check of schemathesis: {failure.title}: {first}".removesuffix(": ")


def is_reported_otherwise(status: int, call: Any) -> bool:
    """Return whether an undocumented status is no fault, or is reported as another failure."""
    return status >= HTTPStatus.INTERNAL_SERVER_ERROR or (status in UNREADABLE and is_garbled(call))


def is_garbled(call: Any) -> bool:
    """Return whether a request has a JSON content type but an invalid JSON body."""
    if call is None or not call.request.body:
        return False
    headers = {name.lower(): values for name, values in call.request.headers.items()}
    try:
        json.loads(call.request.body)
    except ValueError:
        return "json" in str(headers.get("content-type", ""))
    return False
