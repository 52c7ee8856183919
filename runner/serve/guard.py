"""What every request passes before anything of ours looks at it, and what every answer carries.

A page that the person visits elsewhere must neither read nor start anything here: the Host is one
of an exact list (against DNS rebinding), Origin and Sec-Fetch-Site say who asks (Fetch Metadata,
w3.org/TR/fetch-metadata), a body is small and of a type that a foreign form cannot send unasked.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, PlainTextResponse, Response

from runner.text.wording import read_number

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from runner.serve.access import Access, Session

MOST_BODY = 1 << 20
"""Bytes of a request's body."""
SECRET = "x-runner-secret"
"""The header with the second secret."""
# default-src does not reach base-uri, form-action and frame-ancestors (CSP Level 3): each is
# said.
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
"""What needs no session: the way to one, and what asks for a token of its own."""
_STATIC = "/static/"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request goes no further."""

    status: int
    message: str
    hint: str = ""
    wait: float = 0.0

    def response(self, *, as_json: bool) -> Response:
        """The answer; a program gets an object."""
        headers = {"retry-after": str(max(1, math.ceil(self.wait)))} if self.wait else {}
        if as_json:
            said = {"message": self.message, "hint": self.hint or None}
            return JSONResponse({"error": said}, self.status, headers)
        text = f"{self.message}\n{self.hint}".strip() + "\n"
        return PlainTextResponse(text, self.status, headers)


class _RefusedError(Exception):
    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


class Guard:
    """Wraps the application; nothing reaches it that is not let in here."""

    def __init__(self, app: ASGIApp, access: Access, hosts: frozenset[str]) -> None:
        self._app, self._access, self._hosts = app, access, hosts
        self._origins = frozenset(f"http://{host}" for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request, or the server's own beginning and end."""
        # The same-origin policy does not hold for WebSockets (RFC 6455, 10.2): none is answered.
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        path = scope["path"]
        outgoing = _with_headers(send, keeps=path.startswith(_STATIC))
        try:
            headers = Headers(scope=scope)
            self._check_origin(scope["method"], headers)
            session = self._check_session(scope["method"], path, headers)
            body = b""
            if scope["method"] == "POST":
                body = await _read_body(headers, receive)
        except _RefusedError as refused:
            as_json = path.startswith("/api/") or path == "/session"
            await refused.refusal.response(as_json=as_json)(scope, receive, outgoing)
            return
        scope["runner.session"] = session
        await self._app(scope, _again(body, receive), outgoing)

    def _check_origin(self, method: str, headers: Headers) -> None:
        hosts = headers.getlist("host")
        # Of two Host lines two readers may believe different ones; RFC 9112, 3.2 has both
        # refused. 421 is RFC 9110, 15.5.20: not the origin that was meant.
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            raise _RefusedError(Refusal(421, "this server is not called so"))
        if method not in ("GET", "HEAD", "POST"):
            raise _RefusedError(Refusal(405, "only GET, HEAD and POST are known here"))
        site = headers.get("sec-fetch-site")
        allowed = ("same-origin",) if method == "POST" else ("same-origin", "none")
        # `none` is what a person typed or took from a bookmark. A program sends no such header,
        # and is judged by Origin and secrets.
        if site is not None and site not in allowed:
            raise _RefusedError(Refusal(403, "another site asks"))
        origins = headers.getlist("origin")
        if any(one not in self._origins for one in origins) or len(origins) > 1:
            raise _RefusedError(Refusal(403, "another origin asks"))
        # A browser sends Origin with everything but GET and HEAD (Fetch, "Origin header"):
        # without it comes no page of ours.
        if method == "POST" and not origins:
            raise _RefusedError(Refusal(403, "a POST says its Origin"))

    def _check_session(self, method: str, path: str, headers: Headers) -> Session | None:
        now = time.monotonic()
        session = self._find_session(headers)
        bucket = session.bucket if session else self._access.strangers
        # Before any other answer: who guesses cookies or links is slowed by the one bucket of all
        # strangers.
        if wait := bucket.take(now):
            raise _RefusedError(Refusal(429, "too many requests", wait=wait))
        if path in _OPEN or path.startswith(_STATIC):
            return session
        link = "type `runner serve --link`, and open what it prints"
        if session is None:
            raise _RefusedError(Refusal(401, "this browser was not let in", link))
        if (method == "POST" or path.startswith("/api/")) and not session.knows(
            headers.get(SECRET, "")
        ):
            raise _RefusedError(Refusal(401, "this tab may only read", link))
        return session

    def _find_session(self, headers: Headers) -> Session | None:
        for line in headers.getlist("cookie"):
            try:
                cookies = SimpleCookie(line[:8192])
            except CookieError:
                continue
            if (one := cookies.get(self._access.cookie)) is not None:
                found = self._access.find(one.value)
                if found is not None:
                    return found
        return None


async def _read_body(headers: Headers, receive: Receive) -> bytes:
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in _TYPES:
        raise _RefusedError(Refusal(415, "a body is JSON or a form"))
    too_large = Refusal(413, f"a body has at most {MOST_BODY} bytes")
    said = headers.get("content-length", "0")
    if not 0 <= read_number(said) <= MOST_BODY:
        raise _RefusedError(too_large)
    body = b""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _RefusedError(Refusal(400, "the body has no end"))
        piece: bytes = message.get("body", b"")
        # A length that was told may be wrong, and a chunked body tells none: what comes is
        # counted.
        body += piece
        if len(body) > MOST_BODY:
            raise _RefusedError(too_large)
        if not message.get("more_body"):
            return body


def _again(body: bytes, receive: Receive) -> Receive:
    """The body that was read, then whatever comes: that the other side has gone."""
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
