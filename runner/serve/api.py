"""`/api/v1`: the commands' JSON documents, and answers to pending reviews.

The journal is a stream of server-sent events that resumes after the last received id (format:
html.spec.whatwg.org, 9.2 Server-sent events). Ids are `JOURNAL:SEQ`; the journal's first record
names it, so a new journal is never mistaken for the old one. In a stream over several folders the
others' positions follow after commas, since a client sends back only the last id.
"""

from __future__ import annotations

import asyncio
import json
import re
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias

from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from runner import __version__
from runner.app.answer.waiting import find_contract_documents, in_order, list_waiting
from runner.app.answer.waiting_document import describe_waiting, digest_shown
from runner.app.inspect.event_log import read_log
from runner.app.inspect.status_document import describe_status
from runner.app.inspect.task_inquiry import describe_why, find_one_task, load_story
from runner.app.inspect.task_view import describe_task_whole
from runner.app.inspect.validation import validate
from runner.app.inspect.view import View
from runner.errors import RunnerError
from runner.journal.records import Mark, encode, read_places
from runner.model import digest_of
from runner.operations.row import choose_fields, describe_field, describe_input
from runner.operations.table import TABLE
from runner.project import JOURNAL
from runner.repo.read import Repository
from runner.report.documents import document_line
from runner.secrets.redact import redact
from runner.serve.sessions import FormInput

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from starlette.requests import Request

    from runner.operations.row import Api, Field, Operation
    from runner.operations.row import Api as Operated
    from runner.project import Project
    from runner.serve.builds import Build, Builds
    from runner.serve.sessions import Notice

    Describes: TypeAlias = Callable[[Project, str], dict[str, object]]
    """Returns the content of a document about a project, or about one of its tasks."""


# --- the API --------------------------------------------------------------------------


V1 = "/api/v1"
_MOST_RECORDS = 1_000
_RECORDS = 100
_TEXT: dict[str, object] = {"type": "string"}
_RESULT: dict[str, object] = {
    "type": "object",
    "required": ["text", "next", "tone"],
    "properties": {"text": _TEXT, "next": _TEXT, "tone": _TEXT},
}
_FAILED: dict[str, object] = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["message", "hint"],
            "properties": {"message": _TEXT, "hint": {"type": ["string", "null"]}},
        }
    },
}
_DOCUMENT: dict[str, object] = {
    "type": "object",
    "required": ["schemaVersion", "kind"],
    "properties": {"schemaVersion": {"type": "integer"}, "kind": _TEXT},
}
_OF_WRITES = ("409", "413", "415")
"""A conflict, a body that is too long, a body that is not JSON."""


