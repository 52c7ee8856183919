"""HTTP requests to a forge's API: token, pages, ETags, rate limits, bounded responses.

The token goes to the one address that was given, over TLS or to this machine; a redirect is not
followed, since it would carry the token elsewhere. Only what reads is tried again: whether a write
arrived is asked of the forge, by whoever wrote.
"""

from __future__ import annotations

import json
import re
import threading
import time
from http.client import HTTPException
from typing import TYPE_CHECKING
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request

from msgspec import Struct, field

from runner import effects
from runner.errors import RunnerError
from runner.extensions.bridge.forge import UNFIT, ForgeBusyError, ForgeError
from runner.process.timed_http import open_timed
from runner.secrets.redact import redact
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from email.message import Message

MOST_BYTES = 48 << 20
"""Bytes of one response: a hundred texts of 65,536 characters, each as `\u0001`, are 39 MB."""
_MOST_KEPT = 64 << 20
"""Bytes of responses cached for their tags: text of strangers must not fill the memory."""
MOST_PAGES = 50
_SECONDS = 30.0
_TRIES = 3
_PAUSE = 0.5
_LONGEST_PAUSE = 3600.0
_SHORTEST_PAUSE, _USUAL_PAUSE = 1.0, 60.0
_NEXT = re.compile(r'<([^<>]+)>;\s*rel="next"')
_PAGE_SIZE = re.compile(r"[?&]per_page=(\d{1,4})(?:&|\Z)")
_LIMITED = "RATE_LIMITED"
"""GraphQL's name, in a 200 response, for what REST reports as 403."""
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_LOST, _BUSY = frozenset({500, 502, 503, 504}), frozenset({403, 429})
_FINE, _UNCHANGED, _UNKNOWN, _FORBIDDEN = 200, 304, 401, 403
_LONGEST_MESSAGE = 300
_MOVED = dict.fromkeys(
    (301, 302, 307, 308), "the repository moved or was renamed: check --repo and --api"
)
_SAME = object()
"""Marks that the document with the sent tag is unchanged."""


