"""The queue of builds: add, show, end and retry them."""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from sqlalchemy import func, select

from runner import effects
from runner.errors import ExitCode, RunnerError
from runner.extensions.team.event_rows import (
    ANALYZING,
    ENDS,
    EXECUTING,
    PENDING,
    PLANNING,
    VERIFYING,
    note_event,
    read_lines,
)
from runner.extensions.team.pending_work import mark_answered, write_shown
from runner.extensions.team.people import is_same_person
from runner.extensions.team.store_engine import clock, ring
from runner.extensions.team.tables import answers, build_tags, builds, events, tasks
from runner.text.display import display
from runner.text.wording import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection

    from runner.extensions.team.repository_list import Registered
    from runner.extensions.team.store_engine import Store

ISSUE_TAG = "bridge"
"""Tag of an issue's builds, which no worker claims by itself; the bridge uses it for requests."""
_SHORT = 12
"""Characters of the last part of an ID."""
# No `%` or `_`: it is used in a `like`, in which these are wildcards.
_ID = re.compile(r"[0-9a-z-]{1,40}")
# Stricter than git-check-ref-format(1): a leading dash would be an option of git, `..` a range.
_BRANCH = re.compile(
    r"(?!.*(?:\.\.|//|\.lock(?:/|$)|/\.))[A-Za-z0-9][A-Za-z0-9._/+-]{0,199}(?<![./])"
)
_NUMBERS = ("token", "attempts", "lease_until", "free_at", "spent", "claimed_at")
_OWN_FIRST = 30.0
"""Seconds for which only the host with a build's work may continue it."""
_MOST = 1000
_SHOWN = 200
_GOES_ON = (PENDING, ANALYZING, PLANNING, EXECUTING, VERIFYING)
_WAITS = "WAITS"
"""Counter of builds that are PENDING and wait for a person."""


class UnknownBuildError(RunnerError):
    """There is no such build, or there are several."""


class BuildOrder(Struct, frozen=True):
    """The order for a build."""

    repository: Registered
    by: str
    tasks: tuple[str, ...] = ()
    """Tasks to build; empty: all tasks of the plan."""
    branch: str = ""
    """Branch for its landings; empty: a branch of its own, `feature/<short id>`."""
    timeout: float = 0.0
    """Total seconds for workers, all claims together; 0: no limit."""
    priority: int = 0
    """Priority; higher values start earlier."""
    tags: tuple[str, ...] = ()
    """Tags, all of which a worker needs."""
    wish: str = ""
    """Request as text: it is drafted and waits for a person before it is built."""
    via: str = "terminal"
    """Origin of the request: `terminal`, `page`."""


class QueuedBuild(Struct, frozen=True):
    """One build as the store has it."""

    id: str
    repository: str
    url: str
    credential: str
    branch: str
    base: str
    plan: str
    tasks: tuple[str, ...]
    tags: tuple[str, ...]
    spec: str
    state: str
    priority: int
    timeout: float
    by: str
    queued: str
    worker: str
    token: int
    attempts: int
    waits: str
    cancelled_by: str
    host: str
    place: str
    head: str
    note: str
    wish: str
    spent: float

    @property
    def short(self) -> str:
        """Short id of the build for display."""
        return short_of(self.id)

    @property
    def is_over(self) -> bool:
        """Whether nothing follows but a retry."""
        return self.state in ENDS


def short_of(build: str) -> str:
    """Return the short ID of a build: its last, random part."""
    return build.replace("-", "")[-_SHORT:]


def queue_build(
    store: Store, wanted: BuildOrder, *, default_branch_too: bool = False
) -> QueuedBuild:
    """Add a build to the queue, together with its event.

    Raises RunnerError for the branch that it begins on, unless the settings say so.
    """
    one, new = wanted.repository, effects.new_id()
    branch = wanted.branch or f"feature/{short_of(new)}"
    if not _BRANCH.fullmatch(branch):
        raise RunnerError("invalid branch name", where=branch, hint="--branch feature/csv")
    if branch == one.branch and not default_branch_too:
        raise RunnerError(
            f"workers do not land on {branch}, the branch that builds of {one.name} start from",
            where="--branch",
            hint="omit --branch to land on feature/<short id>, then open a pull request",
            code=ExitCode.PERSON,
        )
    asked = [one.url, one.branch, branch, one.plan, sorted(wanted.tasks), wanted.wish]
    values = {
        "id": new,
        "repository": one.name,
        "url": one.url,
        "credential": one.credential,
        "branch": branch,
        "base": one.branch,
        "plan": one.plan,
        "tasks": json.dumps(wanted.tasks),
        "tags": json.dumps(sorted(set(wanted.tags))),
        "spec": hashlib.sha256(json.dumps(asked).encode()).hexdigest(),
        "state": PENDING,
        "priority": wanted.priority,
        "timeout": wanted.timeout,
        "wish": wanted.wish,
        "by": wanted.by,
        "queued": effects.timestamp(),
        **dict.fromkeys(_NUMBERS, 0),
        **dict.fromkeys(("worker", "host", "waits", "cancelled_by", "place", "head", "note"), ""),
    }
    with store.write() as connection:
        connection.execute(builds.insert().values(**values))
        for tag in sorted(set(wanted.tags)):
            connection.execute(build_tags.insert().values(build=new, tag=tag))
        fields = {"by": wanted.by, "via": wanted.via, "spec": values["spec"]}
        note_event(connection, new, "build.queued", fields)
        ring(connection)
    return find_build(store, new)


