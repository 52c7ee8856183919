"""Fold events into a task's state: one pure function per event."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from runner.journal import events, session_events, session_fold
from runner.journal.session_events import TaskWaived
from runner.journal.session_fold import add_usage, with_try
from runner.journal.task_state import HeldWork, Open, TaskState, UnfinishedLanding, Waived
from runner.model import Ending, Reason, Status, Usage, Verdict
from runner.model.grades import find_gaps, strongest
from runner.model.words import WHAT_CHANGED

if TYPE_CHECKING:
    from collections.abc import Callable

    from runner.journal.events import Record
    from runner.model import Coverage

KEPT_DURATIONS = 5
APPROVED = "approved: the next `runner` lands it"
"""Note on an approval of held work, shown until a run uses it."""
REJECTED = "rejected: the next `runner` retries it"
"""The same for a rejection."""


def _fold_started(task: TaskState, record: Record, event: events.AttemptStarted) -> TaskState:
    # Tries, findings and costs belong to one version of the task: after an edit they restart from
    # zero. Folding an old journal must give the same result, so this uses only the recorded
    # digests, never the current plan.
    same = task.tried is None or task.tried == event.spec
    attempt = Open(
        record.attempt,
        record.run,
        event.base,
        event.slot,
        record.time,
        event.spec,
        event.mode,
        event.implementer,
        event.patterns,
        _status_before(task),
        task.note,
        task.reason,
    )
    task = session_fold.still_planned(task, event.spec.what)
    return replace(
        task,
        status=Status.IN_PROGRESS,
        plans_refused=task.plans_refused if same else 0,
        aside=task.aside if same else 0.0,
        note=task.note if task.culprit else "",  # it is STALE again unless it lands
        reason=None,
        tries=task.tries if same else (),
        findings=task.findings if same else (),
        spent=task.spent if same else Usage(),
        held_out_rounds=task.held_out_rounds if same else 0,
        asks=(),  # this attempt asks its own
        answers=task.answers if same else (),
        tried=event.spec,
        last_attempt=max(task.last_attempt, record.attempt),
        # Plan sessions count down from -1, so that they use up no attempt number, which commits
        # contain.
        plan_sessions=max(task.plan_sessions, -record.attempt),
        open_attempt=attempt,
        base=event.base,
        passed=None,
        patterns=event.patterns,
        # Only a proof continues with held bytes; other attempts make new ones, and then the old
        # ones must not land.
        held=task.held if event.mode == "prove" else None,
        landed=None,
        cause=record.id,
        origin=record.origin,
    )


def _status_before(task: TaskState) -> Status:
    """Return the status to restore after an attempt without a result."""
    if task.status is not Status.IN_PROGRESS:
        return task.status
    if task.open_attempt:
        return task.open_attempt.was
    return Status.STALE if task.culprit else Status.PENDING


def _fold_finished(task: TaskState, record: Record, event: events.AttemptFinished) -> TaskState:
    failed = any(one.held_out and one.verdict is Verdict.FAIL for one in event.proofs)
    back = replace(
        add_usage(task, event.usage),
        held_out_rounds=task.held_out_rounds + failed,
        open_attempt=None,
        last_tree=event.tree,
        draft=event.draft or task.draft,
        cause=record.id,
        origin=record.origin,
    )
    if (folded := _of_a_plan(back, event, task.open_attempt)) is not None:
        return folded
    if event.ending is Ending.PASSED:
        return _fold_passed(back, record, event, task.open_attempt)
    if event.ending is Ending.FAILED:
        return with_try(back, record, event.findings, event.seconds, event.failure)
    if event.ending is Ending.BLOCKED:
        return replace(
            back, status=Status.BLOCKED, reason=event.reason, findings=event.findings, passed=None
        )
    if event.ending is Ending.WAITS and event.held:  # a person looks before it is proven
        held = _make_held(task, record, event, task.open_attempt)
        asked = tuple(one for one in event.findings if one.asks or one.check == WHAT_CHANGED)
        return replace(back, status=Status.PENDING, held=held, passed=None, findings=asked)
    if task.open_attempt is None:
        return replace(back, status=_status_before(task))
    was = task.open_attempt
    return replace(back, status=was.was, note=was.note, reason=was.reason)


def _of_a_plan(
    task: TaskState, event: events.AttemptFinished, was: Open | None
) -> TaskState | None:
    """Apply the end of a session in plan mode or of a phase; None for other attempts."""
    match (was.mode if was else "", event.ending):
        case (session_fold.PLAN, Ending.PASSED) if was:
            return session_fold.session_passed(task, was, event.seconds)
        case (session_fold.PLAN, Ending.FAILED) if was and session_fold.is_about_the_plan(
            event.findings
        ):
            return session_fold.session_refused(task, was, event.seconds, event.findings)
        case (session_fold.PHASE, Ending.PASSED) if was and not event.held:
            return session_fold.phase_kept(task, was, event.seconds, (event.ref, event.tree))
    return None


def _fold_passed(
    task: TaskState, record: Record, event: events.AttemptFinished, attempt: Open | None
) -> TaskState:
    if not event.held:
        return replace(task, passed=event, findings=task.findings if _breaks(task.held) else ())
    held = _make_held(task, record, event, attempt)
    changes = tuple(one for one in event.findings if one.check == WHAT_CHANGED)
    findings = event.findings if _breaks(held) else changes
    asked = task.mutants_returned or held.kind == Reason.TEST_AUTHOR
    task = replace(task, passed=event, findings=findings, held=held, status=Status.PENDING)
    return replace(task, mutants_returned=asked)


def _make_held(
    task: TaskState, record: Record, event: events.AttemptFinished, attempt: Open | None
) -> HeldWork:
    spec = attempt.spec if attempt else task.tried
    return HeldWork(event.held, event.ref, task.base, event.tree, spec, record.attempt)


def _breaks(held: HeldWork | None) -> bool:
    """Return whether held work breaks other tasks."""
    return held is not None and held.kind == Reason.REGRESSION


def _fold_failed(task: TaskState, record: Record, event: events.TaskFailed) -> TaskState:
    return with_try(task, record, event.findings, task.passed.seconds if task.passed else 0.0)


def _fold_landed(task: TaskState, record: Record, event: events.TaskLanded) -> TaskState:
    landed = UnfinishedLanding(event.commit, event.tree, record.attempt, event.paths, event.late)
    # Not yet DONE: a crash may come between the two records. Recovery looks for `landed`
    # (`run/recovery.finish_landed`).
    return replace(task, landed=landed, held=None)


def _fold_done(task: TaskState, record: Record, event: events.TaskDone) -> TaskState:
    took = (task.passed.seconds,) if task.passed else ()
    rests = _Rests(
        event.tree, event.coverage, event.patterns, (*task.durations, *took)[-KEPT_DURATIONS:]
    )
    return _over(task, record, event, rests)


def _fold_adopted(task: TaskState, record: Record, event: events.TaskAdopted) -> TaskState:
    # DONE again with its previous evidence, including the grade.
    if event.source == events.REJECTION:
        adopted = _over(task, record, event, _as_before(task))
        return replace(adopted, unproven=task.unproven, waived=task.waived)
    # The same commit and digests: a claim alone does not remove a proof.
    same = event.spec is not None and event.spec == task.spec
    if same and event.verified and event.commit == task.commit and not event.proofs:
        return replace(
            _over(task, record, event, _as_before(task)),
            waived=task.waived,
            proofs=task.proofs,
            proven=task.proven,
            gaps=task.gaps,
            held_out=task.held_out,
            unproven=event.unproven or task.unproven,
        )
    adopted = _over(task, record, event, _Rests("", None, (), task.durations))
    # a waiver itself states its bytes
    return replace(adopted, waived=task.waived) if same and task.waived else adopted


class _Rests(NamedTuple):
    """The bytes behind a DONE, in addition to its event's fields."""

    tree: str = ""
    coverage: Coverage | None = None
    patterns: tuple[str, ...] = ()
    durations: tuple[float, ...] = ()