class _NoRedirect(HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        return None


_OPENER = open_timed(_NoRedirect)
_PLAIN_OPENER = open_timed(_NoRedirect, ProxyHandler({}))
"""Without TLS a proxy would see the token, so servers on this machine are contacted directly."""


class _Kept(Struct, frozen=True):
    """An answer that may still be right."""

    tag: str
    document: object
    next: str
    size: int


class ForgeHttp(Struct):
    """One address of one forge, with one token; safe for several threads."""

    address: str
    token: str
    before_write: Callable[[], object] = lambda: None
    """Called before each change; raises if no more changes are allowed."""
    requests: int = 0
    """Number of requests with a response other than "not modified"."""
    _kept: dict[str, _Kept] = field(default_factory=dict)
    """By address, least recently requested first."""
    _quiet_until: float = 0.0
    """Time until which no part of this process may contact the forge."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        """Raise RunnerError if this address would expose the token to the network."""
        if not _may_carry_token(self.address):
            raise RunnerError(
                "the forge's address must begin with https://",
                where=self._hide(self.address),
                hint="--api https://forge.example/api/v3",
            )
        self.address = self.address.rstrip("/")

    def __repr__(self) -> str:
        return f"ForgeHttp({self.address!r})"

    def read(self, path: str) -> object:
        """Load one document. Raises ForgeError."""
        return self._read(f"{self.address}{path}")[0]

    def read_all(self, path: str, hint: str = "") -> list[Mapping[str, object]]:
        """Load a list from all its pages. Raises ForgeError.

        Raises ForgeError; with the `hint` where it has more pages than are read.
        """
        return list(self._pages(f"{self.address}{path}", hint))

    def _pages(self, url: str, hint: str) -> Iterator[Mapping[str, object]]:
        for _ in range(MOST_PAGES):
            document, following = self._read(url)
            if not isinstance(document, list):
                raise self._odd(url)
            yield from (one for one in document if isinstance(one, dict))
            if not following:
                return
            if not following.startswith(f"{self.address}/"):
                raise ForgeError(
                    "the forge's next page link leads to another server",
                    hint="set --api to the full address that the forge uses for itself",
                    status=_FINE,
                )
            url = following
        raise ForgeError(
            f"the forge has more than {MOST_PAGES} pages for {self._hide(url)}",
            hint=hint or "the bridge skips this issue: close it and open a new one",
            status=_FINE,
        )

    def write(self, method: str, path: str, document: object = None) -> object:
        """Ask for a change, once; its answer. Raises ForgeError: it may have been made."""
        self.before_write()
        effects.step("forge", f"{method} {path}")
        data = b"" if document is None else json.dumps(document).encode()
        return self._ask(method, f"{self.address}{path}", data)[0]

    def ask(
        self, query: str, variables: Mapping[str, object], *, is_write: bool = False
    ) -> Mapping[str, object]:
        """Send a GraphQL request and return its `data`. Raises ForgeError if it is refused."""
        # Errors come as 200 with `errors`, and on GitHub Enterprise the address is not below that
        # of the REST API (docs.github.com/graphql, "Forming calls with GraphQL").
        if is_write:
            self.before_write()
            effects.step("forge", query.partition("(input")[0])
        content = self._ask(
            "POST",
            re.sub(r"/api/v3\Z", "/api", self.address) + "/graphql",
            json.dumps({"query": query, "variables": variables}).encode(),
        )[0]
        answer = content if isinstance(content, dict) else {}
        if answer.get("errors"):
            first = answer["errors"][0] if isinstance(answer["errors"], list) else {}
            first = first if isinstance(first, dict) else {"message": first}
            if first.get("type") == _LIMITED:
                raise self._leave_alone(_USUAL_PAUSE)
            why = self._hide(str(first.get("message")))[:_LONGEST_MESSAGE]
            raise ForgeError(f"the forge rejected the request: {why}", status=UNFIT)
        data = answer.get("data")
        return data if isinstance(data, dict) else {}

    def _read(self, url: str) -> tuple[object, str]:
        with self._lock:
            kept = self._kept.pop(url, None)
            if kept is not None:
                self._kept[url] = kept
        for number in range(_TRIES):
            try:
                document, following, tag, size = self._ask(
                    "GET", url, None, kept.tag if kept else ""
                )
            except ForgeError as error:
                is_lost = error.status in {0, *_LOST} and not isinstance(error, ForgeBusyError)
                if not is_lost or number == _TRIES - 1:
                    raise
                time.sleep(_PAUSE * (number + 1))
                continue
            break
        if kept is not None and document is _SAME:
            return kept.document, kept.next
        if tag and not (_is_full(url, document) and not following):
            self._keep(url, _Kept(tag, document, following, size))
        return document, following

    def _keep(self, url: str, answer: _Kept) -> None:
        with self._lock:
            self._kept.pop(url, None)
            self._kept[url] = answer
            left = sum(one.size for one in self._kept.values()) - _MOST_KEPT
            for old in list(self._kept):
                if left <= 0:
                    break
                left -= self._kept.pop(old).size

    def _ask(
        self, method: str, url: str, data: bytes | None, tag: str = ""
    ) -> tuple[object, str, str, int]:
        """Send a request; return document, next page's URL, tag and size, or `_SAME` if unchanged.

        Nothing is asked while the forge wants to be left alone.
        """
        left = self._quiet_until - effects.monotonic()
        if left > 0:
            raise ForgeBusyError("the forge's rate limit is reached", left)
        head = {
            "Accept": "application/vnd.github+json",
            "Authorization": f"Bearer {self.token}",
            "User-Agent": "task-graph-runner",
            "X-GitHub-Api-Version": "2022-11-28",
        }
        if tag:
            # A 304 response does not count against the hourly limit (docs.github.com, "Best
            # practices for using the REST API").
            head["If-None-Match"] = tag
        if data:
            head["Content-Type"] = "application/json"
        request = Request(url, data=data or None, headers=head, method=method)  # noqa: S310 - looked at above
        try:
            is_plain = url.startswith("http:")
            opener = _PLAIN_OPENER if is_plain else _OPENER
            with opener.open(request, timeout=_SECONDS) as answer:
                content = answer.read(MOST_BYTES + 1)
                received: Message = answer.headers
        except HTTPError as error:
            with error:
                if error.code == _UNCHANGED and tag:
                    return _SAME, "", tag, 0
                self._count()
                raise self._explain(method, url, error) from None
        except (URLError, OSError, HTTPException) as error:
            reason = self._hide(str(getattr(error, "reason", error)) or type(error).__name__)
            hint = "check the network and --api"
            raise ForgeError(f"the forge does not answer: {reason}", hint=hint) from None
        self._count()
        found = _NEXT.search(received.get("Link", ""))
        following = found[1] if found else ""
        return self._parse(url, content), following, received.get("ETag", ""), len(content)

    def _count(self) -> None:
        with self._lock:
            self.requests += 1

    def _parse(self, url: str, content: bytes) -> object:
        if len(content) > MOST_BYTES:
            raise ForgeError(
                f"the forge's answer is longer than {MOST_BYTES >> 20} MB", status=_FINE
            )
        if not content.strip():
            return None
        try:
            return json.loads(content)
        except (ValueError, RecursionError):
            raise self._odd(url) from None

    def _odd(self, url: str) -> ForgeError:
        return ForgeError(
            f"unexpected answer from the forge: {self._hide(url)}",
            hint="check the address in --api",
            status=_FINE,
        )

    def _leave_alone(self, seconds: float) -> ForgeBusyError:
        self._quiet_until = effects.monotonic() + seconds
        return ForgeBusyError("the forge's rate limit is reached", seconds)

    def _explain(self, method: str, url: str, error: HTTPError) -> ForgeError:
        """Return the error that explains a failed request."""
        pause = _find_pause(error.code, error.headers)
        if pause is not None:
            return self._leave_alone(pause)
        message = self._message_of(error) or "(no reason given)"
        hint = {
            _UNKNOWN: "the token is invalid or expired",
            _FORBIDDEN: "the token lacks a permission: docs/guides/team.md lists what it needs",
            404: "check --repo; a token without access gets the same answer",
            **_MOVED,
        }.get(error.code, "")
        what = f"{method} {self._hide(urlsplit(url).path)}"
        return ForgeError(
            f"the forge rejected {what}: {error.code} {message}", hint=hint, status=error.code
        )

    def _message_of(self, error: HTTPError) -> str:
        try:
            document = json.loads(error.read(MOST_BYTES))
        except (ValueError, OSError, HTTPException, RecursionError):
            return ""
        message = document.get("message") if isinstance(document, dict) else None
        return self._hide(message)[:_LONGEST_MESSAGE] if isinstance(message, str) else ""

    def _hide(self, text: str) -> str:
        return display(redact(text, (self.token,)))


def _is_full(url: str, document: object) -> bool:
    """Return whether a page is full, so that new entries do not change it or its tag."""
    asked = _PAGE_SIZE.search(url)
    return asked is not None and isinstance(document, list) and len(document) >= int(asked[1])


def _may_carry_token(address: str) -> bool:
    """Return whether an address uses TLS or is on this machine, so it may get the token."""
    try:
        place = urlsplit(address)
        host, _ = place.hostname, place.port
    except ValueError:  # `[::1` and a port of a million
        return False
    is_plain = place.scheme == "http" and host in _LOOPBACK
    return bool(host) and not place.username and (place.scheme == "https" or is_plain)


def _find_pause(status: int, headers: Message) -> float | None:
    """Return the seconds to pause after a rate limit response; None for any other refusal.

    Source: docs.github.com, "Rate limits for the REST API": `retry-after` first, else the reset.
    """
    # A rate limit is a 429 or a 403, and a missing permission is also a 403: the headers tell them
    # apart.
    if status not in _BUSY:
        return None
    after = headers.get("Retry-After", "")
    if after.isdecimal():
        return min(max(float(after), _SHORTEST_PAUSE), _LONGEST_PAUSE)
    if after:
        return _USUAL_PAUSE  # a date, which may be of another clock
    if headers.get("X-RateLimit-Remaining") == "0":
        reset = headers.get("X-RateLimit-Reset", "")
        until = float(reset) - effects.now().timestamp() if reset.isdecimal() else _USUAL_PAUSE
        return min(max(until, _SHORTEST_PAUSE), _LONGEST_PAUSE)
    return _USUAL_PAUSE if status == 429 else None  # noqa: PLR2004 - the status itself
