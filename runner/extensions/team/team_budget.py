"""The budget of a team's builds: cost and parallel builds, shared among claims.

A bound is of the whole team or of one repository. A claim is given a share of what is left, which
counts as spent until the claim ends and says what it came to; of one that was lost nobody knows,
so all that it was given stays spent. What was shared out is one number a bound, changed where its
row is locked: two workers never give out the same dollar.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct
from sqlalchemy import case, func, select, text

from runner import effects
from runner.errors import RunnerError
from runner.extensions.team.build_queue import count_states
from runner.extensions.team.event_rows import PENDING
from runner.extensions.team.store_engine import clock, ring
from runner.extensions.team.tables import IS_RUNNING, budgets, builds, claims
from runner.report.documents import document
from runner.run.limits.budget import WARNED_AT
from runner.text.wording import plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from sqlalchemy import Connection, Select

    from runner.config.settings import Settings
    from runner.extensions.team.build_queue import QueuedBuild
    from runner.extensions.team.store_engine import Store

TEAM = ""
"""Scope of the limit for all repositories together."""
PERIODS = ("day", "month")
SHARES = 10
"""Number of claims that share a limit, if no share is configured."""
_LEAST = 0.1
"""Minimum part of a share: with less no build starts."""
ROUNDING = 1e-6


class SharedOutError(Exception):
    """Others were faster: nothing is left of what there was when the build was chosen."""


def set_bound(store: Store, asked: Bound) -> BudgetUse:
    """Set a budget, replacing the previous one; one without limits removes it.

    What was spent in this period already counts. Raises RunnerError for what is no bound.
    """
    _require_sense(asked)
    with store.write() as connection:
        if not store.is_sqlite:
            # Anyone changing a sum locked its row first, and this waits for them (PostgreSQL,
            # 13.3.1): nothing changes between counting and writing.
            connection.exec_driver_sql("LOCK TABLE budgets IN EXCLUSIVE MODE")
        connection.execute(budgets.delete().where(budgets.c.scope == asked.scope))
        if asked.dollars is not None or asked.at_once is not None:
            now = _read_clock(store, connection)
            began = _begin_of(now, asked.period)
            values = {name: getattr(asked, name) for name in Bound.__struct_fields__}
            values |= {
                "calls": "",
                "began": began,
                "used": _sum_claims(connection, asked.scope, began),
            }
            connection.execute(budgets.insert().values(**values, set=effects.timestamp()))
        ring(connection)
    rows = {one.bound.scope: one for one in read_standings(store)}
    return rows.get(asked.scope, BudgetUse(asked, 0.0, 0, 0.0, ""))


def _require_sense(asked: Bound) -> None:
    if asked.period not in PERIODS:
        raise RunnerError(f"unknown period {asked.period!a}", hint="--dollars 200/month or 10/day")
    numbers = (asked.dollars or 0.0, asked.share, asked.at_once or 0)
    if not all(0 <= one < float("inf") for one in numbers):
        raise RunnerError("a limit must be 0 or more", hint="--dollars 200/month --at-once 4")


def list_standings(store: Store, connection: Connection) -> tuple[BudgetUse, ...]:
    """Return the current use of all budgets, the team's first."""
    rows = connection.execute(budgets.select().order_by(budgets.c.scope)).mappings().all()
    if not rows:
        return ()
    now, running = _read_clock(store, connection), _count_running(connection)
    return tuple(_stand(row, now, running) for row in rows)


def _read_clock(store: Store, connection: Connection) -> float:
    return float(connection.execute(select(clock(store))).scalar() or 0)


def _stand(row: Mapping[Any, Any], now: float, running: Mapping[str, int]) -> BudgetUse:
    bound = Bound(**{name: row[name] for name in Bound.__struct_fields__})
    # A clock set back does not start a new period.
    began = max(row["began"], _begin_of(now, bound.period))
    used = row["used"] if began == row["began"] else 0.0
    number = sum(one for name, one in running.items() if bound.scope in (TEAM, name))
    until = datetime.fromtimestamp(_end_of(began, bound.period), UTC)
    return BudgetUse(bound, used, number, began, until.strftime("%Y-%m-%d %H:%M UTC"))