def _as_before(task: TaskState) -> _Rests:
    return _Rests(task.tree, task.coverage, task.patterns, task.durations)


def _over(
    task: TaskState, record: Record, event: events.TaskDone | events.TaskAdopted, rests: _Rests
) -> TaskState:
    """Return the task as DONE with the event's evidence and its last attempt only."""
    over = TaskState(
        id=task.id,
        status=Status.DONE,
        note=event.note,
        spec=event.spec,
        commit=event.commit,
        tree=rests.tree,
        verified=event.verified,
        tried=task.tried,
        last_attempt=max(task.last_attempt, record.attempt),  # 0 in a record without an attempt
        plan_sessions=task.plan_sessions,
        base=task.base,
        last_tree=task.last_tree,
        coverage=rests.coverage,
        patterns=rests.patterns,
        durations=rests.durations,
        published=task.published,
        done_at=record.time,
        cause=record.id,
        origin=record.origin,
        proven=strongest(event.proofs) if event.proofs else None,
        usage=task.usage,
        proofs=event.proofs,
    )
    gaps = find_gaps(event.proofs)
    held_out = tuple((one.id, *file) for one in event.proofs for file in one.held_out)
    if not (event.unproven or gaps or held_out):
        return over
    return replace(over, unproven=event.unproven, gaps=gaps, held_out=held_out)


def _fold_blocked(task: TaskState, record: Record, event: events.TaskBlocked) -> TaskState:
    # a person's decision holds even if the task is edited: it is not about an attempt
    by_hand = event.reason is Reason.REVIEW and not event.findings and task.held is None
    by_hand = by_hand and (task.planned is None or task.planned.approved) and not task.asks
    return replace(
        task,
        status=Status.BLOCKED,
        tried=None if by_hand else task.tried,
        note=event.note,
        reason=event.reason,
        draft=event.draft or task.draft,
        # The block may have another reason than the last attempt's; a person still needs the
        # findings of that attempt.
        findings=event.findings or task.findings,
        open_attempt=None,
        passed=task.passed if task.held else None,  # held work lands with the proof it passed
        cause=record.id,
        origin=record.origin,
    )


