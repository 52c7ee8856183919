"""The claim of a worker on a build: while it is renewed, no other worker writes for the build.

A claim raises the build's token. Whatever a worker writes of a build is written only where the
token is still its own: who was thought dead and comes back writes nothing. What it lands is
decided by the lease in the remote alone; `lease_until` only hands a build on.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Self

from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import case, exists, false, func, literal_column, or_, select, true
from sqlalchemy.exc import IntegrityError

from runner import effects
from runner.errors import ExitCode, RunnerError
from runner.extensions.team.build_queue import QueuedBuild, drop_answers, of_row
from runner.extensions.team.event_rows import fold_own, note_event
from runner.extensions.team.pending_work import write_shown
from runner.extensions.team.store_engine import StoreDownError, clock, ring
from runner.extensions.team.tables import RUNNING, answers, build_tags, builds
from runner.extensions.team.team_budget import (
    FREE,
    TEAM,
    BudgetUse,
    Share,
    SharedOutError,
    close_claim,
    explain,
    list_standings,
    record_share,
)
from runner.secrets.redact import redact
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from sqlalchemy import ColumnElement, Connection

    from runner.extensions.team.pending_work import ShownWork
    from runner.extensions.team.store_engine import Store

MOST_ATTEMPTS = 3
"""Consecutive workers lost with a build; then the build is the cause, and it is FAILED."""
_SPENT, _LAPSED = builds.alias("spent"), builds.alias("lapsed")
_PENDING, _OTHER = builds.alias("pending"), builds.alias("other")
_ROUNDS = 20
"""How often another worker may win a claim before this one waits for the next round."""


LONGEST_NOTE = 2000
"""Characters of a note."""


class WorkEnd(Struct, frozen=True):
    """The end of a worker's work on a build: finished, or the reason to hand it on."""

    state: str
    """COMPLETED, FAILED, CANCELLED, or PENDING for handing it on; empty: others have it."""
    note: str = ""
    waits: str = ""
    after: float = 0.0
    """Seconds in which it must not be claimed."""
    head: str = ""
    ending: str = "stopped"
    """Ending as in `notify.on`."""


class CommandEnd(Struct, frozen=True):
    """The exit of a command of the runner."""

    code: int
    stderr: str
    document: Mapping[str, object]


def shorten(text: str) -> str:
    """Return a text on one line, as long as a list of builds has room for."""
    return join_lines(text)[:LONGEST_NOTE]


def join_lines(text: str) -> str:
    """Return the lines of a text as one, redacted, for a list of builds."""
    lines = (display(line).strip() for line in redact(text).splitlines())
    return "; ".join(filter(None, lines))


def describe_blocked(ran: CommandEnd) -> str:
    """Describe which tasks are BLOCKED and why, from the command's JSON output."""
    rows: Any = ran.document.get("blocked") or ()
    lines = [f"{row['id']}: {row['note']}" for row in rows]
    return shorten("; ".join(lines) or ran.stderr)


class LostClaimError(RunnerError):
    """Somebody else has the build by now, or it has ended: nothing more is written of it."""


class Claimer(Struct, frozen=True):
    """A worker, as the store knows it."""

    name: str
    host: str
    tags: tuple[str, ...] = ()
    ttl: float = 30.0
    """Seconds after which an unrenewed claim expires."""


class Beat(Struct, frozen=True):
    """The store's answer when a worker renews its claim."""

    cancelled_by: str
    """Person who cancelled it; empty: not cancelled."""


def claim_build(
    store: Store,
    me: Claimer,
    on_end: Callable[[QueuedBuild], object] = lambda _: None,
) -> QueuedBuild | None:
    """Claim the next build; None if none waits for this worker. Raises StoreDownError.

    Builds that were lost too often, or are not wanted any more, are ended on the way, and reported.
    """
    for _ in range(_ROUNDS):
        try:
            with store.write() as connection:
                bounds = list_standings(store, connection)
                if _requeue_without_budget(store, connection, bounds):
                    bounds = list_standings(store, connection)
                row = connection.execute(_claim(store, me, bounds)).mappings().one_or_none()
                if row is None:
                    return None
                made = of_row(row)
                fields = {"worker": me.name, "token": made.token, "attempt": made.attempts}
                note_event(connection, made.id, "build.claimed", fields)
                ended = _end_hopeless(connection, made)
                if ended is None:
                    record_share(store, connection, made, is_bounded=bool(bounds))
        except (IntegrityError, SharedOutError):
            continue  # another build of this branch, or the rest of a budget, went at that moment
        if ended is None:
            return made
        on_end(ended)
    return None


