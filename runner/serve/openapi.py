"""What `/api/v1` offers, as an OpenAPI 3.1 document."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping

_TEXT: dict[str, object] = {"type": "string"}
_ITEM = {
    "item": {"type": "string", "description": "the id of what waits: TASK-003, DRAFT-1"},
    "seen": {
        "type": "string",
        "description": "the digest that came with it: only that is answered",
    },
}
_SAID: dict[str, object] = {
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
_READS = {
    "/builds": ("listBuilds", "every build that is served"),
    "/events": (
        "followEvents",
        "records of all builds; as text/event-stream it goes on. Each id says how far it is in all",
    ),
    "/builds/{build}": ("getStatus", "every task with its status, as `status --json`"),
    "/builds/{build}/tasks/{task}": ("getTask", "one task whole, as `show --json`"),
    "/builds/{build}/tasks/{task}/why": ("explainTask", "why it stands so, as `why --json`"),
    "/builds/{build}/review": ("listReview", "what waits, as `review --json`, risk first"),
    "/builds/{build}/plan": ("getPlan", "the plan's text with its mistakes, as `validate --json`"),
    "/builds/{build}/events": (
        "listEvents",
        "records behind `after`, as `log --json`; as text/event-stream it goes on",
    ),
}
_WRITES: dict[str, tuple[str, dict[str, object], tuple[str, ...]]] = {
    "approve": (
        "let what waits go on, exactly as it was shown",
        {**_ITEM, "reuse": {"type": "boolean"}, "reason": _TEXT},
        ("item", "seen"),
    ),
    "reject": ("refuse what waits", {**_ITEM, "reason": _TEXT}, ("item", "seen", "reason")),
    "edit": (
        "put texts in the place of what waits: fields named `file:PATH`",
        dict(_ITEM),
        ("item", "seen"),
    ),
    "retry": ("have a task tried again", {"task": _TEXT, "reason": _TEXT}, ("task",)),
    "cancel": ("end one attempt; its work is kept", {"task": _TEXT}, ("task",)),
    "run": (
        "begin a build, which trusts nothing that nobody trusted",
        {"tasks": {"type": "array", "items": _TEXT}},
        (),
    ),
    "stop": ("end the run, as Ctrl-C does", {}, ()),
    "plan": ("save the plan's text", {"text": _TEXT, "seen": _TEXT}, ("text", "seen")),
    "change": (
        "ask something new of tasks; without `confirmed` it only says what that would do",
        {
            "tasks": {"type": "array", "items": _TEXT},
            "text": _TEXT,
            "confirmed": {"type": "boolean"},
        },
        ("tasks", "text"),
    ),
    "draft": ("have a wish drafted", {"wish": _TEXT}, ("wish",)),
}

_TEAM_READS = {
    "/me": ("getMe", "who asks, and their role"),
    "/repositories": ("listRepositories", "what may be queued, as `repo list --json`"),
    "/events": ("followNews", "a number that grows with news; as text/event-stream it goes on"),
    "/queue": ("listQueue", "builds that are not over, or all, as `queue list --json`"),
    "/queue/{build}": ("getBuild", "one build, as `queue show --json`"),
    "/queue/{build}/waiting": ("listWaiting", "what waits in it, with its files, risk first"),
    "/queue/{build}/events": (
        "listBuildEvents",
        "events behind `after`: the build's own, or of the journal that is named",
    ),
    "/people": ("listPeople", "everybody with their tokens, and what was done to them"),
}
_SECRET_ONCE = "make a token, which is in this answer and never told again"
_TEAM_WRITES: dict[str, tuple[str, dict[str, object], tuple[str, ...]]] = {
    "/queue/{build}/approve": (
        "let what waits go on, as it was shown",
        dict(_ITEM),
        ("item", "seen"),
    ),
    "/queue/{build}/reject": (
        "refuse what waits",
        {**_ITEM, "reason": _TEXT},
        ("item", "seen", "reason"),
    ),
    "/queue/{build}/again": (
        "have one task of it tried again",
        {"task": _TEXT, "reason": _TEXT},
        ("task",),
    ),
    "/queue/{build}/cancel": ("end it; what landed stays on its branch", {}, ()),
    "/queue/{build}/retry": ("have it tried again; what is DONE is not built anew", {}, ()),
    "/queue": (
        "queue a build: a whole plan, some of its tasks, or a wish in words",
        {
            "repository": _TEXT,
            "wish": _TEXT,
            "branch": _TEXT,
            "tasks": {"type": "array", "items": _TEXT},
            "tags": {"type": "array", "items": _TEXT},
            "priority": _TEXT,
            "timeout": {"type": "string", "description": "minutes"},
        },
        ("repository",),
    ),
    "/people/add": ("make somebody known", {"name": _TEXT, "role": _TEXT}, ("name", "role")),
    "/people/role": ("set a role", {"name": _TEXT, "role": _TEXT}, ("name", "role")),
    "/people/token": (_SECRET_ONCE, {"name": _TEXT, "label": _TEXT, "days": _TEXT}, ("name",)),
    "/people/revoke": ("have a token open nothing any more", {"token": _TEXT}, ("token",)),
    "/people/remove": ("have somebody be nobody", {"name": _TEXT}, ("name",)),
}


def openapi_document() -> dict[str, object]:
    """The document of one person's folders."""
    writes = {f"/builds/{{build}}/{name}": said for name, said in _WRITES.items()}
    return _document(_READS, writes, "runner-INSTANCE")


