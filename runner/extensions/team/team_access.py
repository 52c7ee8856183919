"""Access to a team's page: authenticate a token, and check the role's permissions.

What a role may is one table of routes, `NEEDS`; a route that is not in it is refused to everybody,
and the server does not start with it. Who somebody is, is asked of the store before every request:
a token that was revoked lets nobody in any more, whatever page is open.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from typing import TYPE_CHECKING

from starlette.responses import JSONResponse, PlainTextResponse
from starlette.routing import Route

from runner.extensions.team import page_operations
from runner.extensions.team.people import find_standing, sign_in
from runner.serve.sessions import Access, BrowserSession, Bucket, group_address

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from starlette.responses import Response
    from starlette.types import Receive, Scope, Send

    from runner.extensions.team.people import Person
    from runner.extensions.team.store_engine import Store
    from runner.serve.sessions import SignInLinks

ANYBODY = ""
VIEWER, REVIEWER, OPERATOR, ADMIN = "viewer", "reviewer", "operator", "admin"
_BUILD, _API = "/q/{build}", "/api/v1"
NEEDS = {
    "GET /open": ANYBODY,
    "POST /session": ANYBODY,
    "GET /favicon.ico": ANYBODY,
    "GET /metrics": ANYBODY,  # it asks for a token of its own
    "POST /session/end": VIEWER,
    "GET /": VIEWER,
    f"GET {_BUILD}": VIEWER,
    f"GET {_BUILD}/review/{{item}}": VIEWER,
    f"POST {_BUILD}/do/approve": REVIEWER,
    f"POST {_BUILD}/do/reject": REVIEWER,
    f"POST {_BUILD}/do/again": OPERATOR,
    f"POST {_BUILD}/do/cancel": OPERATOR,
    f"POST {_BUILD}/do/retry": OPERATOR,
    "GET /new": OPERATOR,
    "POST /new/do/queue": OPERATOR,
    "GET /people": ADMIN,
    "POST /people/do/add": ADMIN,
    "POST /people/do/role": ADMIN,
    "POST /people/do/token": ADMIN,
    "POST /people/do/revoke": ADMIN,
    "POST /people/do/remove": ADMIN,
    "GET /api/v1/openapi.json": VIEWER,
    **{
        api.route.replace(" ", f" {_API}", 1): row.role
        for row in page_operations.ROWS
        for api in row.api
    },
}
"""Minimum role by method and path."""

_HOURS = 12
_LASTS = _HOURS * 3600.0
"""Seconds after which a session ends regardless of activity."""
_LOGINS, _LOGINS_PER_SECOND = 10.0, 1 / 6
"""Per address: ten at once, then ten a minute."""
_WRITES, _WRITES_PER_SECOND = 30.0, 0.5
"""Per person, across all their browsers."""
_STRANGER, _STRANGER_PER_SECOND = 60.0, 5.0
_REMEMBERED = 4096
"""Addresses and people whose buckets are kept; a forgotten one restarts with a full bucket."""


class Member(BrowserSession, kw_only=True):
    """A session of somebody of the team."""

    person: Person
    """The person as last read from the store."""
    token: str
    """ID of the token."""
    ends: float
    """Expiry on the monotonic clock."""

    @property
    def owner(self) -> str:
        """Sessions of one token share its limits."""
        return self.token


class TeamAccess(Access):
    """The sessions of a team's server."""

    is_team = True
    most_sessions = 2048

    def __init__(self, links: SignInLinks, instance: str, store: Store, *, is_secure: bool) -> None:
        super().__init__(links, instance)
        self._store, self.is_secure = store, is_secure
        # With this prefix a browser accepts it only over TLS, from this host, for all paths: no
        # other host of the domain can replace it (RFC 6265bis, 4.1.3.2).
        self.cookie = f"__Host-runner-{instance}" if is_secure else f"runner-{instance}"
        self._addresses = _Buckets(_STRANGER, _STRANGER_PER_SECOND)
        self._logins = _Buckets(_LOGINS, _LOGINS_PER_SECOND)
        self._writes = _Buckets(_WRITES, _WRITES_PER_SECOND)

    def open(self, token: str, address: str) -> tuple[str, str] | None:
        """Return the cookie value and the second secret for a token; None if it is invalid."""
        found = sign_in(self._store, token, f"from {address}" if address else "")
        if found is None:
            return None
        person, known = found
        ends = time.monotonic() + _LASTS

        def make(secret: bytes) -> Member:
            return Member(secret, person=person, token=known.id, ends=ends)

        return self.begin(make)

    def admit(self, session: BrowserSession) -> bool:
        """Return whether the session's token is still valid. Raises StoreDownError."""
        assert isinstance(session, Member)  # as `open` makes them
        found = find_standing(self._store, session.token)
        if found is None or time.monotonic() > session.ends:
            self.forget(session)
            return False
        session.person = found
        return True

    def take(self, session: BrowserSession | None, address: str, request: str) -> float:
        """Return the seconds to wait under the rate limit of an address or person; 0 if none."""
        now = time.monotonic()
        if request == "POST /session":
            return self._logins.take(group_address(address), now)
        if not isinstance(session, Member):
            return self._addresses.take(group_address(address), now)
        if request.startswith("POST ") and request != "POST /session/end":
            return self._writes.take(session.person.name, now)
        return session.bucket.take(now)


class _Buckets:
    """A bucket for each name; the one that was not asked for longest goes first."""

    def __init__(self, burst: float, per_second: float) -> None:
        self._pace = (burst, per_second)
        self._known: OrderedDict[str, Bucket] = OrderedDict()

    def take(self, name: str, now: float) -> float:
        bucket = self._known.setdefault(name, Bucket(*self._pace))
        self._known.move_to_end(name)
        while len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)
        return bucket.take(now)


# --- what a role may ------------------------------------------------------------------


class RoleRoute(Route):
    """A route that answers only who may."""

    needs = ADMIN

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or say which role it takes."""
        session = scope.get("runner.session")
        if self.needs == ANYBODY or (
            isinstance(session, Member) and session.person.may(self.needs)
        ):
            await super().handle(scope, receive, send)
            return
        await _refuse(self.needs, session, scope["path"])(scope, receive, send)


def _refuse(needs: str, session: object, path: str) -> Response:
    mine = session.person.role if isinstance(session, Member) else "not signed in"
    message, hint = (
        f"this needs the role {needs}; you are {mine}",
        f"ask an admin of your team for the role {needs}",
    )
    if path.startswith("/api/"):
        return JSONResponse({"error": {"message": message, "hint": hint}}, 403)
    return PlainTextResponse(f"{message}\n{hint}\n", 403)


def require_roles(routes: Iterable[Route]) -> list[Route]:
    """Return the routes with their required roles. Raises KeyError for an unlisted one."""
    return [_held(one.path, one.endpoint, one.methods or set()) for one in routes]


def _held(path: str, endpoint: Callable[..., object], methods: Iterable[str]) -> RoleRoute:
    ways = sorted(set(methods) - {"HEAD"})  # which is answered as GET is
    made = RoleRoute(path, endpoint, methods=ways)
    needed = {NEEDS[f"{way} {path}"] for way in ways}
    (made.needs,) = needed
    return made
