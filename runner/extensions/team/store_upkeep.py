"""Upkeep of the store: migrate its schema, export and import it, remove old journal copies.

An export is one file of JSON lines, for SQLite and PostgreSQL alike. Its first line names the
schema; its last line has the number of rows and their digest.

Only copies of the journals of builds that are over are removed, whole builds at a time. A build's
own events, its row and its tasks stay. The removal is an event of its own, the last one until a
retry: by it `projections` leaves the build as it is. A retry copies the journal again from its
first line.
"""

from __future__ import annotations

import hashlib
import json
from datetime import timedelta
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from sqlalchemy import MetaData, delete, func, inspect, select

from runner import effects
from runner.errors import RunnerError
from runner.extensions import registry
from runner.extensions.interface import load
from runner.extensions.team.event_rows import ENDS, note_event
from runner.extensions.team.store_engine import list_tables, read_revision
from runner.extensions.team.tables import REVISION, builds, events, metadata
from runner.lazy_module import lazy_module

if TYPE_CHECKING:
    from collections.abc import Iterator

    from alembic import command
    from alembic.config import Config
    from sqlalchemy import Connection

    from runner.extensions.interface import Extension
    from runner.extensions.team.store_engine import Store
else:
    command = lazy_module("alembic.command")  # a package does not load its modules by itself

# --- versions -------------------------------------------------------------------------


_STEPS = Path(__file__).parent / "migrations"
NOTHING = "base"


