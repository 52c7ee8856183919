"""The application: pages and API behind the guard, and how an error becomes an answer."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from runner.errors import RunnerError
from runner.extensions import registry
from runner.extensions.interface import load
from runner.lazy_module import lazy_module
from runner.operations.table import TABLE
from runner.serve.api import V1, BuildApi
from runner.serve.pages import HERE, Pages, status_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from starlette.requests import Request

    from runner.config.paths import Places
    from runner.serve import actions
    from runner.serve.access import Access, FormInput, Notice
    from runner.serve.builds import Build, Builds
else:
    actions = lazy_module("runner.serve.actions")

_LONGEST_TOKEN = 200
ACTION_NAMES = tuple(
    api.name for row in TABLE.values() for api in row.api if api.route.startswith("POST ")
)
"""What a person can do; `actions.ACTIONS` has each."""


class PageContext(NamedTuple):
    """What the page of an extension is made with."""

    builds: Builds
    places: Places
    environ: Mapping[str, str]


def make_application(
    access: Access, context: PageContext, is_over: Callable[[], bool]
) -> Starlette:
    """Make all pages behind the guard, for one person's folders and with those of extensions."""
    builds = context.builds
    known = {name: partial(_act, name) for name in ACTION_NAMES}
    pages = Pages(builds, known)
    routes = [
        *common_routes(pages, access),
        *extension_routes(context),
        *pages.routes(),
        *BuildApi(builds, known, is_over).routes(),
    ]
    return assemble(pages, routes, status_of)


def extension_routes(context: PageContext) -> list[Route]:
    """Make the pages of all extensions; each is behind the guard. Raises RunnerError."""
    return [
        Route(path, load(reference)(context), methods=["GET"])
        for one in registry.every()
        for path, reference in one.pages.items()
    ]


def common_routes(pages: Pages, access: Access) -> list[Route]:
    """Make the routes by which somebody comes in."""
    return [
        Route("/open", lambda _: pages.render("open.html"), methods=["GET"]),
        Route("/session", _Sessions(access).open, methods=["POST"]),
        Route("/favicon.ico", _icon, methods=["GET"]),
    ]


def assemble(
    pages: Pages, routes: Sequence[Route], status: Callable[[RunnerError], int]
) -> Starlette:
    """Make an application of its routes, with the files of its pages and the page of an error."""

    def not_found(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)  # as registered below
        shown = RunnerError("page not found" if error.status_code == 404 else "not allowed")  # noqa: PLR2004
        return _answer(pages, request, shown, error.status_code)

    return Starlette(
        routes=[*routes, Mount("/static", StaticFiles(directory=HERE / "static"))],
        exception_handlers={
            RunnerError: lambda request, error: _answer(
                pages, request, _as_runner_error(error), status(_as_runner_error(error))
            ),
            HTTPException: not_found,
        },
    )


def _act(name: str, build: Build, given: FormInput) -> Notice:
    """What is done is imported when somebody does something: that is half of the product."""
    return actions.ACTIONS[name](build, given)


def _as_runner_error(error: Exception) -> RunnerError:
    assert isinstance(error, RunnerError)  # as registered
    return error


def _answer(pages: Pages, request: Request, error: RunnerError, status: int) -> Response:
    if request.url.path.startswith(V1):
        document = {"message": error.message, "hint": error.hint or None}
        return JSONResponse({"error": document}, status)
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
            message = "this token is not valid" if is_team else "this link is invalid or was used"
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