def _requeue_without_budget(
    store: Store, connection: Connection, bounds: Sequence[BudgetUse]
) -> bool:
    """Return a lost worker's build to the queue if no budget is left; True if there was one."""
    spent = [one.bound.scope for one in bounds if one.is_used_up]
    if not spent:
        return False
    one = _SPENT
    query = select(one.c.id).where(
        _is_running(one),
        one.c.lease_until < clock(store),
        ~_is_hopeless(one),
        ~_is_free(one, spent),
    )
    had = builds.c.spent + (builds.c.lease_until - builds.c.claimed_at)
    waits = builds.update().where(builds.c.id == _take_first(query, one))
    waits = waits.values(state="PENDING", spent=had).returning(builds)
    row = connection.execute(waits).mappings().one_or_none()
    if row is not None:
        why = f"its worker was lost; {explain(bounds, row['repository'])}"
        note_event(connection, row["id"], "build.released", {"why": why})
    return row is not None


def _claim(store: Store, me: Claimer, bounds: Sequence[BudgetUse]) -> Any:
    """Return the statement that claims a build."""
    now = clock(store)
    found = (_find_lapsed(now, me, bounds), _find_pending(now, me, bounds))
    had = case((builds.c.state == "PENDING", 0.0), else_=builds.c.lease_until - builds.c.claimed_at)
    return (
        builds.update()
        .where(builds.c.id == func.coalesce(*found))
        .values(
            state="ANALYZING",
            token=builds.c.token + 1,
            attempts=builds.c.attempts + 1,
            spent=builds.c.spent + had,
            waits="",
            worker=me.name,
            host=me.host,
            claimed_at=now,
            lease_until=now + me.ttl,
        )
        .returning(builds)
    )


def _find_lapsed(now: ColumnElement[float], me: Claimer, bounds: Sequence[BudgetUse]) -> Any:
    """Return a query for a running build whose worker's lease has expired."""
    one = _LAPSED
    full = [
        of.bound.scope
        for of in bounds
        if of.is_used_up or (of.bound.at_once is not None and of.running > of.bound.at_once)
    ]
    # Only the store's clock: the clocks of two machines may differ by minutes.
    query = select(one.c.id).where(
        *(_is_running(one), one.c.lease_until < now),
        _fits(one, me),
        or_(_is_hopeless(one), _is_free(one, full)),
    )
    return _take_first(query, one)


def _find_pending(now: ColumnElement[float], me: Claimer, bounds: Sequence[BudgetUse]) -> Any:
    """Return a query for a pending build whose branch is not being built."""
    full = [of.bound.scope for of in bounds if of.why]
    one = _PENDING
    query = select(one.c.id).where(*_may_begin(one, full))
    is_ready = or_(one.c.free_at <= now, one.c.host == me.host)
    return _take_first(query.where(one.c.waits == "", is_ready, _fits(one, me)), one)


def _may_begin(one: Any, full: Sequence[str]) -> tuple[Any, ...]:
    """Return the conditions for a start: pending, branch not being built, budget left."""
    other = _OTHER
    is_built = exists().where(
        other.c.repository == one.c.repository, other.c.branch == one.c.branch, _is_running(other)
    )
    # As a literal: the index needs it.
    return one.c.state == literal_column("'PENDING'"), ~is_built, _is_free(one, full)


def _take_first(query: Any, one: Any) -> Any:
    first = query.order_by(one.c.priority.desc(), one.c.id).limit(1)
    # Concurrent claims take different rows instead of waiting (PostgreSQL, SELECT, "The Locking
    # Clause"). SQLite has one writer at a time, and the clause is left out.
    return first.with_for_update(skip_locked=True, of=one).scalar_subquery()