class BuildApi:
    """The routes, over the builds that are served."""

    def __init__(
        self,
        builds: Builds,
        actions: Mapping[str, Callable[[Build, FormInput], Notice]],
        is_over: Callable[[], bool],
    ) -> None:
        self._builds, self._actions, self._is_over = builds, actions, is_over

    def routes(self) -> list[Route]:
        """Return all routes."""
        found = [Route(f"{V1}/openapi.json", self._openapi, methods=["GET"])]
        for row in TABLE.values():
            for api in row.api:
                method, _, path = api.route.partition(" ")
                found.append(Route(f"{V1}{path}", self._find_answer(row, api), methods=[method]))
        return found

    def _find_answer(self, row: Operation, api: Operated) -> Callable[[Request], object]:
        special: dict[str, Callable[[Request], object]] = {
            "listBuilds": self._list_builds,
            "followEvents": self._all_events,
            "listEvents": self._events,
        }
        if api.name in self._actions:
            return partial(self._act, api.name)
        return special.get(api.name) or partial(self._read, row.output, _READS[api.name])

    def _openapi(self, _: Request) -> Response:
        return JSONResponse(openapi_document())

    def _list_builds(self, _: Request) -> Response:
        found = [{"id": one.id, "name": one.name, "root": str(one.root)} for one in self._builds]
        return _document("builds", builds=found)

    def _read(self, kind: str, describe: Describes, request: Request) -> Response:
        project = self._build(request).open()
        return _document(kind, **describe(project, request.path_params.get("task", "")))

    async def _all_events(self, request: Request) -> Response:
        """Return the events of all builds after the last received ID, as a stream or a list."""
        last = request.headers.get("last-event-id", "") or request.query_params.get("after", "")
        # Builds are not opened: one with invalid settings would block the others' events.
        tails = Tails({one.id: one.root / JOURNAL for one in self._builds}, last)
        if "text/event-stream" in request.headers.get("accept", ""):
            stream = follow_events(tails, self._is_over)
            return StreamingResponse(stream, media_type="text/event-stream")
        limit = read_bounded(request, "limit", _RECORDS, _MOST_RECORDS)

        def read() -> Response:
            found = [
                {"build": build, "id": places, "record": json.loads(data)}
                for build, places, data in islice(tails.read_rows(), limit)
            ]
            return _document("events", records=found)

        return await run_in_threadpool(read)

    async def _events(self, request: Request) -> Response:
        build = self._build(request)
        project = await run_in_threadpool(build.open)
        if "text/event-stream" in request.headers.get("accept", ""):
            last = request.headers.get("last-event-id", "") or request.query_params.get("after", "")
            stream = follow_events(Tail.behind(project.journal_path, last), self._is_over)
            return StreamingResponse(stream, media_type="text/event-stream")
        after = read_bounded(request, "after", 0, 1 << 53)
        limit = read_bounded(request, "limit", _RECORDS, _MOST_RECORDS)

        def read() -> Response:
            found = []
            for record in read_log(project, after=after):
                found.append(json.loads(encode(record)))
                if len(found) >= limit:
                    break
            return _document("log", records=found)

        return await run_in_threadpool(read)

    async def _act(self, name: str, request: Request) -> Response:
        build = self._build(request)
        if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            raise RunnerError("the API only accepts JSON", hint="Content-Type: application/json")
        try:
            fields = json.loads(await request.body() or b"{}")
        except (ValueError, RecursionError) as error:
            raise RunnerError("the request body is not valid JSON") from error
        if not isinstance(fields, dict):
            raise RunnerError("the request body is not a JSON object")
        result = await run_in_threadpool(self._actions[name], build, FormInput(fields))
        return JSONResponse({"text": result.text, "next": result.next, "tone": result.tone})

    def _build(self, request: Request) -> Build:
        return self._builds.find(request.path_params["build"])


def _describe_status(project: Project, _: str) -> dict[str, object]:
    view = View.of(project)
    return describe_status(view, view.tasks)


def _describe_task(project: Project, task: str) -> dict[str, object]:
    asked = find_one_task(project, task)
    return describe_task_whole(asked, load_story(asked))


def _describe_why(project: Project, task: str) -> dict[str, object]:
    return describe_why(find_one_task(project, task))


def _describe_review(project: Project, _: str) -> dict[str, object]:
    with Repository.open(project.root) as repository:
        state = View.of(project).state
        waiting = [one for one in list_waiting(project, repository, state) if not one.answered]
        found = [
            {
                **describe_waiting(project, state, one),
                "seen": digest_shown(project, state, one),
                "risk": list(risk.signs),
            }
            for one, risk in in_order(state, waiting, find_contract_documents(project))
        ]
    return {"waiting": found}


def _describe_plan(project: Project, _: str) -> dict[str, object]:
    data = project.plan_bytes
    found = validate(project)
    return {
        "plan": found.plan,
        "text": data.decode("utf-8", "replace"),
        "seen": digest_of(data),
        "tasks": found.tasks,
        "errors": found.errors,
        "problems": list(found.problems),
    }


