"""A person has tasks tried again, with what the next attempt is to know."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.app.answer.answers import (
    let_go_on,
    note_answer,
    open_desk,
    open_journal,
    resolve_targets,
)
from runner.app.answer.waiting import Waiting
from runner.errors import ExitCode, RunnerError
from runner.journal.events import TaskFailed
from runner.model import Finding, Status
from runner.run.review import CHECK as REVIEW
from runner.run.selection import find_id

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runner.app.answer.answers import Desk
    from runner.project import Project


def retry(project: Project, named: Sequence[str], reason: str) -> tuple[str, ...]:
    """Have tasks tried again, with a `reason` that the next attempt reads; gives their ids.

    Raises RunnerError for one that is DONE, and for work that waits for an answer instead.
    """
    with open_desk(project) as desk:
        ids = tuple(find_id(word, [one.id for one in project.outline().tasks]) for word in named)
        held = {one.task: one for one in desk.known}
        for id_ in ids:
            _require_open(desk, id_, held.get(id_))
        with open_journal(project) as journal:
            for id_ in ids:
                known = desk.state.task(id_)
                if known.status is Status.PENDING and not reason:
                    continue
                if reason:
                    told = Finding(REVIEW, f"a person says: {reason}", hint="do it as they say")
                    note_answer(journal, known, TaskFailed(findings=(told, *known.findings)))
                waits = held.get(id_) or Waiting(id_, "", "", "")
                note_answer(journal, known, let_go_on(known, waits))
        return ids


def _require_open(desk: Desk, id_: str, one: Waiting | None) -> None:
    if desk.state.task(id_).status is Status.DONE:
        raise RunnerError(f"{id_} is DONE", hint=f"to have it built anew: runner change {id_} TEXT")
    if one is not None and one.kind not in ("blocked", "stale"):
        hint = f"runner review {id_}; then runner approve or runner reject"
        raise RunnerError(f"{id_} waits for your answer", hint=hint, code=ExitCode.PERSON)
    if one is not None:
        resolve_targets(desk, (one,), every=False)
