"""Pending work of a build, stored for display because its clone is elsewhere.

Each row has a digest of what it shows. An answer names this digest: store and clone refuse the
answer if the work has changed.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from typing import TYPE_CHECKING

from msgspec import Struct
from sqlalchemy import select

from runner.app.answer.waiting import (
    assess,
    find_contract_documents,
    find_stale_work,
    list_built_changes,
    list_waiting,
)
from runner.app.answer.waiting_document import digest_shown, list_words
from runner.errors import ExitCode, RunnerError
from runner.extensions.team.tables import shown
from runner.model import Action, Change
from runner.repo.read import Repository
from runner.run.review import open_questions
from runner.secrets.redact import redact

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sqlalchemy import Connection

    from runner.app.answer.waiting import Waiting
    from runner.extensions.team.store_engine import Store
    from runner.journal.state import RunState
    from runner.project import Project

MOST = 1 << 20
"""Bytes of files stored for one item; larger ones are only in the clone."""
_MOST_WORDS = 2_000


class ShownWork(Struct, frozen=True):
    """One thing that waits."""

    item: str
    seen: str
    document: Mapping[str, object]
    """`title`, `kind`, `note`, `signs`, `tone`, `words`, `questions`, `files`, `proofs`."""
    answered: str = ""
    """Person who answered; empty: none yet."""


# --- in the clone ---------------------------------------------------------------------


def describe_shown(project: Project) -> tuple[ShownWork, ...]:
    """Return all waiting items of a project, the riskiest first. Raises RunnerError."""
    with Repository.open(project.root) as repository:
        state = project.state()
        known = [one for one in list_waiting(project, repository, state) if not one.answered]
        contracts = find_contract_documents(project) if known else ()
        ranked = sorted(
            ((assess(state, one, contracts), one) for one in known), key=lambda pair: pair[0].rank
        )
        return tuple(
            ShownWork(
                one.task,
                digest_shown(project, state, one),
                {
                    "title": one.title,
                    "kind": one.kind,
                    "note": redact(one.note),
                    "signs": list(risk.signs),
                    "tone": risk.tone,
                    **_describe(project, repository, state, one),
                },
            )
            for risk, one in ranked
        )


def _describe(
    project: Project, repository: Repository, state: RunState, one: Waiting
) -> Mapping[str, object]:
    known = state.task(one.task)
    proofs = known.passed.proofs if known.passed is not None else known.proofs
    asked = open_questions(known) if one.kind == "writes" else ()
    words = [redact(line) for line in list_words(project, state, one)]
    return {
        "words": words[:_MOST_WORDS],
        "questions": [
            {"message": it.message, "path": it.path, "line": it.line, "hint": it.hint}
            for it in asked
        ],
        "files": _describe_files(_list_files(project, repository, state, one)),
        "proofs": [
            {"id": it.id, "verdict": str(it.verdict), "command": it.command, "note": it.note}
            for it in proofs
        ],
    }


def _list_files(
    project: Project, repository: Repository, state: RunState, one: Waiting
) -> Sequence[tuple[Change, bytes | None]]:
    held = state.task(one.task).held
    if one.changes and held is not None:
        base = held.base
        return [(it, repository.blob(base, it.path) if base else None) for it in one.changes]
    if one.kind == "stale" and (commit := find_stale_work(project, one.task).commit):
        return list_built_changes(project, repository, commit) or ()
    return ()


def _describe_files(pairs: Iterable[tuple[Change, bytes | None]]) -> list[dict[str, object]]:
    found: list[dict[str, object]] = []
    left = MOST
    for change, before in pairs:
        left -= len(before or b"") + len(change.content or b"")
        row: dict[str, object] = {"path": change.path, "action": str(change.action)}
        row |= {"mode": change.mode, "whole": left >= 0}
        if left >= 0:
            row |= {"before": _pack(before), "after": _pack(change.content)}
        found.append(row)
    return found


def _pack(content: bytes | None) -> str | None:
    return None if content is None else b64encode(content).decode()


def read_files(
    document: Mapping[str, object],
) -> tuple[tuple[Change, bytes | None, bool], ...]:
    """Return a document's files: the change, its old bytes, and whether both are complete."""
    rows = document["files"]
    assert isinstance(rows, list)  # as it was written above
    return tuple(
        (
            Change(
                *(row["path"], Action(row["action"]), row["mode"], None, None),
                _unpack(row.get("after")),
            ),
            _unpack(row.get("before")),
            row["whole"],
        )
        for row in rows
    )


def _unpack(text: str | None) -> bytes | None:
    return None if text is None else b64decode(text)


# --- in the store ---------------------------------------------------------------------


def write_shown(connection: Connection, build: str, rows: Iterable[ShownWork]) -> None:
    """Replace the work that is shown of a build."""
    connection.execute(shown.delete().where(shown.c.build == build))
    for place, one in enumerate(rows):
        values = {"build": build, "item": one.item, "place": place, "seen": one.seen}
        document = json.dumps(one.document)
        connection.execute(shown.insert().values(**values, document=document, answered=""))


def list_shown(store: Store, build: str) -> tuple[ShownWork, ...]:
    """Return the work shown of a build, riskiest first."""
    query = shown.select().where(shown.c.build == build).order_by(shown.c.place)
    with store.read() as connection:
        return tuple(
            ShownWork(row.item, row.seen, json.loads(row.document), row.answered)
            for row in connection.execute(query)
        )


def mark_answered(connection: Connection, build: str, item: str, seen: str, by: str) -> None:
    """Mark an item as answered.

    Raises RunnerError, exit 6, where something was `seen` that is not shown any more.
    """
    mine = (shown.c.build == build) & (shown.c.item == item)
    row = connection.execute(select(shown.c.seen, shown.c.answered).where(mine)).first()
    if seen and (row is None or row.seen != seen or row.answered):
        why = "changed since it was shown"
        if row is None or row.answered:
            why = f"was already answered by {row.answered}" if row else "has nothing to approve"
        raise RunnerError(
            f"{item} {why}", hint="open it again, then answer", code=ExitCode.CONFLICT
        )
    connection.execute(shown.update().where(mine).values(answered=by))
