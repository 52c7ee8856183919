"""How every task stands, as data: the same for `status --json`, the page and its API."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.model import Status
from runner.report.cost import cost_part, together
from runner.report.documents import grade_part

if TYPE_CHECKING:
    from collections.abc import Iterable

    from runner.app.inspect.view import View
    from runner.model import Usage
    from runner.plan.outline import OutlineTask


def describe_status(view: View, shown: Iterable[OutlineTask]) -> dict[str, object]:
    """The content of the document `status`, with these of its tasks."""
    live = view.live
    return {
        "title": view.title,
        "counts": {str(status): number for status, number in view.counts().items()},
        "unproven": view.find_unproven(),
        "ready": [task.id for task in view.ready()],
        "run": {"pid": live.pid, "started": live.started} if live else None,
        "mistakes": view.mistakes,
        "tasks": [describe_task(view, task) for task in shown],
        **cost_part(sum_usage(view)),
    }


def describe_task(view: View, task: OutlineTask) -> dict[str, object]:
    """One task of that document."""
    known = view.states[task.id]
    return {
        "id": task.id,
        "title": task.title,
        "status": known.status,
        "note": view.note(task),
        "reason": known.reason,
        "verified": view.is_verified(task.id) if known.status is Status.DONE else None,
        **grade_part(view.grades.get(task.id)),
        "ready": view.is_ready(task),
        "waitsFor": view.waits_for(task),
        "dependsOn": task.depends_on,
        "line": task.line,
        **cost_part(known.usage),
    }


def sum_usage(view: View) -> Usage:
    """What agents and models have used for all tasks of the plan."""
    return together(known.usage for known in view.states.values())