def list_builds(store: Store, repository: str = "", *, every: bool) -> tuple[QueuedBuild, ...]:
    """Return the unfinished builds, newest first; with `every` the last thousand of all builds."""
    query = builds.select().order_by(builds.c.id.desc()).limit(_MOST)
    if repository:
        query = query.where(builds.c.repository == repository)
    if not every:
        query = query.where(builds.c.state.not_in(ENDS))
    with store.read() as connection:
        return tuple(of_row(row) for row in connection.execute(query).mappings())


def count_states(store: Store) -> dict[str, int]:
    """Count the unfinished builds by state; those that wait for a person are counted separately."""
    waits = (builds.c.waits != "").label("waits")
    query = (
        select(builds.c.state, waits, func.count())
        .where(builds.c.state.in_(_GOES_ON))
        .group_by(builds.c.state, waits)
    )
    counted = dict.fromkeys((*_GOES_ON, _WAITS), 0)
    with store.read() as connection:
        for state, is_waiting, number in connection.execute(query):
            counted[_WAITS if is_waiting and state == PENDING else state] += number
    return counted


def of_row(row: Mapping[Any, Any]) -> QueuedBuild:
    """Create a build from its row."""
    values = {name: row[name] for name in QueuedBuild.__struct_fields__}
    for name in ("tasks", "tags"):
        values[name] = tuple(json.loads(values[name]))
    return QueuedBuild(**values)


def find_build(store: Store, typed: str) -> QueuedBuild:
    """Return the build with this ID or ID prefix. Raises RunnerError for none or several."""
    meant = typed.casefold()
    if not _ID.fullmatch(meant):
        raise UnknownBuildError(f"{typed!a} is not a valid build ID", hint="runner team queue list")
    with store.read() as connection:
        rows = connection.execute(builds.select().where(builds.c.id.like(f"%{meant}%"))).mappings()
        found = [of_row(row) for row in rows]
    found = [one for one in found if one.id == meant or one.short.startswith(meant)]
    if len(found) != 1:
        known = [one.short for one in list_builds(store, every=True)]
        how = f"{len(found)} builds begin with {typed}" if found else f"unknown build {typed!a}"
        raise UnknownBuildError(
            how, hint=did_you_mean(typed, known) or "runner team queue list --all"
        )
    return found[0]


class Details(Struct, frozen=True):
    """A build with all that the store has of it."""

    build: QueuedBuild
    tasks: tuple[Mapping[str, object], ...]
    events: tuple[Mapping[str, object], ...]
    """The build's own events and the last ones of its clones."""
    answers: tuple[Mapping[str, object], ...]


def read_build(store: Store, build: QueuedBuild) -> Details:
    """Load all details of a build."""
    shown = ("time", "type", "task", "journal", "seq")
    columns = [events.c[name] for name in shown]
    with store.read() as connection:

        def rows(query: Any) -> tuple[Mapping[str, object], ...]:  # Any: a select
            return tuple(dict(row) for row in connection.execute(query).mappings())

        last = select(*columns).where(events.c.build == build.id)
        last = last.order_by(events.c.time.desc(), events.c.seq.desc()).limit(_SHOWN)
        row = connection.execute(builds.select().where(builds.c.id == build.id)).mappings().one()
        return Details(
            of_row(row),
            rows(tasks.select().where(tasks.c.build == build.id).order_by(tasks.c.task)),
            rows(last)[::-1],
            rows(answers.select().where(answers.c.build == build.id).order_by(answers.c.id)),
        )


def cancel_build(store: Store, build: QueuedBuild, by: str, *, via: str = "terminal") -> str:
    """Cancel a build and return its state; its worker stops a running one within seconds.

    Raises RunnerError for one that is over.
    """
    with store.write() as connection:
        row = _lock(connection, build.id)
        if row.state in ENDS:
            raise RunnerError(
                f"{build.short} is already {row.state}", hint="runner team queue list"
            )
        is_waiting = row.state == PENDING
        kind = "build.cancelled" if is_waiting else "build.cancel-asked"
        note_event(connection, build.id, kind, {"by": by, "via": via})
        values: dict[str, object] = {"cancelled_by": by}
        if is_waiting:
            values |= {"state": "CANCELLED", "waits": "", "note": f"cancelled by {by}"}
            drop_answers(connection, build.id, "the build was cancelled")
        ring(connection)
        connection.execute(builds.update().where(builds.c.id == build.id).values(**values))
        return "CANCELLED" if is_waiting else str(row.state)