_READS: dict[str, Describes] = {
    "getStatus": _describe_status,
    "getTask": _describe_task,
    "explainTask": _describe_why,
    "listReview": _describe_review,
    "getPlan": _describe_plan,
}
"""Content of a document, by the name of its route."""


def read_bounded(request: Request, name: str, default: int, most: int) -> int:
    """Return a number in the query. Raises RunnerError if it is invalid or above `most`."""
    text = request.query_params.get(name, "")
    if not text:
        return default
    # `²` is a digit for `str.isdigit` but not for `int`, which also raises for more than 4,300
    # digits (CPython's limit for CVE-2020-10735).
    if not (text.isascii() and text.isdigit()) or len(text) > 18 or int(text) > most:  # noqa: PLR2004
        raise RunnerError(f"{name} must be a number from 0 to {most}")
    return int(text)


def _document(kind: str, **content: object) -> Response:
    text = redact(document_line(kind, **content))
    return Response(text.encode(), media_type="application/json")


# --- its events -----------------------------------------------------------------------


_POLL = 0.3
_HEARTBEAT = 15.0
_MOST_JOURNALS = 100
_AT_ONCE = 500
"""Records read in one step."""


def parse_id(text: str) -> tuple[str, int]:
    """Parse an id to journal and number; a plain number has no journal, an invalid one is 0."""
    journal, _, number = text.rpartition(":")
    # Last-Event-ID is untrusted: `int` raises beyond 4,300 digits (CVE-2020-10735), and `isdigit`
    # is true for `²`.
    if len(number) > 18 or not number.isascii() or not number.isdigit():  # noqa: PLR2004
        return "", 0
    return journal, int(number)


class Tail:
    """One follower's place in one journal."""

    def __init__(self, path: Path, asked: Mapping[str, int]) -> None:
        self._path = path
        self._asked, self._after = asked, 0
        self._place = Mark()
        self._size = -1
        self._journal = ""

    @classmethod
    def behind(cls, path: Path, last: str) -> Tail:
        """Create a tail after the last received id; at the start for another journal."""
        journal, number = parse_id(last)
        return cls(path, {journal: number})

    def read(self) -> list[str]:
        """Return new records as events, some hundred at most; empty if there are none."""
        return [
            f"id: {place}\nevent: record\ndata: {data}\n\n" for place, data in self.read_pairs()
        ]

    def read_pairs(self) -> Iterator[tuple[str, str]]:
        """Yield new records as pairs of ID and JSON."""
        try:
            size = self._path.stat().st_size
        except FileNotFoundError:
            size = 0
        if size == self._size:
            return
        if size < self._place.offset:
            self._place, self._journal, self._after = Mark(), "", 0
        count = 0
        for record, place in read_places(self._path, self._place):
            if not self._journal:
                self._journal = record.id
                # A number alone refers to the current journal, whichever it is.
                self._after = self._asked.get(record.id, self._asked.get("", 0))
            self._place = place
            if record.seq <= self._after:
                continue
            data = encode(record).decode("utf-8", "replace").rstrip("\n")
            yield f"{self._journal}:{record.seq}", data
            count += 1
            if count >= _AT_ONCE:
                return
        self._size = size


class Tails:
    """One follower's places in the journals of several folders."""

    def __init__(self, paths: Mapping[str, Path], last: str) -> None:
        asked = dict(parse_id(one) for one in last.split(",")[:_MOST_JOURNALS])
        asked.pop("", None)
        self._reached = asked
        # One copy each, since `_reached` changes: each journal's starting point stays.
        self._tails = {name: Tail(path, dict(asked)) for name, path in paths.items()}

    def read(self) -> list[str]:
        """Return the new records of all journals as events."""
        return [
            f'id: {places}\nevent: record\ndata: {{"build":"{name}","record":{data}}}\n\n'
            for name, places, data in self.read_rows()
        ]

    def read_rows(self) -> Iterator[tuple[str, str, str]]:
        """Yield folder, positions and record; each has the positions in all journals.

        A journal that is damaged ends there, and no other.
        """
        for name, tail in list(self._tails.items()):
            try:
                for place, data in tail.read_pairs():
                    yield name, self._reach(place), data
            except RunnerError:
                del self._tails[name]

    def _reach(self, place: str) -> str:
        journal, number = parse_id(place)
        self._reached.pop(journal, None)
        # Include journals not read yet: a disconnected client continues there.
        places = ",".join([place, *(f"{one}:{at}" for one, at in self._reached.items())])
        self._reached[journal] = number
        return places