def _count_running(connection: Connection) -> dict[str, int]:
    """Count the builds that go on, by repository."""
    query = select(builds.c.repository, func.count()).where(text(IS_RUNNING))
    rows = connection.execute(query.group_by(builds.c.repository))
    return {str(name): int(number) for name, number in rows}


def explain(known: Sequence[BudgetUse], repository: str) -> str:
    """Return why a build of a repository cannot start; empty if no budget prevents it."""
    reasons = (one.why for one in known if one.bound.scope in (TEAM, repository))
    return next(filter(None, reasons), "")


def explain_wait(known: Sequence[BudgetUse], build: QueuedBuild) -> str:
    """Return why a waiting build does not start; empty if no budget prevents it."""
    is_next = build.state == PENDING and not build.waits
    return explain(known, build.repository) if is_next else ""


# --- claims ---------------------------------------------------------------------------


def record_share(
    store: Store, connection: Connection, claim: QueuedBuild, *, is_bounded: bool
) -> None:
    """Write down what a claim may spend, in the transaction that makes it.

    Raises SharedOutError where a bound leaves nothing for it: then nothing of it may be written.
    """
    row = {"build": claim.id, "token": claim.token, "repository": claim.repository}
    if not is_bounded:
        connection.execute(claims.insert().values(**row, at=clock(store), given=None))
        return
    scopes = (TEAM, claim.repository)
    # After waiting for these locks a reader sees the other writes (PostgreSQL, 13.2.1).
    connection.execute(_lock(scopes)).all()
    known = [one for one in list_standings(store, connection) if one.bound.scope in scopes]
    # The build itself counts among the running ones.
    if any(one.bound.at_once is not None and one.running > one.bound.at_once for one in known):
        raise SharedOutError
    given = min((one.share for one in known if one.share is not None), default=None)
    if given == 0.0:
        raise SharedOutError
    for one in known:
        values = {"began": one.began, "used": one.used + (given or 0.0)}
        connection.execute(
            budgets.update().where(budgets.c.scope == one.bound.scope).values(values)
        )
    at = max((one.began for one in known), default=0.0)
    at = max(at, _read_clock(store, connection))
    connection.execute(claims.insert().values(**row, at=at, given=given))


def read_share(store: Store, claim: QueuedBuild) -> Share:
    """Return the share that was given to a claim. Raises StoreDownError."""
    query = select(claims.c.given).where(claims.c.build == claim.id, claims.c.token == claim.token)
    with store.read() as connection:
        row = connection.execute(query).one_or_none()
    return Share() if row is None else Share(row.given)


def close_claim(connection: Connection, claim: QueuedBuild, share: Share) -> None:
    """Write down what a claim came to, in the transaction that ends it."""
    mine = (claims.c.build == claim.id, claims.c.token == claim.token, claims.c.spent.is_(None))
    scopes = (TEAM, claim.repository)
    is_bounded = connection.execute(_lock(scopes)).first() is not None
    given = func.coalesce(claims.c.given, 0.0)
    least = case((given > share.spent, given), else_=share.spent)
    update = claims.update().where(*mine).values(spent=share.spent if share.is_whole else least)
    row = connection.execute(update.returning(claims.c.at, given, claims.c.spent)).one_or_none()
    if row is None or not is_bounded:
        return  # it began before there were claims, or there is no sum that it is part of
    at, gave, spent = row
    connection.execute(
        budgets.update()
        .where(budgets.c.scope.in_(scopes), budgets.c.began <= at)
        .values(used=budgets.c.used + (spent - gave))
    )


