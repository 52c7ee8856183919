"""The pages and the API of a team: every route, and what stands behind it."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from runner.errors import ExitCode, RunnerError
from runner.extensions.team import page_operations
from runner.extensions.team.build_queue import UnknownBuildError, find_build, list_builds, look_into
from runner.extensions.team.event_outbox import StoredEvents
from runner.extensions.team.people import ROLES, list_acts, list_people
from runner.extensions.team.repository_list import list_repositories
from runner.extensions.team.shown_work import list_shown
from runner.extensions.team.store_engine import StoreAwayError
from runner.extensions.team.team_access import Member
from runner.extensions.team.team_actions import BUILD_ACTS, PEOPLE_ACTS, enqueue
from runner.extensions.team.team_board import (
    News,
    TeamContext,
    describe_build,
    describe_item,
    describe_queue,
)
from runner.report.documents import document_line
from runner.secrets.redact import redact
from runner.serve.access import FormInput
from runner.serve.api import read_bounded
from runner.serve.openapi import openapi_document

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from starlette.requests import Request

    from runner.extensions.team.people import Person
    from runner.extensions.team.team_access import TeamAccess
    from runner.serve.pages import Pages

    Act = Callable[[TeamContext, Person, str, FormInput], object]

V1 = "/api/v1"
_MOST_FIELDS = 50
_RECORDS, _MOST_RECORDS = 100, 1_000
_POLL = 0.3
_HEARTBEAT = 15.0
_ASK_AGAIN = 1.0
"""Seconds after which a stream asks whether whoever follows is still in."""


class TeamSite:
    """The routes over one store."""

    def __init__(
        self, context: TeamContext, access: TeamAccess, pages: Pages, is_over: Callable[[], bool]
    ) -> None:
        self._context, self._access, self._pages, self._is_over = context, access, pages, is_over
        self._news = News(context.store)

    def routes(self) -> list[Route]:
        """What is answered, by path; `NEEDS` says to whom."""
        reads: dict[str, Callable[[Request], Response | Awaitable[Response]]] = {
            "/": self._queue,
            "/q/{build}": self._build,
            "/q/{build}/review/{item}": self._item,
            "/new": self._new,
            "/people": self._people,
            f"{V1}/openapi.json": lambda _: JSONResponse(
                openapi_document(page_operations.ROWS, "__Host-runner-INSTANCE")
            ),
            f"{V1}/me": self._me,
            f"{V1}/repositories": self._repositories,
            f"{V1}/queue": self._list_queue,
            f"{V1}/events": self._follow,
            f"{V1}/queue/{{build}}": self._show,
            f"{V1}/queue/{{build}}/waiting": self._waiting,
            f"{V1}/queue/{{build}}/events": self._events,
            f"{V1}/people": self._list_people,
        }
        acts: dict[str, Act] = {f"/q/{{build}}/do/{name}": act for name, act in BUILD_ACTS.items()}
        acts |= {f"/people/do/{name}": act for name, act in PEOPLE_ACTS.items()}
        acts["/new/do/queue"] = enqueue
        calls: dict[str, Act] = {
            f"{V1}/queue/{{build}}/{name}": act for name, act in BUILD_ACTS.items()
        }
        calls |= {f"{V1}/people/{name}": act for name, act in PEOPLE_ACTS.items()}
        calls[f"{V1}/queue"] = enqueue
        return [
            *(Route(path, answer, methods=["GET"]) for path, answer in reads.items()),
            *(
                Route(path, partial(self._form, act), methods=["POST"])
                for path, act in acts.items()
            ),
            *(
                Route(path, partial(self._call, act), methods=["POST"])
                for path, act in calls.items()
            ),
            Route("/session/end", self._end, methods=["POST"]),
        ]

    # --- pages ------------------------------------------------------------------------

    def _queue(self, request: Request) -> Response:
        board = describe_queue(self._context, every="all" in request.query_params)
        return self._render(request, "queue.html", "queue", board=board)

    def _build(self, request: Request) -> Response:
        board = describe_build(self._context, request.path_params["build"], _me_of(request))
        return self._render(request, "queued.html", "queue", board=board)

    def _item(self, request: Request) -> Response:
        params = request.path_params
        try:
            item = describe_item(self._context, params["build"], params["item"], _me_of(request))
        except RunnerError as error:
            if error.code is not ExitCode.CONFLICT:
                raise
            return self._render(request, "answered.html", "queue", error=error, id=params["build"])
        return self._render(request, "shown.html", "queue", item=item)

    def _new(self, request: Request) -> Response:
        names = [one.name for one in list_repositories(self._context.store)]
        return self._render(request, "enqueue.html", "new", repositories=names)

    def _people(self, request: Request) -> Response:
        return self._render(
            *(request, "people.html", "people"),
            people=list_people(self._context.store),
            acts=list_acts(self._context.store),
            roles=ROLES,
        )

    def _render(self, request: Request, template: str, tab: str, **values: object) -> Response:
        return self._pages.render(template, me=_me_of(request), tab=tab, **values)

    def _end(self, request: Request) -> Response:
        self._access.forget(request.scope["runner.session"])
        # htmx goes there instead of showing what came (htmx.org, "HX-Redirect").
        return JSONResponse({}, headers={"hx-redirect": "/open"})

    # --- documents --------------------------------------------------------------------

    def _me(self, request: Request) -> Response:
        me = _me_of(request)
        return _document("me", name=me.name, role=me.role, fourEyes=self._context.four_eyes)

    def _repositories(self, _: Request) -> Response:
        return _document("repositories", repositories=list_repositories(self._context.store))

    def _list_queue(self, request: Request) -> Response:
        every = request.query_params.get("all", "") in ("true", "1", "yes")
        name = request.query_params.get("repository", "")
        return _document("builds", builds=list_builds(self._context.store, name, every=every))

    def _show(self, request: Request) -> Response:
        seen = look_into(self._context.store, find_build(self._context.store, _build_of(request)))
        rows = {name: getattr(seen, name) for name in ("tasks", "events", "answers")}
        return _document("build", build=seen.build, **rows)

    def _waiting(self, request: Request) -> Response:
        known = list_shown(
            self._context.store, find_build(self._context.store, _build_of(request)).id
        )
        rows = [
            {"item": one.item, "seen": one.seen, "answered": one.answered, **one.document}
            for one in known
        ]
        return _document("waiting", waiting=rows)

    def _events(self, request: Request) -> Response:
        """Events of the build itself, or of the journal of a clone that is named."""
        build = find_build(self._context.store, _build_of(request))
        stored = StoredEvents(self._context.store, build.id)
        journals = stored.list_journals(build.id)
        journal = request.query_params.get("journal", "") or build.id
        if journal not in journals:
            raise RunnerError("this build has no such journal", hint=", ".join(journals))
        after = read_bounded(request, "after", 0, 1 << 53)
        limit = read_bounded(request, "limit", _RECORDS, _MOST_RECORDS)
        found = []
        for _, _, line in stored.read_behind(journal, after):
            found.append(json.loads(line))
            if len(found) >= limit:
                break
        return _document("events", journal=journal, journals=journals, records=found)

    def _list_people(self, _: Request) -> Response:
        found = [
            {
                **{name: getattr(one, name) for name in ("name", "role", "added", "by")},
                "tokens": one.tokens,
            }
            for one in list_people(self._context.store)
        ]
        return _document("people", people=found, acts=list_acts(self._context.store))

    # --- acts -------------------------------------------------------------------------

    async def _form(self, act: Act, request: Request) -> Response:
        body = (await request.body()).decode("utf-8", "replace")
        try:
            # Without a bound a small body makes millions of fields (CPython issue 34866).
            fields = dict(parse_qsl(body, keep_blank_values=True, max_num_fields=_MOST_FIELDS))
        except ValueError as error:
            raise RunnerError("the form has too many fields") from error
        try:
            reply = await self._act(act, request, FormInput(fields))
        except RunnerError as error:
            status = team_status(error)
            is_moved = error.code is ExitCode.CONFLICT
            return self._pages.render("reply.html", status, error=error, reply=None, again=is_moved)
        return self._pages.render("reply.html", reply=reply, error=None, again=False)

    async def _call(self, act: Act, request: Request) -> Response:
        if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            raise RunnerError("the API only accepts JSON", hint="Content-Type: application/json")
        try:
            fields = json.loads(await request.body() or b"{}")
        except (ValueError, RecursionError) as error:
            raise RunnerError("the body is not valid JSON") from error
        if not isinstance(fields, dict):
            raise RunnerError("the body is not a JSON object")
        reply = await self._act(act, request, FormInput(fields))
        names = ("text", "next", "tone", "secret", "link")
        return JSONResponse({name: getattr(reply, name) for name in names})

    async def _act(self, act: Act, request: Request, given: FormInput) -> object:
        build = request.path_params.get("build", "")
        return await run_in_threadpool(act, self._context, _me_of(request), build, given)

    # --- news -------------------------------------------------------------------------

    async def _follow(self, request: Request) -> Response:
        self._news.begin()
        if "text/event-stream" not in request.headers.get("accept", ""):
            return _document("news", number=self._news.number)
        member = request.scope["runner.session"]
        return StreamingResponse(self._tell(member), media_type="text/event-stream")

    async def _tell(self, member: Member) -> AsyncIterator[str]:
        """That something is new, until whoever follows is out; what it is, is asked for."""
        yield "retry: 1000\n\n"
        seen, quiet, asked = 0, 0.0, 0.0
        while not self._is_over():
            if self._news.number != seen:
                seen, quiet = self._news.number, 0.0
                yield f"id: {seen}\nevent: changed\ndata: {{}}\n\n"
            await asyncio.sleep(_POLL)
            quiet += _POLL
            asked += _POLL
            if quiet >= _HEARTBEAT:
                quiet = 0.0
                yield ": still here\n\n"  # some proxies cut a silent connection
            if asked >= _ASK_AGAIN:
                asked = 0.0
                if not await self._is_in(member):
                    return

    async def _is_in(self, member: Member) -> bool:
        try:
            return await run_in_threadpool(self._access.admit, member)
        except RunnerError:  # the store is away: nothing new is shown meanwhile either
            return True


def team_status(error: RunnerError) -> int:
    """The status of an answer that says this error."""
    if isinstance(error, StoreAwayError):
        return 503
    if isinstance(error, UnknownBuildError):
        return 404
    return {ExitCode.CONFLICT: 409, ExitCode.PERSON: 403}.get(error.code, 400)


def _me_of(request: Request) -> Person:
    member = request.scope["runner.session"]
    assert isinstance(member, Member)  # a `RoleRoute` lets nobody else come here
    return member.person


def _build_of(request: Request) -> str:
    return str(request.path_params["build"])


def _document(kind: str, **content: object) -> Response:
    text = redact(document_line(kind, **content))
    return Response(text.encode(), media_type="application/json")