async def follow_events(tail: Tail | Tails, is_over: Callable[[], bool]) -> AsyncIterator[str]:
    """Yield existing and new events until `is_over`, with a comment after a long silence."""
    yield "retry: 1000\n\n"
    quiet = 0.0
    while not is_over():
        try:
            events = await asyncio.to_thread(tail.read)
        except RunnerError as error:
            # One line: a line end inside would start its own field (HTML, 9.2.6).
            yield f"event: damage\ndata: {error.message.splitlines()[0]}\n\n"
            return
        if events:
            quiet = 0.0
            yield "".join(events)
            continue
        await asyncio.sleep(_POLL)
        quiet += _POLL
        if quiet >= _HEARTBEAT:
            quiet = 0.0
            # A comment, which clients ignore; some proxies close a silent connection (HTML, 9.2.7
            # recommends one every 15 seconds or so).
            yield ": still here\n\n"


def openapi_document(
    rows: Iterable[Operation] = TABLE.values(), cookie: str = "runner-INSTANCE"
) -> dict[str, object]:
    """Return the document of these operations' routes."""
    paths: dict[str, dict[str, object]] = {}
    for row in rows:
        for api in row.api:
            method, _, path = api.route.partition(" ")
            paths.setdefault(path, {})[method.lower()] = _describe(row, api, path, method)
    return {
        "openapi": "3.1.0",
        "info": {"title": "runner", "version": __version__},
        "servers": [{"url": "/api/v1"}],
        "security": [{"session": [], "secret": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "session": {"type": "apiKey", "in": "cookie", "name": cookie},
                "secret": {"type": "apiKey", "in": "header", "name": "X-Runner-Secret"},
            },
            "schemas": {"Said": _RESULT, "Failed": _FAILED},
        },
    }


def _describe(row: Operation, api: Api, path: str, method: str) -> dict[str, object]:
    """Return one way of a path."""
    fields = choose_fields(row, api.fields)
    places: list[object] = [
        {"name": name, "in": "path", "required": True, "schema": _TEXT}
        for name in re.findall(r"{(\w+)}", path)
    ]
    known: dict[str, object] = {"operationId": api.name, "summary": api.summary or row.summary}
    if method == "GET":
        answers = _answers("the document", _DOCUMENT)
        return {**known, "parameters": [*places, *_query(fields)], "responses": answers}
    schema: dict[str, object] = {"$ref": "#/components/schemas/Said"}
    body = {"required": True, "content": _json(describe_input(fields))}
    answers = _answers("the result", schema, *_OF_WRITES)
    return {**known, "parameters": places, "requestBody": body, "responses": answers}


def _query(fields: Mapping[str, Field]) -> list[object]:
    return [
        {"name": name, "in": "query", "schema": describe_field(one)} for name, one in fields.items()
    ]


def _answers(description: str, schema: dict[str, object], *more: str) -> dict[str, object]:
    failed: dict[str, object] = {"$ref": "#/components/schemas/Failed"}
    codes = sorted(("400", "401", "403", "404", "429", "503", *more))
    failures = {code: {"description": "the error", "content": _json(failed)} for code in codes}
    return {"200": {"description": description, "content": _json(schema)}, **failures}


def _json(schema: dict[str, object]) -> dict[str, object]:
    return {"application/json": {"schema": schema}}