def find_wrong_sums(connection: Connection) -> Iterator[str]:
    """Yield the budgets whose sum differs from that of their claims, a line each."""
    for row in connection.execute(budgets.select().order_by(budgets.c.scope)).mappings():
        total = _sum_claims(connection, row["scope"], row["began"])
        if abs(total - row["used"]) > ROUNDING:
            who = row["scope"] or "the team"
            yield f"budget of {who}: ${row['used']:.2f} used, but claims add up to ${total:.2f}"


def _sum_claims(
    connection: Connection, scope: str, began: float, *, is_open: bool = False
) -> float:
    query = select(func.sum(func.coalesce(claims.c.spent, claims.c.given, 0.0)))
    query = query.where(claims.c.at >= began)
    if is_open:
        query = query.where(claims.c.spent.is_(None))
    if scope:
        query = query.where(claims.c.repository == scope)
    return float(connection.execute(query).scalar() or 0.0)


def _lock(scopes: Sequence[str]) -> Select[tuple[str]]:
    """Return a query that locks the rows in a fixed order, to avoid deadlocks."""
    query = select(budgets.c.scope).where(budgets.c.scope.in_(scopes))
    return query.order_by(budgets.c.scope).with_for_update()


def _begin_of(now: float, period: str) -> float:
    at = datetime.fromtimestamp(now, UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return (at.replace(day=1) if period == "month" else at).timestamp()


def _end_of(now: float, period: str) -> float:
    at = datetime.fromtimestamp(_begin_of(now, period), UTC)
    # 31 days after the first of a month is always in the next month.
    later = at + timedelta(days=31 if period == "month" else 1)
    return _begin_of(later.timestamp(), period)


# --- in words -------------------------------------------------------------------------


def read_bound(scope: str, dollars: str, at_once: str, share: float, by: str) -> Bound:
    """Parse a budget, such as `200/month` or `none`. Raises RunnerError."""
    amount, _, period = dollars.partition("/")
    try:
        money = None if amount in ("", "none") else float(amount)
        most = None if at_once in ("", "none") else int(at_once)
    except ValueError as error:
        raise RunnerError(
            f"invalid limit: {dollars} {at_once}", hint="--dollars 200/month --at-once 4"
        ) from error
    return Bound(scope, money, period or "month", share, most, by)


def read_standings(store: Store) -> tuple[BudgetUse, ...]:
    """Return the current use of all budgets, the team's first. Raises StoreDownError."""
    with store.read() as connection:
        return list_standings(store, connection)


def describe_bounds(known: Sequence[BudgetUse]) -> Iterator[str]:
    """Yield a line for each budget."""
    for one in known:
        bound, parts = one.bound, []
        if bound.dollars is not None:
            most = bound.share or bound.dollars / SHARES
            parts += [f"${one.used:.2f} of ${bound.dollars:.2f} a {bound.period}"]
            parts += [f"until {one.until}", f"at most ${most:.2f} per claim"]
        if bound.at_once is not None:
            parts += [f"{one.running} of {plural(bound.at_once, 'build')} at once"]
        if parts:
            yield f"{bound.scope or 'the team'}: {', '.join(parts)}"


def count_team(store: Store) -> tuple[dict[str, int], tuple[BudgetUse, ...]]:
    """Return the unfinished builds by state, and all budgets. Raises StoreDownError."""
    return count_states(store), read_standings(store)


Figures: TypeAlias = "dict[str, dict[str, float]]"
"""Figures by repository (empty: the whole team), then by name."""


def measure_team(store: Store) -> tuple[dict[str, int], Figures]:
    """Return the unfinished builds by state, and the dollars of each budget.

    Parts are its `bound`, and what of it is `spent`, `given` to claims that did
    not end, and `left`. Raises StoreDownError.
    """
    with store.read() as connection:
        known = list_standings(store, connection)
        dollars = {one.bound.scope: _part(connection, one) for one in known if one.left is not None}
    return count_states(store), dollars


def _part(connection: Connection, one: BudgetUse) -> dict[str, float]:
    given = _sum_claims(connection, one.bound.scope, one.began, is_open=True)
    parts = {"bound": one.bound.dollars or 0.0, "spent": max(0.0, one.used - given)}
    return parts | {"given": given, "left": one.left or 0.0}


def team_lines(found: tuple[dict[str, int], tuple[BudgetUse, ...]]) -> Iterator[str]:
    """Yield the team's state as lines, one figure a line."""
    states, known = found
    counts = ", ".join(f"{number} {state}" for state, number in states.items() if number)
    yield f"builds: {counts or 'nothing is queued'}"
    yield from describe_bounds(known)
    yield from filter(None, (one.why for one in known))


def team_document(found: tuple[dict[str, int], tuple[BudgetUse, ...]]) -> str:
    """Return the `team-stats` JSON document."""
    return document("team-stats", builds=found[0], budgets=found[1])


class Bound(Struct, frozen=True):
    """The shared limits of builds of the team, or of one repository."""

    scope: str
    """Repository; empty: the whole team."""
    dollars: float | None = None
    """Dollars per period; None: no limit."""
    period: str = "month"
    """`day` or `month`, in UTC."""
    share: float = 0.0
    """Maximum dollars of one claim; 0: a tenth of the budget."""
    at_once: int | None = None
    """Builds that run in parallel; None: no limit."""
    by: str = ""


class BudgetUse(Struct, frozen=True):
    """A bound, and how much of it is used now."""

    bound: Bound
    used: float
    """Dollars spent in this period or reserved by active claims."""
    running: int
    began: float
    """Start of this period, in seconds since 1970."""
    until: str
    """Start of the next period."""

    @property
    def left(self) -> float | None:
        """Dollars; None where there is no bound."""
        return None if self.bound.dollars is None else max(0.0, self.bound.dollars - self.used)

    @property
    def share(self) -> float | None:
        """Dollars that the next claim is given; 0 for too little, None where there is no bound."""
        bound, left = self.bound, self.left
        if left is None or bound.dollars is None:
            return None
        most = bound.share or bound.dollars / SHARES
        return min(most, left) if left >= max(_LEAST * most, ROUNDING) else 0.0

    @property
    def is_used_up(self) -> bool:
        """Whether a claim would have nothing to spend."""
        return self.share == 0.0

    @property
    def why(self) -> str:
        """Reason why no build may start; empty if one may."""
        who = self.bound.scope or "the team"
        if self.share == 0.0:
            used = f"${self.used:.2f} of ${self.bound.dollars:.2f} a {self.bound.period}"
            return f"the budget of {who} is used up: {used}, until {self.until}"
        most = self.bound.at_once
        if most is not None and self.running >= most:
            return f"{who}: {plural(self.running, 'build')} running, the limit is {most}"
        return ""


class Share(Struct, frozen=True):
    """The cost that one claim may have, and its cost so far."""

    given: float | None = None
    """Dollars; None: no limit."""
    spent: float = 0.0
    is_whole: bool = True
    """Whether that is the whole cost: otherwise at least the given amount counts."""

    @property
    def left(self) -> float | None:
        """Dollars; None where there is no bound."""
        return None if self.given is None else max(0.0, self.given - self.spent)

    @property
    def is_used(self) -> bool:
        """Whether as good as nothing is left of it."""
        # An agent that knows its limit stops before it, by the possible cost of its next answer.
        return self.given is not None and self.spent >= WARNED_AT * self.given

    def limit(self, environ: Mapping[str, str], own: Settings) -> dict[str, str]:
        """Return the environment of a command with its limits: the worker's own, or less."""
        variables = dict(environ)
        if self.left is not None:
            least = min(self.left, own.budget.run_dollars or self.left)
            # The settings don't accept a limit of zero.
            variables["RUNNER_BUDGET_RUN_DOLLARS"] = f"{max(least, ROUNDING):.6f}"
        return variables

    def __str__(self) -> str:
        used = f"${self.spent:.2f} of its ${self.given or 0.0:.2f} used"
        return f"{used}; the build continues when a worker claims it again"


FREE = Share()
"""Share of a claim without cost."""
