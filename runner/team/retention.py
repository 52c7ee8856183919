"""What may go from the store: copies of the journals of builds that are over, whole builds only.

A build's own events, its row and its tasks stay. That its copies went is an event of its own, the
last one until it is tried again: by it `projections` leaves the build as it is, and who retries it
has its journal copied anew, from its first line on.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from sqlalchemy import delete, func, select

from runner import effects
from runner.team.build_state import ENDS
from runner.team.event_rows import note_event
from runner.team.tables import builds, events

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection

    from runner.team.store_engine import Store

_PRUNED = "build.pruned"
_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Pruned:
    """A build whose copies went, or would go."""

    id: str
    repository: str
    state: str
    ended: str
    """When its last own event was."""
    journals: int
    events: int


def is_pruned(connection: Connection, build: str) -> bool:
    """Whether the copies of a build's journals went, and it was not tried again since."""
    said = select(events.c.type).where(events.c.journal == build)
    last = said.order_by(events.c.seq.desc()).limit(1)
    return connection.execute(last).scalar() == _PRUNED


def count_pruned(store: Store) -> int:
    """How many builds are so."""
    with store.read() as connection:
        over = connection.execute(select(builds.c.id).where(builds.c.state.in_(ENDS))).scalars()
        return sum(is_pruned(connection, str(id_)) for id_ in over.all())


def prune_copies(store: Store, seconds: float, by: str, *, dry_run: bool) -> Iterator[Pruned]:
    """Take away the copies of builds that ended so long ago, the oldest build first.

    Each build is one transaction, in which it is looked at again: one that somebody has tried
    again meanwhile keeps all.
    """
    before = (effects.now() - timedelta(seconds=seconds)).isoformat(timespec="microseconds")
    before = before.replace("+00:00", "Z")
    after = ""
    while some := _list_candidates(store, before, after):
        for id_ in some:
            with store.read() if dry_run else store.write() as connection:
                found = _find(connection, id_, before)
                if found is not None and not dry_run:
                    _take_away(connection, found, by)
            if found is not None:
                yield found
        after = some[-1]


def _list_candidates(store: Store, before: str, after: str) -> list[str]:
    last = select(func.max(events.c.time)).where(events.c.journal == builds.c.id)
    copies = select(events.c.seq).where(
        events.c.build == builds.c.id, events.c.journal != builds.c.id
    )
    said = select(builds.c.id).where(
        *(builds.c.state.in_(ENDS), builds.c.id > after),
        *(last.scalar_subquery() < before, copies.exists()),
    )
    with store.read() as connection:
        return list(connection.execute(said.order_by(builds.c.id).limit(_AT_ONCE)).scalars())


def _find(connection: Connection, id_: str, before: str) -> Pruned | None:
    """What would go of a build; where the transaction writes, nobody else changes its row."""
    said = select(builds.c.repository, builds.c.state)
    said = said.where(builds.c.id == id_, builds.c.state.in_(ENDS))
    if not connection.get_execution_options().get("reads"):
        said = said.with_for_update()
    row = connection.execute(said).one_or_none()
    last = select(func.max(events.c.time)).where(events.c.journal == id_)
    ended = str(connection.execute(last).scalar() or "")
    copies = select(func.count(), func.count(events.c.journal.distinct())).where(
        events.c.build == id_, events.c.journal != id_
    )
    number, journals = connection.execute(copies).one()
    if row is None or not number or ended >= before:
        return None
    return Pruned(id_, row.repository, row.state, ended, journals, number)


def _take_away(connection: Connection, found: Pruned, by: str) -> None:
    copies = (events.c.build == found.id) & (events.c.journal != found.id)
    connection.execute(delete(events).where(copies))
    fields = {"by": by, "journals": found.journals, "events": found.events}
    note_event(connection, found.id, _PRUNED, fields)
