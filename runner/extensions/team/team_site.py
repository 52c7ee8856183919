"""The routes of a team's page and its API."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from msgspec import Struct
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from runner.errors import ExitCode, RunnerError
from runner.extensions.team import page_operations, people, team_budget
from runner.extensions.team.build_queue import (
    Asked,
    BuildOrder,
    UnknownBuildError,
    answer_build,
    cancel_build,
    find_build,
    list_builds,
    queue_build,
    read_build,
    retry_build,
)
from runner.extensions.team.builds_page import (
    News,
    TeamContext,
    describe_build,
    describe_item,
    describe_queue,
)
from runner.extensions.team.event_rows import StoredEvents
from runner.extensions.team.pending_work import list_shown
from runner.extensions.team.people import ROLES, Doer, list_acts, list_people
from runner.extensions.team.repository_list import find_repository, list_repositories
from runner.extensions.team.store_engine import StoreDownError
from runner.extensions.team.team_access import Member, TeamAccess, require_roles
from runner.extensions.telemetry.metrics import Metrics, TeamFigures
from runner.report.documents import document_line
from runner.secrets.redact import redact
from runner.serve.api import openapi_document, read_bounded
from runner.serve.application import assemble, common_routes
from runner.serve.builds import Builds
from runner.serve.listener import guard_application, links_of, run_server, token_file
from runner.serve.pages import Pages
from runner.serve.sessions import FormInput, Notice
from runner.text.wording import read_number, seconds_of_age

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

    from starlette.applications import Starlette
    from starlette.requests import Request

    from runner.config.paths import Places
    from runner.extensions.team.people import Person
    from runner.serve.guard import Gateway
    from runner.serve.listener import ListenAddress

    Act = Callable[[TeamContext, Person, str, FormInput], object]


V1 = "/api/v1"
_MOST_FIELDS = 50
_RECORDS, _MOST_RECORDS = 100, 1_000
_POLL = 0.3
_HEARTBEAT = 15.0
_ASK_AGAIN = 1.0
"""Seconds after which a stream checks that its reader is still signed in."""
VIA = "page"
_LONGEST_NAME = 200
_LONGEST_TIMEOUT = 60 * 24 * 30


class TeamSite:
    """The routes over one store."""

    def __init__(
        self, context: TeamContext, access: TeamAccess, pages: Pages, is_over: Callable[[], bool]
    ) -> None:
        self._context, self._access, self._pages, self._is_over = context, access, pages, is_over
        self._news = News(context.store)

    def routes(self) -> list[Route]:
        """Return all routes; `NEEDS` has the role that each requires."""
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
        # htmx goes there instead of showing the response (htmx.org, "HX-Redirect").
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
        seen = read_build(self._context.store, find_build(self._context.store, _build_of(request)))
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
        """Return the events of the build or of one of its clones' journals."""
        build = find_build(self._context.store, _build_of(request))
        stored = StoredEvents(self._context.store, build.id)
        journals = stored.list_journals(build.id)
        journal = request.query_params.get("journal", "") or build.id
        if journal not in journals:
            raise RunnerError(
                "this build has no such journal", hint=f"expected one of {', '.join(journals)}"
            )
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
            # Without a limit a small body makes millions of fields (CPython issue 34866).
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
            raise RunnerError("the request body is not valid JSON") from error
        if not isinstance(fields, dict):
            raise RunnerError("the request body is not a JSON object")
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
        """Yield a server-sent event per change until the member's session ends."""
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
    """Return the HTTP status for an error."""
    if isinstance(error, StoreDownError):
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


# --- one build ------------------------------------------------------------------------


def approve_work(context: TeamContext, me: Person, build: str, given: FormInput) -> Notice:
    """Approve waiting work exactly as it was shown."""
    return _answer(context, me, build, given, "approve")


def reject_work(context: TeamContext, me: Person, build: str, given: FormInput) -> Notice:
    """Refuse what waits, for a reason that the next attempt reads."""
    if not given.text("reason"):
        raise RunnerError("a rejection needs a reason", hint="write what must change")
    return _answer(context, me, build, given, "reject")


_ANSWERED = {"approve": "approved", "reject": "rejected"}


def _answer(context: TeamContext, me: Person, build: str, given: FormInput, word: str) -> Notice:
    item, seen = given.text("item", needed=True), given.text("seen", needed=True)
    args = (word, item, given.text("reason"))
    found = find_build(context.store, build)
    answer_build(context.store, found, args, me.name, Asked(VIA, seen, four_eyes=context.four_eyes))
    return Notice(f"{item} {_ANSWERED[word]}", "Its worker continues")


def retry_task_of_build(context: TeamContext, me: Person, build: str, given: FormInput) -> Notice:
    """Queue one task of a build for a retry, with a reason."""
    task = given.text("task", needed=True, most=_LONGEST_NAME).strip()
    found = find_build(context.store, build)
    answer_build(context.store, found, ("retry", task, given.text("reason")), me.name, Asked(VIA))
    return Notice(f"{task} will be retried", "Its worker picks it up")


def cancel_queued(context: TeamContext, me: Person, build: str, given: FormInput) -> Notice:
    """Cancel a build; landed commits stay on its branch."""
    del given
    found = find_build(context.store, build)
    state = cancel_build(context.store, found, me.name, via=VIA)
    if state == "CANCELLED":
        return Notice(f"{found.short} is cancelled")
    return Notice(f"{found.short} is stopping", "Its worker stops within seconds", "wait")


def retry_queued(context: TeamContext, me: Person, build: str, given: FormInput) -> Notice:
    """Queue a build for a retry; DONE tasks on its branch are not rebuilt."""
    del given
    found = find_build(context.store, build)
    retry_build(context.store, found, me.name, via=VIA)
    return Notice(f"{found.short} will be retried", "A worker picks it up")


