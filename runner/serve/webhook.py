"""`POST /hooks/github`: a forge reports news, and the repository's bridge looks.

No session and no Host are asked for, since a forge has none: a signature by a secret that both
know says who it is (docs.github.com, "Validating webhook deliveries"). Nothing is taken from what
it tells but the repository's name; a delivery that is sent again wakes nobody, and one that is
lost is made up for by the next look.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import re
import time
from collections import OrderedDict
from typing import TYPE_CHECKING

from starlette.datastructures import Headers
from starlette.responses import JSONResponse

from runner.app.forge_wake import wake_bridge
from runner.serve.access import Bucket
from runner.serve.guard import MOST_BODY, RequestLimits
from runner.text.wording import read_number

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from runner.config.paths import Places

SECRET_NAME = "GITHUB_WEBHOOK_SECRET"
_PATH = "/hooks/github"
_SIGNATURE = re.compile(r"sha256=([0-9a-f]{64})")
_DELIVERY = re.compile(r"[0-9a-fA-F-]{8,64}")
_REMEMBERED = 4096
"""Deliveries remembered to detect repeats."""
_BURST, _PER_SECOND = 60.0, 10.0


class _RejectedError(Exception):
    """The request is refused with this status and message."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Webhook:
    """Stands before an application: answers its own path, and hands on everything else."""

    def __init__(self, app: ASGIApp, secret: str, places: Places) -> None:
        self._app, self._secret, self._places = app, secret.encode(), places
        self._bucket = Bucket(_BURST, _PER_SECOND)
        self._limits = RequestLimits()
        self._seen: OrderedDict[str, None] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http" or scope["path"] != _PATH:
            await self._app(scope, receive, send)
            return
        try:
            document = await self._hear(scope, receive)
            answer = JSONResponse(document, 202)
        except _RejectedError as refused:
            answer = JSONResponse({"error": {"message": str(refused)}}, refused.status)
        answer.headers["cache-control"] = "no-store"
        answer.headers["x-content-type-options"] = "nosniff"
        await answer(scope, receive, send)

    async def _hear(self, scope: Scope, receive: Receive) -> dict[str, object]:
        if scope["method"] != "POST":
            raise _RejectedError(405, "a delivery must be a POST")
        if self._bucket.take(time.monotonic()):
            raise _RejectedError(429, "too many deliveries")
        headers = Headers(scope=scope)
        if headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            raise _RejectedError(415, "the content type of the webhook must be application/json")
        signatures = headers.getlist("x-hub-signature-256")
        signed = _SIGNATURE.fullmatch(signatures[0]) if len(signatures) == 1 else None
        if signed is None:
            raise _RejectedError(401, "missing or invalid X-Hub-Signature-256")
        try:
            async with self._limits.await_body(""):
                body = await _read(headers, receive)
        except TimeoutError:
            raise _RejectedError(408, "the request body did not arrive in time") from None
        # Before parsing: without the secret no data reaches the JSON parser. The comparison takes
        # constant time, as GitHub's page requires.
        made = hmac.new(self._secret, body, hashlib.sha256).hexdigest()
        if not hmac.compare_digest(made, signed[1]):
            raise _RejectedError(401, "the signature does not match the secret")
        if self._is_known(headers.get("x-github-delivery", "")):
            return {"woken": False, "why": "this delivery was already received"}
        return {"woken": await asyncio.to_thread(wake_bridge, self._places, _find_name(body))}

    def _is_known(self, delivery: str) -> bool:
        """Return whether a delivery was already received."""
        if not _DELIVERY.fullmatch(delivery):
            raise _RejectedError(400, "missing or invalid X-GitHub-Delivery")
        known = delivery in self._seen
        self._seen[delivery] = None
        self._seen.move_to_end(delivery)
        while len(self._seen) > _REMEMBERED:
            self._seen.popitem(last=False)
        return known


async def _read(headers: Headers, receive: Receive) -> bytes:
    length = headers.get("content-length", "0")
    if not 0 <= read_number(length) <= MOST_BODY:
        raise _RejectedError(413, f"a delivery may have at most {MOST_BODY} bytes")
    body = b""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _RejectedError(400, "the request body is incomplete")
        piece: bytes = message.get("body", b"")
        body += piece
        if len(body) > MOST_BODY:
            raise _RejectedError(413, f"a delivery may have at most {MOST_BODY} bytes")
        if not message.get("more_body"):
            return body


def _find_name(body: bytes) -> str:
    """Return the repository in a webhook delivery; empty if it names none."""
    try:
        document = json.loads(body)
    # A hundred thousand brackets make CPython's decoder raise RecursionError, which is not a
    # ValueError.
    except (ValueError, RecursionError):
        raise _RejectedError(400, "the request body is not valid JSON") from None
    repository = document.get("repository") if isinstance(document, dict) else None
    name = repository.get("full_name") if isinstance(repository, dict) else None
    return name if isinstance(name, str) else ""
