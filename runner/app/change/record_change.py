"""Something new is asked of tasks: what was built on the old words becomes STALE."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.app.change.transaction import open_transaction, require_readable
from runner.app.inspect.view import View
from runner.errors import RunnerError
from runner.history import change as history
from runner.run.selection import find_id
from runner.secrets.redact import redact

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runner.history.change import Change
    from runner.project import Project


@dataclass(frozen=True, slots=True)
class ChangeRequest:
    """What is asked for now, and of which tasks."""

    tasks: tuple[str, ...]
    text: str
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class RecordedChange:
    """What the change does, or would do."""

    change: Change
    number: int = 0
    """Of its entry in CHANGES.md; 0 where it was only looked at."""


def change(project: Project, request: ChangeRequest) -> RecordedChange:
    """Record it, without a secret in it. While a run goes on it is refused: its lock is held."""
    known = [task.id for task in project.outline().tasks]
    ids = tuple(dict.fromkeys(find_id(typed, known) for typed in request.tasks))
    text = _clean_text(request.text, ids)
    if request.dry_run:
        return RecordedChange(_look_ahead(project, ids, text))
    with open_transaction(project) as transaction:
        now = history.plan_change(transaction.plan.tasks, transaction.state.task, ids, text)
        transaction.begin("change")
        number = history.record_change(transaction.session.desk, now)
        transaction.finish()
    return RecordedChange(now, number)


def _clean_text(typed: str, ids: Sequence[str]) -> str:
    text = " ".join(redact(typed).split())
    if any(unicodedata.category(character) == "Cc" for character in text):
        raise RunnerError("a change is plain text: this one holds control characters")
    if not text:
        raise RunnerError("what changes?", hint=f'runner change {ids[0]} "what is asked for now"')
    return text


def _look_ahead(project: Project, ids: Sequence[str], text: str) -> Change:
    """What it would do, read without the lock: nothing is written."""
    view = View.of(project)
    if view.live is not None:
        raise RunnerError(
            f"a run is going on ({view.live}); nothing was recorded",
            hint=f"write `!change {text}` as a line into the section of {ids[0]}: the next run "
            "takes it; or wait and try again",
        )
    plan = project.plan(project.plan_bytes)
    require_readable(plan)
    return history.plan_change(plan.tasks, view.state.task, ids, text)
