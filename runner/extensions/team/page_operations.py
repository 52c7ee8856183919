"""Operations of a team's page and its API: queue, people, news."""

from __future__ import annotations

from runner.operations.remote import LIMIT, NUMBER
from runner.operations.row import Api, Field, Operation

_BUILD = "/queue/{build}"
_NAME = Field("name", "who", needed=True)
_ROLE = Field("role", "viewer, reviewer, operator or admin", needed=True)
_REASON = Field("reason", "what the next attempt is to know")
_ITEM = Field("item", "the id of what waits: TASK-003, DRAFT-1", needed=True)
_SEEN = Field("seen", "the digest that came with it: only that is answered", needed=True)
_TASK = Field("task", "the task: TASK-003, or 3", needed=True)
_TAKES_ANY = Field("repository", "only of this repository")


def _read(name: str, route: str, summary: str, *fields: Field, role: str = "viewer") -> Operation:
    return Operation(summary, summary, role=role, api=(Api(name, f"GET {route}", fields),))


def _act(name: str, route: str, summary: str, role: str, *fields: Field) -> Operation:
    api = Api(name, f"POST {route}", fields)
    return Operation(summary, summary, effects="writes", role=role, api=(api,))


ROWS = (
    _read("getMe", "/me", "who asks, and their role"),
    _read("listRepositories", "/repositories", "what may be queued, as `team repo list --json`"),
    _read(
        "followNews", "/events", "a number that grows with news; as text/event-stream it goes on"
    ),
    _read(
        "listQueue",
        "/queue",
        "builds that are not over, or all, as `team queue list --json`",
        _TAKES_ANY,
        Field("all", "what ended, too", kind=bool),
    ),
    _read("getBuild", _BUILD, "one build, as `team queue show --json`"),
    _read("listWaiting", f"{_BUILD}/waiting", "what waits in it, with its files, risk first"),
    _read(
        "listBuildEvents",
        f"{_BUILD}/events",
        "events behind `after`: the build's own, or of the journal that is named",
        Field("journal", "the journal of a clone"),
        NUMBER,
        LIMIT,
    ),
    _read("listPeople", "/people", "everybody with their tokens, and what was done", role="admin"),
    _act(
        "queue_approve",
        f"{_BUILD}/approve",
        "let what waits go on, as it was shown",
        "reviewer",
        *(_ITEM, _SEEN, _REASON),
    ),
    _act(
        "queue_reject",
        f"{_BUILD}/reject",
        "refuse what waits",
        "reviewer",
        *(_ITEM, _SEEN, _REASON._replace(needed=True)),
    ),
    _act(
        "queue_again",
        f"{_BUILD}/again",
        "have one task of it tried again",
        "operator",
        *(_TASK, _REASON),
    ),
    _act("queue_cancel", f"{_BUILD}/cancel", "end it; what landed stays on its branch", "operator"),
    _act(
        "queue_retry",
        f"{_BUILD}/retry",
        "have it tried again; what is DONE is not built again",
        "operator",
    ),
    _act(
        "queue",
        "/queue",
        "queue a build: a whole plan, some of its tasks, or a wish in words",
        "operator",
        Field("repository", "which one", needed=True),
        Field("wish", "what is wished for, in words"),
        Field("branch", "where it lands"),
        Field("tasks", "only these", times="*"),
        Field("tags", "a worker has to have all of them", times="*"),
        Field("priority", "the higher the earlier"),
        Field("timeout", "minutes"),
    ),
    _act("people_add", "/people/add", "make somebody known", "admin", _NAME, _ROLE),
    _act("people_role", "/people/role", "set a role", "admin", _NAME, _ROLE),
    _act(
        "people_token",
        "/people/token",
        "make a token, which is in this answer and never shown again",
        "admin",
        *(_NAME, Field("label", "what it is for"), Field("days", "when it ends")),
    ),
    _act(
        "people_revoke",
        "/people/revoke",
        "have a token open nothing any more",
        "admin",
        Field("token", "its id", needed=True),
    ),
    _act("people_remove", "/people/remove", "have somebody be nobody", "admin", _NAME),
)
