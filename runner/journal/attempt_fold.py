"""What a failed attempt, and what any attempt used, make of the task it was at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.journal.task_state import TaskState, Try
from runner.model import Failure, Status

if TYPE_CHECKING:
    from collections.abc import Iterable

    from runner.journal.events import Record
    from runner.model import Finding, Usage

_OF_ANOTHER_KIND = (Failure.TRANSIENT, Failure.INFRASTRUCTURE)
"""Failures that say nothing of the work."""


def add_usage(task: TaskState, used: Usage | None) -> TaskState:
    """The task with what an attempt used; plain work uses nothing."""
    if used is None:
        return task
    return task._replace(usage=task.usage + used, spent=task.spent + used)


def with_try(
    task: TaskState,
    record: Record,
    findings: Iterable[Finding],
    seconds: float,
    failure: Failure | None = None,
) -> TaskState:
    """The task with one more failed attempt; one attempt counts once.

    Where something else than the work failed, what was wrong with that stays known.
    """
    findings = tuple(findings)
    number = record.attempt or task.last_attempt
    before = task.tries
    if before and before[-1].attempt == number:
        findings = findings or tuple(task.findings)
        seconds = seconds or before[-1].seconds
        before = before[:-1]
    checks = tuple(sorted({finding.check for finding in findings if finding.refuses}))
    known = task.findings if failure in _OF_ANOTHER_KIND else ()
    return task._replace(
        status=Status.PENDING,
        tries=(*before, Try(number, task.last_tree, checks, seconds, failure)),
        findings=known or findings,
        open_attempt=None,
        passed=None,
        held=None,
        landed=None,
        cause=record.id,
        origin=record.origin,
    )