def _is_running(one: Any) -> Any:
    # Literal, not bound: a partial index applies only to a query with its condition (PostgreSQL,
    # 11.8; sqlite.org/partialindex.html).
    return one.c.state.in_([literal_column(f"'{state}'") for state in RUNNING])


def _is_free(one: Any, full: Sequence[str]) -> Any:
    """Return a condition that no exhausted budget applies to the build."""
    if TEAM in full:
        return false()
    return one.c.repository.not_in(full) if full else true()


def _is_hopeless(one: Any) -> Any:
    """Return a condition that the build is cancelled or out of attempts."""
    return or_(one.c.cancelled_by != "", one.c.attempts >= MOST_ATTEMPTS)


def _fits(one: Any, me: Claimer) -> Any:
    """Return a condition that the worker has all tags of the build."""
    lacks = exists().where(build_tags.c.build == one.c.id, build_tags.c.tag.not_in(me.tags))
    return ~lacks


def _end_hopeless(connection: Connection, made: QueuedBuild) -> QueuedBuild | None:
    """End a cancelled build or one with too many lost workers; return None for any other."""
    if made.cancelled_by:
        state, note = "CANCELLED", f"cancelled by {made.cancelled_by}"
    elif made.attempts > MOST_ATTEMPTS:
        state, note = "FAILED", f"{MOST_ATTEMPTS} workers were lost while building it"
    else:
        return None
    _end(connection, made, state, note, "", by=made.cancelled_by)
    return replace(made, state=state, note=note)


# --- what only the holder writes ------------------------------------------------------


@contextmanager
def write_mine(store: Store, mine: QueuedBuild) -> Iterator[tuple[Connection, QueuedBuild]]:
    """Open a transaction on the claimed build. Raises LostClaimError, StoreDownError."""
    with store.write() as connection:
        query = builds.select().where(*_is_mine(mine))
        # Locked until the transaction ends: a concurrent claim skips the row and later sees its
        # final state (PostgreSQL, SELECT, "The Locking Clause").
        row = connection.execute(query.with_for_update()).mappings().one_or_none()
        if row is None:
            raise _report_lost(mine)
        yield connection, of_row(row)


def _is_mine(mine: QueuedBuild) -> tuple[ColumnElement[bool], ...]:
    return (builds.c.id == mine.id, builds.c.token == mine.token, _is_running(builds))


def _report_lost(mine: QueuedBuild) -> LostClaimError:
    return LostClaimError(
        f"{mine.short} was taken over by another worker",
        hint=f"runner team queue show {mine.short}",
        code=ExitCode.CONFLICT,
    )


def beat(store: Store, mine: QueuedBuild, ttl: float) -> Beat:
    """Renew the claim on the build. Raises LostClaimError, StoreDownError."""
    update = builds.update().where(*_is_mine(mine)).values(lease_until=clock(store) + ttl)
    with store.write() as connection:
        by = connection.execute(update.returning(builds.c.cancelled_by)).scalar()
    if by is None:
        raise _report_lost(mine)
    return Beat(str(by))


def note_mine(
    store: Store,
    mine: QueuedBuild,
    kind: str,
    fields: Mapping[str, object] | None = None,
    **values: object,
) -> None:
    """Write down an event of the build, with what its row says since then.

    Raises LostClaimError, StoreDownError.
    """
    with write_mine(store, mine) as (connection, now):
        note_event(connection, mine.id, kind, fields)
        values["state"] = fold_own([kind], now.state)
        connection.execute(builds.update().where(builds.c.id == mine.id).values(**values))


def finish_build(
    store: Store, mine: QueuedBuild, state: str, note: str, head: str = "", share: Share = FREE
) -> None:
    """Record the end of the build. Raises LostClaimError, StoreDownError."""
    with write_mine(store, mine) as (connection, now):
        close_claim(connection, mine, share)
        _end(connection, mine, state, note, head, by=now.cancelled_by)


