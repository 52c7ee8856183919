"""One task whole, as data: the same for `show --json`, the page and its API."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.app.inspect.task_view import format_task_type
from runner.journal.evidence import evaluate_standing, evidence_of
from runner.report.documents import grade_part

if TYPE_CHECKING:
    from runner.app.inspect.task_inquiry import OneTask, TaskStory
    from runner.app.inspect.view import View
    from runner.model import Task


def describe_task_whole(asked: OneTask, story: TaskStory) -> dict[str, object]:
    """The content of the document `task`."""
    task, view = asked.task, asked.view
    known = view.states[task.id]
    outlined = next(one for one in view.tasks if one.id == task.id)
    return {
        "task": task,
        "detectedType": format_task_type(task) or None,
        "status": known.status,
        "note": view.note(outlined),
        "reason": known.reason,
        "ready": view.is_ready(outlined),
        "waitsFor": view.waits_for(outlined),
        "attempts": story.past.attempts,
        "attemptsInRow": known.attempts_in_row,
        "findings": list(known.findings),
        "evidence": _evidence(view, task),
        **grade_part(view.grades.get(task.id)),
        "draft": known.draft,
        "held": known.held,
        "report": story.report or None,
        "decisions": story.past.decisions,
    }


def _evidence(view: View, task: Task) -> dict[str, object] | None:
    """What DONE rests on, and whether it is about the task as it is written now."""
    known = view.states[task.id]
    evidence = evidence_of(known)
    if evidence is None:
        return None
    return {
        "standing": evaluate_standing(known, task.spec),
        "verified": evidence.verified,
        "commit": evidence.commit,
        "tree": evidence.tree,
        "spec": evidence.spec,
        "doneAt": evidence.done_at,
        "proofs": evidence.proofs,
        "coverage": evidence.coverage,
        "patterns": evidence.patterns,
        "record": evidence.record,
    }
