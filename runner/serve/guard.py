"""Check every request before other code sees it, and set the headers of every response.

A page that the person visits elsewhere must neither read nor start anything here: the Host is one
of an exact list (against DNS rebinding), Origin and Sec-Fetch-Site say who asks (Fetch Metadata,
w3.org/TR/fetch-metadata), a body is small and of a type that a foreign form cannot send unasked.
Requests in progress are limited for each session and for all clients without one; bodies, answers
and event streams are counted apart, so that filling one kind still leaves pages to open.

`Webhook` takes `POST /hooks/github`, with which a forge reports news. A forge has neither session
nor Host: a signature by a shared secret identifies it (docs.github.com, "Validating webhook
deliveries"). Only the repository's name is read. A repeated delivery wakes nobody, and the next
check of the bridge makes up for a lost one.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import math
import re
import time
from collections import Counter, OrderedDict
from contextlib import asynccontextmanager, contextmanager, nullcontext
from enum import Enum
from http import HTTPStatus
from ipaddress import ip_address
from typing import TYPE_CHECKING

from msgspec import Struct
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response

from runner.app.forge_wake import wake_bridge
from runner.errors import RunnerError
from runner.serve.sessions import Bucket
from runner.text.wording import read_number

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from contextlib import AbstractContextManager
    from ipaddress import IPv4Network, IPv6Network

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from runner.config.paths import Places
    from runner.serve.sessions import Access, BrowserSession

MOST_BODY = 1 << 20
"""Maximum bytes of a request's body."""
SECRET = "x-runner-secret"
"""Header with the second secret."""

# default-src does not cover base-uri, form-action and frame-ancestors (CSP Level 3): each needs a
# value.
CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
    " font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": CSP,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
_TYPES = ("application/json", "application/x-www-form-urlencoded")
_OPEN = ("/open", "/session", "/favicon.ico", "/metrics")
"""Paths without a session: those that open one, and those with their own token."""
_STATIC = "/static/"
BODY_SECONDS = 10.0
"""Timeout of a body."""
MOST_STREAMS = 400
"""Maximum event streams of all sessions."""


class RequestRefusal(Struct, frozen=True):
    """The reason why a request is refused."""

    status: int
    message: str
    hint: str = ""
    wait: float = 0.0

    def response(self, *, as_json: bool) -> Response:
        """Return the refusal as a response, as JSON or text."""
        headers = {"retry-after": str(max(1, math.ceil(self.wait)))} if self.wait else {}
        if as_json:
            document = {"message": self.message, "hint": self.hint or None}
            return JSONResponse({"error": document}, self.status, headers)
        text = f"{self.message}\n{self.hint}".strip() + "\n"
        return PlainTextResponse(text, self.status, headers)


_BUSY = RequestRefusal(429, "too many requests at once", wait=5.0)