def _end(
    connection: Connection, mine: QueuedBuild, state: str, note: str, head: str, by: str = ""
) -> None:
    fields = {"by": by} if state == "CANCELLED" else {"head": head, "note": note}
    note_event(connection, mine.id, f"build.{state.lower()}", fields)
    values = {"state": state, "note": note, "waits": ""} | ({"head": head} if head else {})
    connection.execute(builds.update().where(builds.c.id == mine.id).values(**values))
    drop_answers(connection, mine.id, f"the build is {state}")
    ring(connection)


def list_answers(store: Store, mine: QueuedBuild) -> tuple[Mapping[str, str], ...]:
    """Return the answers of people that nobody took yet, in order. Raises StoreDownError."""
    query = answers.select().where(answers.c.build == mine.id, answers.c.taken == "")
    with store.read() as connection:
        rows = connection.execute(query.order_by(answers.c.id)).mappings()
        return tuple({str(name): str(value) for name, value in row.items()} for row in rows)


def take_answer(store: Store, mine: QueuedBuild, answer: str, outcome: str) -> None:
    """Record that an answer was taken, with its outcome. Raises LostClaimError, StoreDownError."""
    with write_mine(store, mine) as (connection, _):
        connection.execute(
            answers.update()
            .where(answers.c.id == answer)
            .values(taken=effects.timestamp(), outcome=outcome)
        )


def _has_answers(connection: Connection, build: str) -> bool:
    query = select(answers.c.id).where(answers.c.build == build, answers.c.taken == "").limit(1)
    return connection.execute(query).first() is not None


def release_build(
    store: Store,
    mine: QueuedBuild,
    why: str,
    share: Share = FREE,
    *,
    waits: str = "",
    after: float = 0.0,
    shown: Sequence[ShownWork] = (),
) -> str:
    """Release the build for another claim: at once, after `after` seconds, or after an answer.

    `waits` names what they are to answer, `shown` is what they are to see of it. Gives who wanted
    it ended meanwhile: then it is. Raises LostClaimError, StoreDownError.
    """
    now = clock(store)
    with write_mine(store, mine) as (connection, was):
        close_claim(connection, mine, share)
        if by := was.cancelled_by:
            _end(connection, mine, "CANCELLED", f"cancelled by {by}", "", by=by)
            return by
        kind = "build.put-off" if after else "build.released"
        kind = "build.waits" if waits else kind
        if waits and _has_answers(connection, mine.id):
            waits = ""  # it came while the run ended: the next claim takes it
        note_event(connection, mine.id, kind, {"why": why})
        write_shown(connection, mine.id, shown)
        connection.execute(
            builds.update()
            .where(builds.c.id == mine.id)
            .values(
                state="PENDING",
                attempts=0,  # nobody was lost
                waits=waits,
                note="" if waits else why,
                spent=builds.c.spent + (now - builds.c.claimed_at),
                free_at=now + after if after else 0.0,
                **({"host": ""} if after else {}),
            )
        )
        ring(connection)
    return ""


class Heartbeat:
    """Beats by a thread of its own while entered, and hears what the store says of the build.

    A store that is away is tried again: what goes on here is not harmed by it.
    """

    def __init__(
        self, store: Store, mine: QueuedBuild, pace: tuple[float, float], rung: threading.Event
    ) -> None:
        self.is_lost = False
        self.cancelled_by = ""
        self._store, self._mine = store, mine
        self._every, self._ttl = pace
        self._rung = rung
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._go, name="heartbeat", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(self._every)

    def _go(self) -> None:
        while not self._over.wait(self._every) and not self.is_lost:
            self.look()

    def look(self) -> None:
        """Beat now."""
        with suppress(StoreDownError):
            try:
                by = beat(self._store, self._mine, self._ttl).cancelled_by
            except LostClaimError:
                # A heartbeat still in flight when the build ended finds no claim: the build is not
                # lost.
                self.is_lost = not self._over.is_set()
                by = ""
            if self.is_lost or by != self.cancelled_by:
                self.cancelled_by = by
                self._rung.set()