# --- the queue ------------------------------------------------------------------------


def enqueue(context: TeamContext, me: Person, build: str, given: FormInput) -> Notice:
    """Queue a build of a repository: its plan, some of its tasks, or a wish in words."""
    del build
    wish, tasks = given.text("wish"), given.texts("tasks")
    if wish and tasks:
        raise RunnerError("a request has no tasks yet", hint="omit the tasks")
    wanted = BuildOrder(
        find_repository(context.store, given.text("repository", needed=True)),
        me.name,
        tasks,
        given.text("branch", most=_LONGEST_NAME).strip(),
        60.0 * _number(given, "timeout", _LONGEST_TIMEOUT),
        _number(given, "priority", 1000),
        given.texts("tags"),
        wish,
        VIA,
    )
    made = queue_build(context.store, wanted, default_branch_too=context.default_branch_too)
    return Notice(f"{made.short} is queued", f"It lands on {made.branch}", "run", link=made.short)


def _number(given: FormInput, name: str, most: int) -> int:
    typed = given.text(name).strip()
    if not typed:
        return 0
    number = read_number(typed)
    if not 0 <= number <= most:
        raise RunnerError(f"{name} must be a number from 0 to {most}")
    return number


# --- people ---------------------------------------------------------------------------


def add_member(context: TeamContext, me: Person, build: str, given: FormInput) -> Notice:
    """Add a person to the team."""
    del build
    name = given.text("name", needed=True, most=_LONGEST_NAME).strip()
    role = given.text("role", needed=True)
    people.add_person(context.store, name, role, _doer(me))
    return Notice(f"{name} is {role}", "Create a token for them now")


def change_role(context: TeamContext, me: Person, build: str, given: FormInput) -> Notice:
    """Change a person's role from the next request on."""
    del build
    name, role = given.text("name", needed=True), given.text("role", needed=True)
    people.set_role(context.store, name, role, _doer(me))
    return Notice(f"{name} is now {role}")


def create_token(context: TeamContext, me: Person, build: str, given: FormInput) -> Notice:
    """Create a token, which is shown only once."""
    del build
    name, days = given.text("name", needed=True), given.text("days").strip()
    seconds = seconds_of_age(f"{days}d" if days.isdecimal() else days, "days") if days else 0.0
    secret, token = people.make_token(
        *(context.store, name, _doer(me)), label=given.text("label"), seconds=seconds
    )
    text = f"token {token.id} of {name}"
    return Notice(text, "Copy it now: it is not shown again", "ask", secret=secret)


def take_token(context: TeamContext, me: Person, build: str, given: FormInput) -> Notice:
    """Revoke a token and end its sessions."""
    del build
    token = people.revoke_token(context.store, given.text("token", needed=True), _doer(me))
    return Notice(f"token {token.id} of {token.person} is revoked")


def remove_member(context: TeamContext, me: Person, build: str, given: FormInput) -> Notice:
    """Remove a person with all their tokens."""
    del build
    name = given.text("name", needed=True)
    people.remove_person(context.store, name, _doer(me))
    return Notice(f"{name} was removed; their tokens no longer work")


def _doer(me: Person) -> Doer:
    return Doer(me.name, VIA)


BUILD_ACTS: Mapping[str, Callable[[TeamContext, Person, str, FormInput], Notice]] = {
    "approve": approve_work,
    "reject": reject_work,
    "again": retry_task_of_build,
    "cancel": cancel_queued,
    "retry": retry_queued,
}
PEOPLE_ACTS: Mapping[str, Callable[[TeamContext, Person, str, FormInput], Notice]] = {
    "add": add_member,
    "role": change_role,
    "token": create_token,
    "revoke": take_token,
    "remove": remove_member,
}


class Entrance(Struct, frozen=True):
    """The address by which a team's server is reached."""

    gateway: Gateway
    instance: str
    """Name used for its cookie: a restarted server has the same."""
    tls: tuple[str, str] = ("", "")
    """Files of the certificate chain and its key; empty: plain http, or TLS by a proxy."""

    @property
    def address(self) -> str:
        """Address of the server for people."""
        return (
            f"{self.gateway.scheme}://{min(self.gateway.hosts, key=lambda one: (len(one), one))}/"
        )


def serve_team(
    context: TeamContext,
    door: ListenAddress,
    places: Places,
    entrance: Entrance,
    tell: Callable[[str], None],
    hook_secret: str = "",
) -> None:
    """Answer people who sign in by tokens of the store, until SIGTERM or Ctrl-C.

    `tell` hears the address once the server listens.
    """
    is_secure = entrance.gateway.scheme == "https"
    links = links_of(places, door.port)
    access = TeamAccess(links, entrance.instance, context.store, is_secure=is_secure)

    def count() -> TeamFigures:
        return TeamFigures(*team_budget.measure_team(context.store))

    metrics = Metrics(Builds(()), token_file(places), count)
    run_server(
        door,
        lambda is_over: make_team_application(context, access, metrics, is_over),
        lambda app: guard_application(app, access, entrance.gateway, places, hook_secret),
        lambda: tell(entrance.address),
        entrance.tls,
    )


def make_team_application(
    context: TeamContext, access: TeamAccess, metrics: Metrics, is_over: Callable[[], bool]
) -> Starlette:
    """Create the application over a team's store; `NEEDS` has the role that each route requires."""
    pages = Pages(Builds(()), {}, team=True)
    site = TeamSite(context, access, pages, is_over)
    routes = [
        *common_routes(pages, access),
        Route("/metrics", metrics.answer, methods=["GET"]),
        *site.routes(),
    ]
    return assemble(pages, require_roles(routes), team_status)