class _RefusedError(Exception):
    def __init__(self, refusal: RequestRefusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


class Gateway(Struct, frozen=True):
    """The host names and addresses from which requests may come."""

    hosts: frozenset[str]
    scheme: str = "http"
    proxy: IPv4Network | IPv6Network | None = None
    """Who alone is heard, and believed about whom it speaks for; None: everybody speaks for
    themselves."""

    @property
    def origins(self) -> frozenset[str]:
        """The origins that pages of ours have."""
        return frozenset(f"{self.scheme}://{host}" for host in self.hosts)

    def find_client(self, peer: str, headers: Headers) -> str:
        """Return the client's address. Raises an error for requests that bypass the proxy."""
        if self.proxy is None:
            return peer
        # Only trust these headers from the proxy: any other client could name any address.
        if not _is_within(peer, self.proxy):
            raise _RefusedError(RequestRefusal(403, "only requests from the proxy are accepted"))
        if headers.getlist("x-forwarded-proto") != ["https"]:
            hint = "let the proxy set X-Forwarded-Proto and redirect http to https"
            raise _RefusedError(
                RequestRefusal(403, "the proxy does not report an https request", hint)
            )
        # The last address was seen by the proxy; earlier ones are claims of the client.
        address = ",".join(headers.getlist("x-forwarded-for")).rpartition(",")[2].strip()
        return address if _is_within(address, None) else peer


def _is_within(address: str, network: IPv4Network | IPv6Network | None) -> bool:
    try:
        found = ip_address(address)
    except ValueError:
        return False
    return network is None or found in network


class Guard:
    """Wraps the application; nothing reaches it that is not let in here."""

    def __init__(self, app: ASGIApp, access: Access, gateway: Gateway) -> None:
        self._app, self._access, self._gateway = app, access, gateway
        self._limits = RequestLimits()
        self._hosts, self._origins = gateway.hosts, gateway.origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request, or the server's start and end."""
        # The same-origin policy does not apply to WebSockets (RFC 6455, 10.2): none is accepted.
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        path = scope["path"]
        outgoing = _with_headers(send, keeps=path.startswith(_STATIC))
        try:
            headers = Headers(scope=scope)
            client = self._gateway.find_client((scope.get("client") or ("",))[0], headers)
            self._check_origin(scope["method"], headers)
            session = await self._check_session(scope["method"], path, headers, client)
            owner = session.owner if session else ""
            body = b""
            if scope["method"] == "POST":
                body = await self._read_body(owner, headers, receive)
            place = self._limits.take(_find_kind("GET", path, headers), owner)
        except (_RefusedError, FullError) as refused:
            found = refused.refusal if isinstance(refused, _RefusedError) else _BUSY
            await self._answer(found, path, headers)(scope, receive, outgoing)
            return
        scope["runner.session"], scope["runner.client"] = session, client
        with place:
            await self._app(scope, _again(body, receive), outgoing)

    async def _read_body(self, owner: str, headers: Headers, receive: Receive) -> bytes:
        try:
            async with self._limits.await_body(owner):
                return await _read_body(headers, receive)
        except TimeoutError:
            raise _RefusedError(
                RequestRefusal(408, "the request body did not arrive in time")
            ) from None

    def _answer(self, refusal: RequestRefusal, path: str, headers: Headers) -> Response:
        is_page = headers.get("sec-fetch-dest") == "document"
        if self._access.is_team and refusal.status == HTTPStatus.UNAUTHORIZED and is_page:
            return RedirectResponse("/open", 303)
        return refusal.response(as_json=path.startswith("/api/") or path == "/session")

    def _check_origin(self, method: str, headers: Headers) -> None:
        hosts = headers.getlist("host")
        # Readers may differ on two Host lines; RFC 9112, 3.2 rejects both. 421 is RFC 9110,
        # 15.5.20: not the intended origin.
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            raise _RefusedError(RequestRefusal(421, "the Host header is not a name of this server"))
        if method not in ("GET", "HEAD", "POST"):
            raise _RefusedError(RequestRefusal(405, "only GET, HEAD and POST are supported"))
        site = headers.get("sec-fetch-site")
        allowed = ("same-origin",) if method == "POST" else ("same-origin", "none")
        # `none` is a typed address or a bookmark. A program sends no such header, and is checked by
        # Origin and secrets.
        if site is not None and site not in allowed:
            raise _RefusedError(RequestRefusal(403, "requests from another site are refused"))
        origins = headers.getlist("origin")
        if any(one not in self._origins for one in origins) or len(origins) > 1:
            raise _RefusedError(RequestRefusal(403, "requests from another origin are refused"))
        # Browsers send Origin with everything except GET and HEAD (Fetch, "Origin header"): without
        # it the request is not from our page.
        if method == "POST" and not origins:
            raise _RefusedError(RequestRefusal(403, "a POST needs an Origin header"))

    async def _check_session(
        self, method: str, path: str, headers: Headers, client: str
    ) -> BrowserSession | None:
        session = self._find_session(headers)
        # Before the bucket: rejected streams and bodies don't cost the same session a page.
        if not self._limits.has_room(
            _find_kind(method, path, headers), session.owner if session else ""
        ):
            raise FullError
        if wait := self._access.take(session, client, f"{method} {path}"):
            raise _RefusedError(RequestRefusal(429, "too many requests", wait=wait))
        if path in _OPEN or path.startswith(_STATIC):
            return session
        is_team = self._access.is_team
        hint = "sign in: /open" if is_team else "run `runner serve --link`, and open the link"
        if session is None or not await self._is_admitted(session):
            raise _RefusedError(RequestRefusal(401, "this browser is not signed in", hint))
        if (method == "POST" or path.startswith("/api/")) and not session.knows(
            headers.get(SECRET, "")
        ):
            raise _RefusedError(RequestRefusal(401, "this tab is read-only", hint))
        return session

    async def _is_admitted(self, session: BrowserSession) -> bool:
        if not self._access.is_team:
            return True
        try:
            return await run_in_threadpool(self._access.admit, session)
        except RunnerError as error:  # who cannot be asked lets nobody in
            raise _RefusedError(
                RequestRefusal(503, error.message, "try again in a moment")
            ) from error

    def _find_session(self, headers: Headers) -> BrowserSession | None:
        # One by one: cookies of all other servers on this host arrive, too, and `http.cookies`
        # reads none after an unusual one, such as raw JSON.
        pieces = ";".join(headers.getlist("cookie")).split(";")
        for name, _, value in (one.strip().partition("=") for one in pieces):
            found = self._access.find(value) if name == self._access.cookie else None
            if found is not None:
                return found
        return None


def _find_kind(method: str, path: str, headers: Headers) -> RequestKind:
    """Return which limit a request counts for first."""
    if method == "POST":
        return RequestKind.BODY
    is_stream = path.endswith("/events") and "text/event-stream" in headers.get("accept", "")
    return RequestKind.STREAM if is_stream else RequestKind.WORK


async def _read_body(headers: Headers, receive: Receive) -> bytes:
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in _TYPES:
        raise _RefusedError(RequestRefusal(415, "a request body must be JSON or a form"))
    return await _read_bytes(headers, receive)


async def _read_bytes(headers: Headers, receive: Receive) -> bytes:
    too_large = RequestRefusal(413, f"the request body is larger than {MOST_BODY} bytes")
    length = headers.get("content-length", "0")
    if not 0 <= read_number(length) <= MOST_BODY:
        raise _RefusedError(too_large)
    body = b""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _RefusedError(RequestRefusal(400, "the request body is incomplete"))
        piece: bytes = message.get("body", b"")
        # A Content-Length may be wrong, and a chunked body has none: count the bytes.
        body += piece
        if len(body) > MOST_BODY:
            raise _RefusedError(too_large)
        if not message.get("more_body"):
            return body


def _again(body: bytes, receive: Receive) -> Receive:
    """Return a receive function that replays the body before further messages."""
    given = False

    async def read() -> Message:
        nonlocal given
        if not given:
            given = True
            return {"type": "http.request", "body": body, "more_body": False}
        return await receive()

    return read


def _with_headers(send: Send, *, keeps: bool) -> Send:
    async def outgoing(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers[name] = value
            headers["cache-control"] = "private, max-age=3600" if keeps else "no-store"
        await send(message)

    return outgoing


class RequestKind(Enum):
    """The resources that a request occupies."""

    BODY = "body"
    WORK = "work"
    STREAM = "stream"


MOST_OF_SESSION = {RequestKind.BODY: 32, RequestKind.WORK: 32, RequestKind.STREAM: 16}
MOST_WITHOUT_SESSION = 16
"""Maximum bodies and answers of all clients without a session."""


class FullError(Exception):
    """No place is free."""


class RequestLimits:
    """The requests of one server; `owner` is a session or token, empty for all clients without."""

    def __init__(self) -> None:
        self._taken: Counter[tuple[RequestKind, str]] = Counter()
        self._bodies: dict[asyncio.Timeout, None] = {}
        """Bodies of clients without a session, oldest first."""

    def has_room(self, kind: RequestKind, owner: str) -> bool:
        """Return whether one more request may begin."""
        if kind is RequestKind.BODY and not owner:
            return True  # the oldest ends
        if kind is RequestKind.STREAM:
            streams = sum(count for (one, _), count in self._taken.items() if one is kind)
            if streams >= MOST_STREAMS:
                return False
        most = MOST_OF_SESSION[kind] if owner else MOST_WITHOUT_SESSION
        return self._taken[kind, owner] < most

    def take(self, kind: RequestKind, owner: str) -> AbstractContextManager[None]:
        """Reserve a place for a request. Raises FullError before the context is entered."""
        if not self.has_room(kind, owner):
            raise FullError
        return self._hold(kind, owner)

    @contextmanager
    def _hold(self, kind: RequestKind, owner: str) -> Iterator[None]:
        self._taken[kind, owner] += 1
        try:
            yield
        finally:
            self._taken[kind, owner] -= 1
            if not self._taken[kind, owner]:
                del self._taken[kind, owner]

    @asynccontextmanager
    async def await_body(self, owner: str) -> AsyncIterator[None]:
        """Bound the time in which a body comes. Raises FullError, and TimeoutError at its end."""
        place = self.take(RequestKind.BODY, owner) if owner else nullcontext()
        async with asyncio.timeout(BODY_SECONDS) as limit:
            if not owner:
                self._end_oldest()
                self._bodies[limit] = None
            try:
                with place:
                    yield
            finally:
                self._bodies.pop(limit, None)

    def _end_oldest(self) -> None:
        """End the oldest body of clients without a session, to make room for another one."""
        while len(self._bodies) >= MOST_WITHOUT_SESSION:
            oldest = next(iter(self._bodies))
            del self._bodies[oldest]
            if not oldest.expired():
                oldest.reschedule(0)


WEBHOOK_SECRET = "GITHUB_WEBHOOK_SECRET"
_WEBHOOK_PATH = "/hooks/github"
_SIGNATURE = re.compile(r"sha256=([0-9a-f]{64})")
_DELIVERY = re.compile(r"[0-9a-fA-F-]{8,64}")
_REMEMBERED = 4096
"""Deliveries remembered to detect repeats."""
_BURST, _PER_SECOND = 60.0, 10.0


class Webhook:
    """Stands before an application: answers its own path, and hands on everything else."""

    def __init__(self, app: ASGIApp, secret: str, places: Places) -> None:
        self._app, self._secret, self._places = app, secret.encode(), places
        self._bucket = Bucket(_BURST, _PER_SECOND)
        self._limits = RequestLimits()
        self._seen: OrderedDict[str, None] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http" or scope["path"] != _WEBHOOK_PATH:
            await self._app(scope, receive, send)
            return
        try:
            document = await self._hear(scope, receive)
            answer = JSONResponse(document, 202)
        except _RefusedError as refused:
            answer = JSONResponse({"error": {"message": str(refused)}}, refused.refusal.status)
        answer.headers["cache-control"] = "no-store"
        answer.headers["x-content-type-options"] = "nosniff"
        await answer(scope, receive, send)

    async def _hear(self, scope: Scope, receive: Receive) -> dict[str, object]:
        if scope["method"] != "POST":
            raise _RefusedError(RequestRefusal(405, "a delivery must be a POST"))
        if self._bucket.take(time.monotonic()):
            raise _RefusedError(RequestRefusal(429, "too many deliveries"))
        headers = Headers(scope=scope)
        if headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            raise _RefusedError(
                RequestRefusal(415, "the content type of the webhook must be application/json")
            )
        signatures = headers.getlist("x-hub-signature-256")
        signed = _SIGNATURE.fullmatch(signatures[0]) if len(signatures) == 1 else None
        if signed is None:
            raise _RefusedError(RequestRefusal(401, "missing or invalid X-Hub-Signature-256"))
        try:
            async with self._limits.await_body(""):
                body = await _read_bytes(headers, receive)
        except TimeoutError:
            raise _RefusedError(
                RequestRefusal(408, "the request body did not arrive in time")
            ) from None
        # Before parsing: without the secret no data reaches the JSON parser. The comparison takes
        # constant time, as GitHub's page requires.
        made = hmac.new(self._secret, body, hashlib.sha256).hexdigest()
        if not hmac.compare_digest(made, signed[1]):
            raise _RefusedError(RequestRefusal(401, "the signature does not match the secret"))
        if self._is_known(headers.get("x-github-delivery", "")):
            return {"woken": False, "why": "this delivery was already received"}
        return {"woken": await asyncio.to_thread(wake_bridge, self._places, _find_name(body))}

    def _is_known(self, delivery: str) -> bool:
        """Return whether a delivery was already received."""
        if not _DELIVERY.fullmatch(delivery):
            raise _RefusedError(RequestRefusal(400, "missing or invalid X-GitHub-Delivery"))
        known = delivery in self._seen
        self._seen[delivery] = None
        self._seen.move_to_end(delivery)
        while len(self._seen) > _REMEMBERED:
            self._seen.popitem(last=False)
        return known


def _find_name(body: bytes) -> str:
    """Return the repository in a webhook delivery; empty if it names none."""
    try:
        document = json.loads(body)
    # A hundred thousand brackets make CPython's decoder raise RecursionError, which is not a
    # ValueError.
    except (ValueError, RecursionError):
        raise _RefusedError(RequestRefusal(400, "the request body is not valid JSON")) from None
    repository = document.get("repository") if isinstance(document, dict) else None
    name = repository.get("full_name") if isinstance(repository, dict) else None
    return name if isinstance(name, str) else ""
