"""The application: pages and API behind the guard, and how an error becomes an answer."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from runner.errors import RunnerError
from runner.lazy_module import lazy_module
from runner.serve.api import V1, Api
from runner.serve.builds import Builds
from runner.serve.pages import HERE, Pages, status_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from starlette.requests import Request

    from runner.serve import actions, team_access, team_site
    from runner.serve.access import Access, Given, Said
    from runner.serve.builds import Build
    from runner.serve.metrics import Metrics
    from runner.serve.team_access import TeamAccess
    from runner.serve.team_board import TeamDesk
else:
    actions = lazy_module("runner.serve.actions")
    team_access = lazy_module("runner.serve.team_access")
    team_site = lazy_module("runner.serve.team_site")

_LONGEST_TOKEN = 200
ACTION_NAMES = (
    *("approve", "reject", "edit", "retry", "cancel"),
    *("stop", "plan", "change", "draft", "run"),
)
"""What a person can do; `actions.ACTIONS` has each."""


def make_application(
    builds: Builds, access: Access, metrics: Metrics, is_over: Callable[[], bool]
) -> Starlette:
    """Everything that stands behind the guard, for one person's folders."""
    known = {name: partial(_act, name) for name in ACTION_NAMES}
    pages = Pages(builds, known)
    routes = [
        *_common_routes(pages, access, metrics),
        *pages.routes(),
        *Api(builds, known, is_over).routes(),
    ]
    return _assemble(pages, routes, status_of)


def make_team_application(
    desk: TeamDesk, access: TeamAccess, metrics: Metrics, is_over: Callable[[], bool]
) -> Starlette:
    """The same for a team's store: each route is for whom `NEEDS` names."""
    pages = Pages(Builds(()), {}, team=True)
    site = team_site.TeamSite(desk, access, pages, is_over)
    routes = [*_common_routes(pages, access, metrics), *site.routes()]
    return _assemble(pages, team_access.require_roles(routes), team_site.team_status)


def _common_routes(pages: Pages, access: Access, metrics: Metrics) -> list[Route]:
    return [
        Route("/open", lambda _: pages.render("open.html"), methods=["GET"]),
        Route("/session", _Sessions(access).open, methods=["POST"]),
        Route("/favicon.ico", _icon, methods=["GET"]),
        Route("/metrics", metrics.answer, methods=["GET"]),
    ]


def _assemble(
    pages: Pages, routes: Sequence[Route], status: Callable[[RunnerError], int]
) -> Starlette:
    def not_found(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)  # as registered below
        said = RunnerError("there is no such page" if error.status_code == 404 else "not so")  # noqa: PLR2004
        return _answer(pages, request, said, error.status_code)

    return Starlette(
        routes=[*routes, Mount("/static", StaticFiles(directory=HERE / "static"))],
        exception_handlers={
            RunnerError: lambda request, error: _answer(
                pages, request, _as_runner_error(error), status(_as_runner_error(error))
            ),
            HTTPException: not_found,
        },
    )


def _act(name: str, build: Build, given: Given) -> Said:
    """What is done is imported when somebody does something: that is half of the product."""
    return actions.ACTIONS[name](build, given)


def _as_runner_error(error: Exception) -> RunnerError:
    assert isinstance(error, RunnerError)  # as registered
    return error


def _answer(pages: Pages, request: Request, error: RunnerError, status: int) -> Response:
    if request.url.path.startswith(V1):
        said = {"message": error.message, "hint": error.hint or None}
        return JSONResponse({"error": said}, status)
    return pages.failure(error, status)


def _icon(_: Request) -> Response:
    return FileResponse(HERE / "static" / "icon.svg", media_type="image/svg+xml")


class _Sessions:
    """Where a link becomes a session."""

    def __init__(self, access: Access) -> None:
        self._access = access

    async def open(self, request: Request) -> Response:
        """The cookie in a header, the second secret in the body: once for each link."""
        try:
            token = json.loads(await request.body()).get("token")
        except (ValueError, AttributeError, RecursionError):
            token = None
        given = None
        if isinstance(token, str) and len(token) <= _LONGEST_TOKEN:
            client = str(request.scope.get("runner.client", ""))
            given = await run_in_threadpool(self._access.open, token, client)
        if given is None:
            is_team = self._access.is_team
            message = "this token opens nothing" if is_team else "this link is none, or was used"
            hint = "ask an admin of your team" if is_team else "runner serve --link"
            return JSONResponse({"error": {"message": message, "hint": hint}}, 401)
        cookie, secret = given
        answer = JSONResponse({"secret": secret})
        # `Secure` where it comes over TLS. On plain http of the loopback not every browser keeps
        # such a cookie. No script reads it, and no other site sends it (RFC 6265bis, 4.1.2.6 and
        # 4.1.2.7).
        answer.set_cookie(
            *(self._access.cookie, cookie),
            httponly=True,
            samesite="strict",
            path="/",
            secure=self._access.is_secure,
        )
        return answer
