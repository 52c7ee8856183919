"""What the store says of builds, made again from their journals; and whether it says the same."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import delete, func, select

from runner.extensions.team.build_state import ENDS
from runner.extensions.team.event_rows import (
    add_lines,
    decode_lines,
    draw_state,
    list_journals,
    read_lines,
    write_tasks,
)
from runner.extensions.team.store_upkeep import is_pruned
from runner.extensions.team.tables import RUNNING, answers, builds, events, tasks
from runner.extensions.team.team_budget import find_wrong_sums
from runner.journal.records import BadRecordError, NewerRecordError, UnfitRecordError, decode
from runner.journal.state import fold
from runner.project import find_journal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection

    from runner.extensions.team.store_engine import Store


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """What came of making projections again."""

    builds: int
    events: int
    unreached: tuple[tuple[str, str], ...]
    """Builds of which a journal could not be read, with where it is; their copies were kept."""
    pruned: int
    """Builds of which the copies went (`store_upkeep`): they are left so."""


def rebuild(store: Store) -> Rebuilt:
    """Make events and tasks again from the journals that this machine can read.

    A journal that is elsewhere, or gone, leaves what the store has of it as it is.
    """
    done, copied, pruned, unreached = 0, 0, 0, []
    with store.read() as connection:
        known = connection.execute(builds.select().order_by(builds.c.id)).all()
    for row in known:
        is_here = row.host in ("", socket.gethostname())
        lines = _read_whole_lines(row.place, row.plan) if is_here else None
        with store.write() as connection:
            # What a worker writes of it, it writes with this row locked (`write_mine`).
            query = select(builds.c.id).where(builds.c.id == row.id)
            connection.execute(query.with_for_update())
            is_left_so = is_pruned(connection, row.id)
            pruned += is_left_so
            if row.place and lines is None and not is_left_so:
                unreached.append((row.id, f"{row.host}:{row.place}"))
            if lines and not is_left_so:
                copied += _copy_again(connection, row.id, lines)
            project_tasks(connection, row.id)
            done += 1
            state = draw_state(connection, row.id)
            if row.state not in RUNNING:  # whoever works on it says so itself
                connection.execute(
                    builds.update()
                    .where(builds.c.id == row.id, builds.c.token == row.token)
                    .values(state=state)
                )
    return Rebuilt(done, copied, tuple(unreached), pruned)


def _copy_again(connection: Connection, build: str, lines: list[bytes]) -> int:
    journal, last = (decode(line, wanted=()) for line in (lines[0], lines[-1]))
    # What is behind them the store alone has: the file is damaged there, or was cut off.
    known = (events.c.journal == journal.id) & (events.c.seq <= last.seq)
    connection.execute(delete(events).where(known))
    add_lines(connection, build, journal.id, lines)
    return len(lines)


def project_tasks(connection: Connection, build: str) -> None:
    """The tasks of a build, as the newest journal of its clones has them."""
    if journals := list_journals(connection, build):
        lines = read_lines(connection, journals[-1])
        write_tasks(connection, build, fold(decode_lines(lines)))


def _read_whole_lines(place: str, plan: str) -> list[bytes] | None:
    if not place:
        return None
    try:
        data = find_journal(Path(place), plan).read_bytes()
    except OSError:
        return None
    lines = data.splitlines(keepends=True)
    whole = []
    for line in lines:
        try:
            decode(line, wanted=())
        except (BadRecordError, UnfitRecordError, NewerRecordError):
            break
        whole.append(line)
    return whole


# --- whether it is so -----------------------------------------------------------------


def find_faults(store: Store) -> Iterator[str]:
    """What is wrong in the store, a line each; what is only late is not."""
    if store.is_sqlite:
        yield from _check_file(store)
    with store.read() as connection:
        yield from _check_numbers(connection)
        for row in connection.execute(builds.select().order_by(builds.c.id)).all():
            drawn = draw_state(connection, row.id)
            if drawn != row.state:
                yield f"build {row.id} is {row.state}, but its events say {drawn}"
            yield from _check_tasks(connection, row.id)
        yield from _check_answers(connection)
        yield from find_wrong_sums(connection)


def _check_answers(connection: Connection) -> Iterator[str]:
    lost = (
        select(answers.c.id, answers.c.build)
        .join(builds, builds.c.id == answers.c.build)
        .where(answers.c.taken == "", builds.c.state.in_(ENDS))
    )
    for one in connection.execute(lost):
        yield f"answer {one.id} was never applied: build {one.build} has ended"


def _check_file(store: Store) -> Iterator[str]:
    with store.read() as connection:
        results = connection.exec_driver_sql("PRAGMA integrity_check").scalars().all()
        yield from (f"the file is damaged: {one}" for one in results if one != "ok")
        broken = connection.exec_driver_sql("PRAGMA foreign_key_check").all()
        yield from (f"a row of {one[0]} refers to a missing row" for one in broken)


def _check_numbers(connection: Connection) -> Iterator[str]:
    counted = select(events.c.journal, func.count(), func.min(events.c.seq), func.max(events.c.seq))
    for journal, number, first, last in connection.execute(counted.group_by(events.c.journal)):
        if first != 1 or number != last:
            yield f"the events of journal {journal} have gaps: {number} of {first} to {last}"


def _check_tasks(connection: Connection, build: str) -> Iterator[str]:
    journals = list_journals(connection, build)
    if not journals:
        return
    try:
        state = fold(decode_lines(read_lines(connection, journals[-1])))
    except (BadRecordError, UnfitRecordError, NewerRecordError) as error:
        yield f"an event of build {build} is damaged: {error}"
        return
    stored = tasks.select().where(tasks.c.build == build)
    known = {one.task: one.status for one in connection.execute(stored)}
    drawn = {one.id: str(one.status) for one in state.tasks.values()}
    if known != drawn:
        yield f"the tasks of build {build} differ from its journal: runner team store rebuild"
