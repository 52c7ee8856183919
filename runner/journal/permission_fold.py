"""Fold permission events into the pending questions of a task and a person's answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from runner.model import Finding, Reason, Status

if TYPE_CHECKING:
    from runner.journal import session_events
    from runner.journal.events import Record
    from runner.journal.task_state import TaskState

CHECK = "permission"
"""Check name of a refusal by a rule or a person."""
_MOST = 50
"""Pending questions of one attempt; further ones are ignored."""


def fold_asked(task: TaskState, record: Record, event: session_events.PermissionAsked) -> TaskState:
    """Add a permission question to the task, unless it is already there."""
    del record
    known = {(one.tool, one.subject) for one in task.asks}
    if (event.tool, event.subject) in known or len(task.asks) >= _MOST:
        return task
    return replace(task, asks=(*task.asks, event))


def fold_answered(
    task: TaskState, record: Record, event: session_events.PermissionAnswered
) -> TaskState:
    """Apply a person's answer to one call; after the last answer the task is PENDING."""
    waited, call = waits(task), (event.tool, event.subject)
    asks = tuple(one for one in task.asks if (one.tool, one.subject) != call)
    others = tuple(one for one in task.answers if (one.tool, one.subject) != call)
    answers = others if event.once else (*others, event)
    task = replace(task, asks=asks, answers=answers)
    if not waited:
        return task
    rest = tuple(one for one in task.findings if one.check != CHECK or one.path != event.subject)
    answered = replace(task, findings=rest if event.allowed else (_refusal(event), *rest))
    if asks:
        return answered
    return replace(
        answered,
        status=Status.PENDING,
        note="",
        reason=None,
        tries=(),
        cause=record.id,
        origin=record.origin,
    )


def waits(task: TaskState) -> bool:
    """Return whether a task is blocked until a person answers its permission questions."""
    if not task.asks or task.held is not None:
        return False
    return task.status is Status.BLOCKED and task.reason is Reason.REVIEW


def _refusal(event: session_events.PermissionAnswered) -> Finding:
    """Return the next attempt's finding on a no."""
    return Finding(
        check=CHECK,
        message=f"permission denied for {event.tool} {event.subject}: {event.reason}",
        path=event.subject if event.tool in ("write_file", "modify_file") else "",
        hint="use another approach",
    )