def team_document() -> dict[str, object]:
    """The document of a team's store."""
    return _document(_TEAM_READS, _TEAM_WRITES, "__Host-runner-INSTANCE")


def _document(
    reads: Mapping[str, tuple[str, str]],
    writes: Mapping[str, tuple[str, dict[str, object], tuple[str, ...]]],
    cookie: str,
) -> dict[str, object]:
    paths: dict[str, dict[str, object]] = {}
    for path, (name, summary) in reads.items():
        paths[path] = {"get": _read(path, name, summary)}
    for path, (summary, fields, needed) in writes.items():
        name = "_".join(one for one in path.split("/") if one and not one.startswith("{"))
        name = name.removeprefix("builds_")
        paths.setdefault(path, {})["post"] = _write(path, name, summary, fields, needed)
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
            "schemas": {"Said": _SAID, "Failed": _FAILED},
        },
    }


def _parameters(path: str) -> list[object]:
    found: list[object] = [
        {"name": name, "in": "path", "required": True, "schema": _TEXT}
        for name in ("build", "task")
        if f"{{{name}}}" in path
    ]
    if path == "/queue/{build}/events":
        found.append({"name": "journal", "in": "query", "schema": _TEXT})
    if path == "/queue":
        found.append({"name": "repository", "in": "query", "schema": _TEXT})
        found.append({"name": "all", "in": "query", "schema": {"type": "boolean"}})
    if path == "/events":
        found.append({"name": "after", "in": "query", "schema": _TEXT})
    elif path.endswith("/events"):
        number = {"type": "integer", "minimum": 0}
        found.append({"name": "after", "in": "query", "schema": number})
    if path.endswith("/events"):
        bounded = {"type": "integer", "minimum": 1, "maximum": 1000}
        found.append({"name": "limit", "in": "query", "schema": bounded})
    return found


def _read(path: str, name: str, summary: str) -> dict[str, object]:
    document: dict[str, object] = {
        "type": "object",
        "required": ["schemaVersion", "kind"],
        "properties": {"schemaVersion": {"type": "integer"}, "kind": _TEXT},
    }
    answers = {
        "200": _answer("the document", document),
        **_failures("400", "401", "403", "404", "429", "503"),
    }
    return {
        "operationId": name,
        "summary": summary,
        "parameters": _parameters(path),
        "responses": answers,
    }


def _write(
    path: str, name: str, summary: str, fields: dict[str, object], needed: tuple[str, ...]
) -> dict[str, object]:
    body: dict[str, object] = {"type": "object", "properties": fields, "required": list(needed)}
    said: dict[str, object] = {"$ref": "#/components/schemas/Said"}
    failures = _failures("400", "401", "403", "404", "409", "413", "415", "429", "503")
    return {
        "operationId": name,
        "summary": summary,
        "parameters": _parameters(path.removesuffix("/events")),
        "requestBody": {"required": True, "content": {"application/json": {"schema": body}}},
        "responses": {"200": _answer("what it came to", said), **failures},
    }


def _answer(description: str, schema: dict[str, object]) -> dict[str, object]:
    content = {"application/json": {"schema": schema}}
    return {"description": description, "content": content}


def _failures(*codes: str) -> dict[str, object]:
    schema: dict[str, object] = {"$ref": "#/components/schemas/Failed"}
    return {code: _answer("why not", schema) for code in codes}
