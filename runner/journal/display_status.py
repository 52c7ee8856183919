"""The display status next to the stored one: waiting for you, failed or blocked."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from runner.journal.session_fold import permission_waits, plan_waits
from runner.model import Reason, Severity, Status

if TYPE_CHECKING:
    from runner.journal.task_state import TaskState


class Display(StrEnum):
    """Words behind a stored status; the first that applies is shown."""

    WAITING = "waiting for you"
    FAILED = "failed"
    BLOCKED = "blocked"


class DisplayStatus(NamedTuple):
    """The displayed status of a task that is STALE or BLOCKED."""

    display: Display
    reason: str
    """`review`, `plan`, `permission`, `question`, `stale`, or the reason for BLOCKED."""


_ANSWERED_BY_PERSON = frozenset({Reason.HELD_OUT, Reason.TEST_AUTHOR, Reason.REVIEW})
_FAILED = frozenset({Reason.CHECKS, Reason.STUCK})


def display_of(task: TaskState) -> DisplayStatus | None:
    """Return what is shown behind the status of a task; None if the status says it all."""
    if task.status is Status.STALE:
        return DisplayStatus(Display.WAITING, "stale")
    if task.status is not Status.BLOCKED:
        return None
    if plan_waits(task):
        return DisplayStatus(Display.WAITING, "plan")
    if permission_waits(task):
        return DisplayStatus(Display.WAITING, "permission")
    if task.reason is Reason.REGRESSION or _has_question(task):
        return DisplayStatus(Display.WAITING, "question")
    if task.reason in _ANSWERED_BY_PERSON:
        return DisplayStatus(Display.WAITING, str(task.reason))
    word = Display.FAILED if task.reason in _FAILED else Display.BLOCKED
    return DisplayStatus(word, str(task.reason or ""))


def format_status(task: TaskState) -> str:
    """Return `STALE — waiting for you`, `BLOCKED — failed (checks)`, or the status alone."""
    shown = display_of(task)
    if shown is None:
        return str(task.status)
    if shown.display is Display.BLOCKED:
        return f"{task.status} ({shown.reason})" if shown.reason else str(task.status)
    reason = "" if shown.reason in ("", "stale") else f" ({shown.reason})"
    return f"{task.status} — {shown.display}{reason}"


def _has_question(task: TaskState) -> bool:
    held_for_review = task.held is not None and task.reason is Reason.REVIEW
    return held_for_review and any(one.severity is Severity.QUESTION for one in task.findings)