def _configure(connection: Connection) -> Config:
    from alembic.config import Config

    config = Config()
    # Alembic's Config is a ConfigParser, which treats `%` as an interpolation.
    config.set_main_option("script_location", str(_STEPS).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config


def upgrade_schema(connection: Connection, revision: str = REVISION) -> None:
    """Upgrade the schema and its data within the connection's transaction."""
    command.upgrade(_configure(connection), revision)


def downgrade_schema(connection: Connection, revision: str) -> None:
    """Downgrade the schema; data without a place in the older one is lost."""
    command.downgrade(_configure(connection), revision)


def migrate_schema(store: Store) -> str:
    """Create the schema or upgrade it to this runner's, and return the former revision.

    Raises RunnerError for a schema that this runner does not know.
    """
    before = read_revision(store)
    if before:
        require_known(before)
    with store.write() as connection:
        upgrade_schema(connection)
        for one in registry.others():
            if one.migrations:
                _upgrade_extension(one, connection)
    return before


def _upgrade_extension(extension: Extension, connection: Connection) -> None:
    """Apply the revisions of another extension, whose version is in a table of its own."""
    config = _configure(connection)
    (folder,) = load(extension.migrations).__path__
    # So that a path may contain spaces; the second is its name since alembic 1.16.
    for option in ("version_path_separator", "path_separator"):
        config.set_main_option(option, "os")
    config.set_main_option("version_locations", str(folder).replace("%", "%%"))
    config.attributes["version_table"] = f"alembic_version_{extension.name}"
    command.upgrade(config, "head")


def require_known(revision: str) -> None:
    """Raise RunnerError for a schema that this runner has no step to."""
    if revision > REVISION or not any((_STEPS / "versions").glob(f"{revision}_*.py")):
        raise RunnerError(
            f"unknown schema {revision}",
            hint="update the runner (`pip install -U task-graph-runner`)",
        )


# --- copies ---------------------------------------------------------------------------


_KIND = "runner-store"
_AT_ONCE = 500


def back_up(store: Store, path: Path) -> int:
    """Write everything as it stood at one moment; gives the number of rows.

    Raises RunnerError for a path that is there already, OSError where it cannot be written.
    """
    if path.exists():
        raise RunnerError("this file already exists", where=str(path), hint="use another name")
    rows, lines = 0, [_line({"kind": _KIND, "v": 1, "schema": REVISION, "time": _now()})]
    with store.read() as connection:
        for name in list_tables():
            for row in connection.execute(metadata.tables[name].select()).mappings():
                lines.append(_line({"table": name, "row": dict(row)}))
                rows += 1
    digest = hashlib.sha256(b"".join(lines)).hexdigest()
    lines.append(_line({"rows": rows, "sha256": digest}))
    effects.write_file(path, b"".join(lines), mode=0o600)
    return rows


def restore(store: Store, path: Path) -> int:
    """Restore a backup into an empty store in one transaction, and return the number of rows.

    Raises RunnerError for a file that is not whole, and for a store in which there is something.
    """
    lines = path.read_bytes().splitlines(keepends=True)
    schema = _require_whole(path, lines)
    if read_revision(store):
        with store.read() as connection:
            full = [
                name
                for name in list_tables()
                if connection.execute(metadata.tables[name].select().limit(1)).first()
            ]
        if full:
            raise RunnerError(
                f"the store is not empty: {', '.join(full)}",
                where=store.shown,
                hint="restore into a new one: --store PATH or URL",
            )
    _fill(store, schema, [json.loads(line) for line in lines[1:-1]])
    return len(lines) - 2


def _fill(store: Store, schema: str, rows: list[dict[str, Any]]) -> None:
    with store.write() as connection:
        if _has_schema(connection):
            downgrade_schema(connection, NOTHING)
        upgrade_schema(connection, schema)
        # Reflect the actual tables of that schema: it may be older than `tables`.
        there = MetaData()
        there.reflect(connection)
        for name, some in _group(rows):
            connection.execute(there.tables[name].insert(), some)
        upgrade_schema(connection)


def _has_schema(connection: Any) -> bool:
    return bool(inspect(connection).has_table("alembic_version"))


def _group(rows: list[dict[str, Any]]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield rows grouped by table in chunks of some hundred, in file order."""
    for name in dict.fromkeys(one["table"] for one in rows):
        own = (one["row"] for one in rows if one["table"] == name)
        while some := list(islice(own, _AT_ONCE)):
            yield name, some


def _require_whole(path: Path, lines: list[bytes]) -> str:
    """Return the schema of a complete backup. Raises RunnerError otherwise."""
    try:
        head, end = json.loads(lines[0]), json.loads(lines[-1])
        digest = hashlib.sha256(b"".join(lines[:-1])).hexdigest()
        is_whole = head["kind"] == _KIND and end["rows"] == len(lines) - 2
        is_whole = is_whole and end["sha256"] == digest
        schema = str(head["schema"])
    except (ValueError, KeyError, IndexError, TypeError, RecursionError):
        is_whole, schema = False, ""
    if not is_whole:
        raise RunnerError(
            "this is not a complete backup", where=str(path), hint="use another backup"
        )
    require_known(schema)
    return schema


def _line(value: dict[str, object]) -> bytes:
    # In ASCII with all control characters escaped, so that no value ends a line (JSON Lines).
    return json.dumps(value, ensure_ascii=True, separators=(",", ":")).encode() + b"\n"


def _now() -> str:
    return effects.timestamp()


# --- what is taken away ---------------------------------------------------------------


_PRUNED = "build.pruned"


class PrunedBuild(Struct, frozen=True):
    """A build whose copies went, or would go."""

    id: str
    repository: str
    state: str
    ended: str
    """Time of its last own event."""
    journals: int
    events: int


def is_pruned(connection: Connection, build: str) -> bool:
    """Return whether a build's journal copies were pruned and it was not retried since."""
    query = select(events.c.type).where(events.c.journal == build)
    last = query.order_by(events.c.seq.desc()).limit(1)
    return connection.execute(last).scalar() == _PRUNED


def count_pruned(store: Store) -> int:
    """Count the pruned builds."""
    with store.read() as connection:
        over = connection.execute(select(builds.c.id).where(builds.c.state.in_(ENDS))).scalars()
        return sum(is_pruned(connection, str(id_)) for id_ in over.all())


def prune_copies(store: Store, seconds: float, by: str, *, dry_run: bool) -> Iterator[PrunedBuild]:
    """Remove journal copies of builds that ended at least `seconds` ago; yield each build.

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
    query = select(builds.c.id).where(
        *(builds.c.state.in_(ENDS), builds.c.id > after),
        *(last.scalar_subquery() < before, copies.exists()),
    )
    with store.read() as connection:
        return list(connection.execute(query.order_by(builds.c.id).limit(_AT_ONCE)).scalars())


def _find(connection: Connection, id_: str, before: str) -> PrunedBuild | None:
    """Return the copies of a build that can be removed, or None; locks its row when writing."""
    query = select(builds.c.repository, builds.c.state)
    query = query.where(builds.c.id == id_, builds.c.state.in_(ENDS))
    if not connection.get_execution_options().get("reads"):
        query = query.with_for_update()
    row = connection.execute(query).one_or_none()
    last = select(func.max(events.c.time)).where(events.c.journal == id_)
    ended = str(connection.execute(last).scalar() or "")
    copies = select(func.count(), func.count(events.c.journal.distinct())).where(
        events.c.build == id_, events.c.journal != id_
    )
    number, journals = connection.execute(copies).one()
    if row is None or not number or ended >= before:
        return None
    return PrunedBuild(id_, row.repository, row.state, ended, journals, number)


def _take_away(connection: Connection, found: PrunedBuild, by: str) -> None:
    copies = (events.c.build == found.id) & (events.c.journal != found.id)
    connection.execute(delete(events).where(copies))
    fields = {"by": by, "journals": found.journals, "events": found.events}
    note_event(connection, found.id, _PRUNED, fields)
