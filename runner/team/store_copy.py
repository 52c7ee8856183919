"""All that is in the store as one file of JSON lines, and back: into SQLite or PostgreSQL alike.

The first line says the schema, the last how many rows there are and their digest.
"""

from __future__ import annotations

import hashlib
import json
from itertools import islice
from typing import TYPE_CHECKING, Any

from sqlalchemy import MetaData, inspect

from runner import effects
from runner.errors import RunnerError
from runner.team.schema_steps import NOTHING, go_down, go_up, require_known
from runner.team.store_engine import list_tables, read_revision
from runner.team.tables import REVISION, metadata

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from runner.team.store_engine import Store

_KIND = "runner-store"
_AT_ONCE = 500


def back_up(store: Store, path: Path) -> int:
    """Write everything as it stood at one moment; gives the number of rows.

    Raises RunnerError for a path that is there already, OSError where it cannot be written.
    """
    if path.exists():
        raise RunnerError("this file is there already", where=str(path), hint="name another one")
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
    """Put a backup into an empty store, all of it or nothing; gives the number of rows.

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
            go_down(connection, NOTHING)
        go_up(connection, schema)
        # As the tables of that schema really are: it may be an older one than `tables` says.
        there = MetaData()
        there.reflect(connection)
        for name, some in _group(rows):
            connection.execute(there.tables[name].insert(), some)
        go_up(connection)


def _has_schema(connection: Any) -> bool:
    return bool(inspect(connection).has_table("alembic_version"))


def _group(rows: list[dict[str, Any]]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Rows of one table together, some hundred at once, in the order of the file."""
    for name in dict.fromkeys(one["table"] for one in rows):
        own = (one["row"] for one in rows if one["table"] == name)
        while some := list(islice(own, _AT_ONCE)):
            yield name, some


def _require_whole(path: Path, lines: list[bytes]) -> str:
    """The schema of a backup that is whole."""
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
            "this is no whole backup of a store", where=str(path), hint="take another backup"
        )
    require_known(schema)
    return schema


def _line(value: dict[str, object]) -> bytes:
    # In ASCII with every control escaped, so no value can end a line (JSON Lines).
    return json.dumps(value, ensure_ascii=True, separators=(",", ":")).encode() + b"\n"


def _now() -> str:
    return effects.timestamp()
