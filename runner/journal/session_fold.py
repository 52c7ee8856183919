"""Fold the events of a task's sessions: its own plan with its phases, and permission questions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from runner.journal.task_state import BuiltPhases, Planned, TaskState, Try
from runner.model import Failure, Finding, Reason, Status, Usage

if TYPE_CHECKING:
    from collections.abc import Iterable

    from runner.journal import session_events
    from runner.journal.events import Record
    from runner.journal.task_state import Open, TaskState
    from runner.model import Digest

CHECK = "plan"
"""Check name of findings about a plan."""
PLAN = "plan"
"""Mode of an attempt that makes a plan."""
PHASE = "phase"
"""Mode of an attempt that builds one phase of a plan, except the last."""


def fold_proposed(task: TaskState, record: Record, event: session_events.PlanProposed) -> TaskState:
    """Apply a proposed plan to the task; discard the phases built for an older plan."""
    del record
    what = event.what or (task.tried.what if task.tried else "")
    plan = Planned(event.plan, event.path, event.digest, what)
    used = event.usage or Usage()
    others = tuple(one for one in task.findings if one.check != CHECK)  # it answers these
    task = replace(task, usage=task.usage + used, spent=task.spent + used)
    return replace(task, planned=plan, kept=None, findings=others)


def fold_reviewed(task: TaskState, record: Record, event: session_events.PlanReviewed) -> TaskState:
    """Apply a review of exactly this plan; a review of another plan is ignored."""
    there = task.planned
    if there is None or there.digest != event.digest:
        return task
    others = tuple(one for one in task.findings if one.check != CHECK)
    if event.approved:
        plan = replace(there, approved=True, review=event.review)
        reviewed = replace(task, planned=plan, plans_refused=0, findings=others)
    else:
        reviewed = replace(
            task,
            planned=None,
            kept=None,
            plans_refused=task.plans_refused + 1,
            findings=(iteration(event.reason), *others),
        )
    if task.status is Status.BLOCKED and task.reason is Reason.REVIEW:
        reviewed = replace(
            reviewed,
            status=Status.PENDING,
            note="",
            reason=None,
            cause=record.id,
            origin=record.origin,
        )
    return reviewed


def iteration(reason: str) -> Finding:
    """Return the next planning session's finding on a plan that was sent back."""
    return Finding(
        check=CHECK,
        message=f"the plan was rejected: {reason or 'no reason given'}",
        hint="revise the plan to fix what the reason names",
    )


def session_passed(task: TaskState, was: Open, seconds: float) -> TaskState:
    """Return the task with the status that it had before a successful planning session."""
    aside = task.aside + seconds
    return replace(task, status=was.was, note=was.note, reason=was.reason, aside=aside)


def session_refused(
    task: TaskState, was: Open, seconds: float, findings: Iterable[Finding]
) -> TaskState:
    """Return the task after a rejected plan, which counts as a plan but not as an attempt."""
    back = session_passed(task, was, seconds)
    return replace(back, plans_refused=back.plans_refused + 1, findings=tuple(findings))


def phase_kept(task: TaskState, was: Open, seconds: float, kept_as: tuple[str, str]) -> TaskState:
    """Return the task with one more phase stored as ref and tree, for the next phase."""
    back = session_passed(task, was, task.seconds_in_row - task.aside + seconds)
    if task.planned is None:
        return back
    before = task.kept.phases if task.kept else 0
    ref, tree = kept_as
    kept = BuiltPhases(before + 1, ref, was.base, tree, task.planned.digest)
    return replace(back, kept=kept, tries=(), findings=())


def plan_waits(task: TaskState) -> bool:
    """Return whether a task is blocked until a person decides about its plan."""
    if task.planned is None or task.planned.approved:
        return False
    return task.status is Status.BLOCKED and task.reason is Reason.REVIEW


def is_about_the_plan(findings: Iterable[Finding]) -> bool:
    """Return whether all refusals are about the task plan itself."""
    refusals = [finding for finding in findings if finding.refuses]
    return bool(refusals) and all(one.check == CHECK for one in refusals)


def still_planned(task: TaskState, what: Digest) -> TaskState:
    """Return the task without a plan made for a different request."""
    if task.planned is None or task.planned.what == what:
        return task
    return replace(task, planned=None, kept=None)


_OF_ANOTHER_KIND = (Failure.TRANSIENT, Failure.INFRASTRUCTURE)
"""Failures unrelated to the work itself."""


def add_usage(task: TaskState, used: Usage | None) -> TaskState:
    """Return the task with an attempt's usage added; None adds nothing."""
    if used is None:
        return task
    return replace(task, usage=task.usage + used, spent=task.spent + used)


def with_try(
    task: TaskState,
    record: Record,
    findings: Iterable[Finding],
    seconds: float,
    failure: Failure | None = None,
) -> TaskState:
    """Return the task with a failed attempt added; repeated records count once.

    Where something else than the work failed, what was wrong with that stays known.
    """
    findings = tuple(findings)
    number = record.attempt or task.last_attempt
    before = task.tries
    # Two records may describe one failure: the end of the attempt, and a later verdict on it.
    if before and before[-1].attempt == number:
        findings = findings or tuple(task.findings)
        seconds = seconds or before[-1].seconds
        before = before[:-1]
    checks = tuple(sorted({finding.check for finding in findings if finding.refuses}))
    known = task.findings if failure in _OF_ANOTHER_KIND else ()
    return replace(
        task,
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


PERMISSION = "permission"
"""Check name of a refusal by a rule or a person."""
_MOST_QUESTIONS = 50
"""Pending questions of one attempt; further ones are ignored."""


def fold_asked(task: TaskState, record: Record, event: session_events.PermissionAsked) -> TaskState:
    """Add a permission question to the task, unless it is already there."""
    del record
    known = {(one.tool, one.subject) for one in task.asks}
    if (event.tool, event.subject) in known or len(task.asks) >= _MOST_QUESTIONS:
        return task
    return replace(task, asks=(*task.asks, event))


def fold_answered(
    task: TaskState, record: Record, event: session_events.PermissionAnswered
) -> TaskState:
    """Apply a person's answer to one call; after the last answer the task is PENDING."""
    waited, call = permission_waits(task), (event.tool, event.subject)
    asks = tuple(one for one in task.asks if (one.tool, one.subject) != call)
    others = tuple(one for one in task.answers if (one.tool, one.subject) != call)
    answers = others if event.once else (*others, event)
    task = replace(task, asks=asks, answers=answers)
    if not waited:
        return task
    rest = tuple(
        one for one in task.findings if one.check != PERMISSION or one.path != event.subject
    )
    answered = replace(task, findings=rest if event.allowed else (_make_denial(event), *rest))
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


def permission_waits(task: TaskState) -> bool:
    """Return whether a task is blocked until a person answers its permission questions."""
    if not task.asks or task.held is not None:
        return False
    return task.status is Status.BLOCKED and task.reason is Reason.REVIEW


def _make_denial(event: session_events.PermissionAnswered) -> Finding:
    """Return the next attempt's finding on a no."""
    return Finding(
        check=PERMISSION,
        message=f"permission denied for {event.tool} {event.subject}: {event.reason}",
        path=event.subject if event.tool in ("write_file", "modify_file") else "",
        hint="use another approach",
    )