def drop_answers(connection: Connection, build: str, why: str) -> None:
    """Close all open answers of a build that has ended."""
    connection.execute(
        answers.update()
        .where(answers.c.build == build, answers.c.taken == "")
        .values(taken=effects.timestamp(), outcome=why)
    )
    write_shown(connection, build, ())


def retry_build(store: Store, build: QueuedBuild, by: str, *, via: str = "terminal") -> None:
    """Queue a build that ended or waits for a retry; DONE tasks on its branch are not rebuilt.

    Raises RunnerError for one that waits for a worker, or goes on, and for an issue's.
    """
    _require_queue(build)
    with store.write() as connection:
        row = _lock(connection, build.id)
        if row.state not in ENDS and not row.waits:
            raise RunnerError(
                f"{build.short} is {row.state}: only a build that ended or waits can be retried",
                hint=f"runner team queue show {build.short}",
            )
        note_event(connection, build.id, "build.retried", {"by": by, "via": via})
        values = {"state": PENDING, "waits": "", "cancelled_by": "", "note": ""}
        numbers = dict.fromkeys(("attempts", "spent", "free_at"), 0)
        again = builds.update().where(builds.c.id == build.id)
        connection.execute(again.values(**values, **numbers))
        ring(connection)


def _require_queue(build: QueuedBuild) -> None:
    if ISSUE_TAG in build.tags:
        raise RunnerError(
            f"{build.short} belongs to an issue; answer it there",
            hint=f"comment `/runner retry`, for example, in the issue of {display(build.branch)}",
            code=ExitCode.CONFLICT,
        )


def _lock(connection: Connection, build: str) -> Any:
    """Return the row of a build and lock it until the transaction ends."""
    # SQLite has no FOR UPDATE, and SQLAlchemy omits it: BEGIN IMMEDIATE locks everything.
    query = builds.select().where(builds.c.id == build).with_for_update()
    return connection.execute(query).one()


class Asked(Struct, frozen=True):
    """The source of an answer, and the state that it applies to."""

    via: str = "terminal"
    seen: str = ""
    """Digest of what the person saw: no other state is answered; empty: no check."""
    four_eyes: bool = False
    """Whether the requester may not approve it."""


def answer_build(
    store: Store,
    build: QueuedBuild,
    answer: tuple[str, str, str],
    by: str,
    asked: Asked = Asked(),
) -> str:
    """Leave a word (`approve`, `reject`, `retry`), its task and reason for whoever builds it.

    Gives the answer's id. Raises RunnerError for a build that is over, a no without a reason, what
    is not shown any more, an approval that somebody else has to give, and an issue's build.
    """
    _require_queue(build)
    word, task, reason = answer
    if word == "reject" and not reason:
        raise RunnerError("a rejection needs a reason", hint="--reason TEXT")
    new = effects.new_id()
    with store.write() as connection:
        row = _lock(connection, build.id)
        if row.state in ENDS:
            raise RunnerError(
                f"{build.short} is {row.state}: it has nothing to answer",
                hint=f"runner team queue retry {build.short}",
                code=ExitCode.CONFLICT,
            )
        if asked.four_eyes and word == "approve":
            _require_other_eyes(connection, build, by)
        mark_answered(connection, build.id, task, asked.seen, by)
        values = {"id": new, "build": build.id, "word": word, "task": task, "reason": reason}
        values |= {"by": by, "given": effects.timestamp(), "taken": "", "outcome": ""}
        values |= {"via": asked.via, "seen": asked.seen}
        connection.execute(answers.insert().values(**values))
        fields = {"by": by, "via": asked.via, "answer": new, "word": word, "task": task}
        note_event(connection, build.id, "build.answered" if row.waits else "answer.given", fields)
        if row.waits:
            connection.execute(
                builds.update()
                .where(builds.c.id == build.id)
                .values(waits="", free_at=clock(store) + _OWN_FIRST)
            )
        ring(connection)
    return new


def _require_other_eyes(connection: Connection, build: QueuedBuild, by: str) -> None:
    """Raise RunnerError where whoever approves asked for it."""
    if any(is_same_person(by, one) for one in _list_askers(connection, build)):
        raise RunnerError(
            "four eyes: you requested this, so another person must approve it",
            where=build.short,
            hint="team.four_eyes requires it; you can still reject it",
            code=ExitCode.PERSON,
        )


def has_asked(store: Store, build: QueuedBuild, by: str) -> bool:
    """Return whether a person queued a build, or retried it or one of its tasks."""
    with store.read() as connection:
        return any(is_same_person(by, one) for one in _list_askers(connection, build))


def _list_askers(connection: Connection, build: QueuedBuild) -> list[str]:
    asked = select(answers.c.by).where(answers.c.build == build.id, answers.c.word == "retry")
    own = (json.loads(line) for line in read_lines(connection, build.id))
    again = [str(one.get("by", "")) for one in own if one["type"] == "build.retried"]
    return [build.by, *again, *connection.execute(asked).scalars()]
