"""The operations of a team's page and its API: queue, people, news."""

from __future__ import annotations

from runner.operations.programs import LIMIT, NUMBER
from runner.operations.row import Api, Field, Operation

_BUILD = "/queue/{build}"
_NAME = Field("name", "name of the person", needed=True)
_ROLE = Field("role", "viewer, reviewer, operator or admin", needed=True)
_REASON = Field("reason", "information for the next attempt")
_ITEM = Field("item", "ID of the pending item: TASK-003, DRAFT-1", needed=True)
_SEEN = Field("seen", "digest of the item as it was shown", needed=True)
_TASK = Field("task", "the task: TASK-003, or 3", needed=True)
_TAKES_ANY = Field("repository", "only of this repository")


def _read(name: str, route: str, summary: str, *fields: Field, role: str = "viewer") -> Operation:
    return Operation(summary, summary, role=role, api=(Api(name, f"GET {route}", fields),))


def _act(name: str, route: str, summary: str, role: str, *fields: Field) -> Operation:
    api = Api(name, f"POST {route}", fields)
    return Operation(summary, summary, effects="writes", role=role, api=(api,))


ROWS = (
    _read("getMe", "/me", "the signed-in person and their role"),
    _read(
        "listRepositories", "/repositories", "registered repositories, as `team repo list --json`"
    ),
    _read("followNews", "/events", "a number that grows with each change, or a text/event-stream"),
    _read(
        "listQueue",
        "/queue",
        "unfinished builds, or all, as `team queue list --json`",
        _TAKES_ANY,
        Field("all", "include finished builds", kind=bool),
    ),
    _read("getBuild", _BUILD, "one build, as `team queue show --json`"),
    _read(
        "listWaiting",
        f"{_BUILD}/waiting",
        "pending items of a build with their files, riskiest first",
    ),
    _read(
        "listBuildEvents",
        f"{_BUILD}/events",
        "events of the build, or of a clone's `journal`, with numbers greater than `after`",
        Field("journal", "ID of a clone's journal"),
        NUMBER,
        LIMIT,
    ),
    _read("listPeople", "/people", "all people, their tokens and the latest changes", role="admin"),
    _act(
        "queue_approve",
        f"{_BUILD}/approve",
        "approve a pending item as it was shown",
        "reviewer",
        *(_ITEM, _SEEN, _REASON),
    ),
    _act(
        "queue_reject",
        f"{_BUILD}/reject",
        "reject a pending item",
        "reviewer",
        *(_ITEM, _SEEN, _REASON._replace(needed=True)),
    ),
    _act(
        "queue_again",
        f"{_BUILD}/again",
        "retry one task of a build",
        "operator",
        *(_TASK, _REASON),
    ),
    _act(
        "queue_cancel",
        f"{_BUILD}/cancel",
        "stop a build; landed work stays on its branch",
        "operator",
    ),
    _act(
        "queue_retry",
        f"{_BUILD}/retry",
        "retry a build; tasks that are DONE are not rebuilt",
        "operator",
    ),
    _act(
        "queue",
        "/queue",
        "queue a build: a whole plan, some of its tasks, or a request to draft",
        "operator",
        Field("repository", "name of the repository", needed=True),
        Field("wish", "request to draft tasks from"),
        Field("branch", "branch to land on"),
        Field("tasks", "build only these tasks", times="*"),
        Field("tags", "tags that the worker must have", times="*"),
        Field("priority", "higher starts earlier"),
        Field("timeout", "limit in minutes"),
    ),
    _act("people_add", "/people/add", "add a person", "admin", _NAME, _ROLE),
    _act("people_role", "/people/role", "set a person's role", "admin", _NAME, _ROLE),
    _act(
        "people_token",
        "/people/token",
        "create a token; only this response shows it",
        "admin",
        *(
            _NAME,
            Field("label", "label of the token"),
            Field("days", "lifetime of the token in days"),
        ),
    ),
    _act(
        "people_revoke",
        "/people/revoke",
        "revoke a token",
        "admin",
        Field("token", "ID of the token", needed=True),
    ),
    _act("people_remove", "/people/remove", "remove a person and their tokens", "admin", _NAME),
)