def _fold_staled(task: TaskState, record: Record, event: events.TaskStaled) -> TaskState:
    return replace(
        task,
        status=Status.STALE,
        note=event.note,
        reason=None,
        changed=event.fields,
        culprit=event.culprit,
        approved=False,
        reuse=False,
        via=event.via,
        cut_off="",
        open_attempt=None,
        cause=record.id,
        origin=record.origin,
    )


def _fold_approved(task: TaskState, record: Record, event: events.TaskApproved) -> TaskState:
    broken = task.culprit and task.status is Status.STALE
    if event.by not in ("runner", "review"):  # a person lets it have its whole budget again
        allowed = tuple(one for one in task.answers if one.allowed)  # a no is asked again
        task = replace(task, spent=Usage(), answers=allowed)
    if event.by in ("person", "review"):
        task = replace(task, held_out_rounds=0)
    if broken and event.by != "runner":  # it is built with the change that broke it
        return replace(task, approved=True, tries=())
    note = event.note if event.note in (APPROVED, REJECTED) else ""
    if task.status not in {Status.STALE, Status.BLOCKED}:
        reason = None if note else task.reason
        return replace(task, note=note or task.note, reason=reason, tries=())
    raised = event.by == "runner" and task.reason is Reason.BUDGET
    cut_off = event.note if event.by == events.CUT_OFF else ""
    # missing inputs are back: a task that only needs a new proof stays so
    goes_on = event.by == "runner" and task.reuse
    return replace(
        task,
        status=Status.PENDING,
        note=note,
        reason=None,
        tries=task.tries if raised else (),
        plans_refused=task.plans_refused if event.by == "runner" else 0,
        aside=task.aside if event.by == "runner" else 0.0,
        asks=(),
        culprit="",
        approved=False,
        reuse=event.reuse or goes_on,
        via=task.via if cut_off or goes_on else "",
        cut_off=task.cut_off if goes_on else cut_off,
        cause=record.id,
        origin=record.origin,
    )


def _fold_reopened(task: TaskState, record: Record, event: events.TaskReopened) -> TaskState:
    """Reopen a task: drop its evidence but keep numbers, durations and draft."""
    # A new object, not a changed one: new fields of a task are reset here unless they are kept
    # explicitly.
    return TaskState(
        task.id,
        note=event.note,
        last_attempt=task.last_attempt,
        plan_sessions=task.plan_sessions,
        durations=task.durations,
        draft=task.draft,
        published=task.published,
        usage=task.usage,
        cause=record.id,
        origin=record.origin,
    )


def _fold_waived(task: TaskState, record: Record, event: TaskWaived) -> TaskState:
    """Record a waiver of a DONE task; for other tasks it has no effect."""
    if task.status is not Status.DONE:
        return task
    waived = Waived(event.reason, event.by, record.time, event.what, event.files)
    return replace(task, waived=waived)


def fold_named_in_change(task: TaskState, event: events.ChangeRecorded) -> TaskState:
    """Apply a change request to a STALE task, as a separate reason to rebuild it."""
    also = task.changed and "change" not in task.changed  # an edit that is taken back leaves it
    task = replace(task, via="", changed=(*task.changed, "change") if also else task.changed)
    if not task.cut_off:
        return task
    note = f"CHANGE-{event.number:03d}: {event.text}"
    return replace(task, status=Status.STALE, note=note, reuse=False, cut_off="")


def _fold_author(
    task: TaskState, _record: Record, event: session_events.AuthorFinished
) -> TaskState:
    """Add the usage of a separate test author; its new lines are not a manual edit."""
    return replace(add_usage(task, event.usage), tried=None)


# Any: each function takes the event type that is its key.
TASK_FOLDS: dict[type[events.Event], Callable[[TaskState, Record, Any], TaskState]] = {
    events.AttemptStarted: _fold_started,
    events.AttemptFinished: _fold_finished,
    session_events.PlanProposed: session_fold.fold_proposed,
    session_events.PlanReviewed: session_fold.fold_reviewed,
    session_events.PermissionAsked: session_fold.fold_asked,
    session_events.PermissionAnswered: session_fold.fold_answered,
    events.TaskLanded: _fold_landed,
    events.TaskDone: _fold_done,
    events.TaskFailed: _fold_failed,
    events.TaskBlocked: _fold_blocked,
    events.TaskStaled: _fold_staled,
    events.TaskApproved: _fold_approved,
    events.TaskAdopted: _fold_adopted,
    events.TaskReopened: _fold_reopened,
    TaskWaived: _fold_waived,
    session_events.AuthorFinished: _fold_author,
}
