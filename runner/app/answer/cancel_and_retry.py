"""Cancel one running attempt, or retry tasks, at a person's request.

The work of an attempt that is ended is kept; the next attempt's brief has the person's reason.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from runner.app.answer.answer_between_runs import open_journal
from runner.app.answer.answers import (
    let_go_on,
    note_answer,
    open_answers,
    resolve_targets,
)
from runner.app.answer.waiting import Waiting
from runner.errors import ExitCode, RunnerError
from runner.journal.events import TaskApproved, TaskFailed
from runner.journal.lock import RunLock
from runner.model import Finding, Status
from runner.model.words import HELD_OUT_FAILED, UNRUN
from runner.process import platform
from runner.project import BUILD
from runner.run.interruption import ask_to_cancel
from runner.run.review import CHECK as REVIEW
from runner.run.review import open_questions
from runner.run.selection import find_id
from runner.run.waivers import why_no_person
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runner.app.answer.answers import AnswerContext
    from runner.journal.events import Event
    from runner.journal.lock import Holder
    from runner.journal.task_state import TaskState
    from runner.project import Project


def retry(project: Project, named: Sequence[str], reason: str, *, via: str = "") -> tuple[str, ...]:
    """Queue tasks for a retry whose next attempt gets `reason`, and return their ids.

    Raises RunnerError for one that is DONE, for work that waits for an answer instead, and for what
    a run that goes on has in hand or may come to: it would not hear this.
    """
    reason = project.without_secrets(reason)
    with open_answers(project) as context:
        ids = tuple(find_id(word, [one.id for one in project.outline().tasks]) for word in named)
        held = {one.task: one for one in context.known}
        for id_ in ids:
            _require_open(context, id_, held.get(id_))
            _require_unbegun(project, context.state.task(id_))
        by = "program" if not via and why_no_person(project.environ) else "person"
        with open_journal(project, via) as journal:
            for id_ in ids:
                known = context.state.task(id_)
                if any(one.check == HELD_OUT_FAILED for one in open_questions(known)):
                    for event in _demand_tests(known, reason, by):
                        note_answer(journal, known, event)
                    continue
                if known.status is Status.PENDING and not reason:
                    continue
                if reason:
                    finding = Finding(REVIEW, f"a reviewer wrote: {reason}", hint="follow it")
                    note_answer(journal, known, TaskFailed(findings=(finding, *known.findings)))
                waits = held.get(id_) or Waiting(id_, "", "", "")
                note_answer(journal, known, let_go_on(known, waits, by=by))
        return ids


def _require_open(context: AnswerContext, id_: str, one: Waiting | None) -> None:
    if context.state.task(id_).status is Status.DONE:
        raise RunnerError(f"{id_} is DONE", hint=f"to rebuild it: runner change {id_} TEXT")
    if one is None or _is_retried(context.state.task(id_)):
        return
    if one.kind not in ("blocked", "stale"):
        hint = f"runner review {id_}; then runner approve or runner reject"
        raise RunnerError(f"{id_} waits for your answer", hint=hint, code=ExitCode.PERSON)
    resolve_targets(context, (one,), every=False)


def _is_retried(known: TaskState) -> bool:
    """Return whether held work can be retried: held-out tests failed, or gates did not run."""
    asked = {one.check for one in open_questions(known)}
    return HELD_OUT_FAILED in asked or asked == {UNRUN}


def _demand_tests(known: TaskState, reason: str, by: str) -> tuple[Event, ...]:
    """Return events that confirm the held-out tests and rebuild the task with their failures."""
    failed = tuple(
        Finding(REVIEW, f"the held-out tests are right: {one.message}", hint=reason)
        for one in open_questions(known)
        if one.check == HELD_OUT_FAILED
    )
    note = "the held-out tests are right"
    return TaskFailed(findings=failed), TaskApproved(by=by, note=note)


def _require_unbegun(project: Project, known: TaskState) -> None:
    """Raise RunnerError for a task that a run which goes on works on, or may come to by itself."""
    if RunLock(project.root / BUILD).holder() is None:
        return
    id_ = display(known.id)
    if known.open_attempt or known.status is Status.IN_PROGRESS:
        raise RunnerError(
            f"{id_} is running now; nothing was recorded",
            hint=f"runner cancel {id_}, then runner retry {id_}; or wait until it ends",
            code=ExitCode.CONFLICT,
        )
    # A task released from BLOCKED has no tries: that run is finished with it.
    if known.status is Status.PENDING and (known.tries or not known.last_attempt):
        raise RunnerError(
            f"{id_} is PENDING and the active run may start it; nothing was recorded",
            hint="add the instruction to its section in the plan, or wait until the run ends",
            code=ExitCode.CONFLICT,
        )


_PATIENCE = 15.0
"""Seconds within which a live run must end an attempt and record it."""
_SETTLING = 2.0
"""Seconds between an attempt's end and the record of its task's status."""
_PAUSE = 0.1


def cancel(project: Project, typed: str) -> TaskState:
    """Ask the run, and wait until it has done so; how the task stands then.

    Its attempt is still open where the run has not ended it in time. Raises RunnerError without a
    run, and for a task that it does not work on.
    """
    id_ = find_id(typed, {task.id: task for task in project.outline().tasks})
    if RunLock(project.root / BUILD).holder() is None:
        raise RunnerError("no run is active in this folder", hint="runner status")
    known = project.state().task(id_)
    if not (known.open_attempt or _is_in_progress(known)):
        raise _refuse_in_progress(known)
    request = ask_to_cancel(project.cache, id_)
    ended = _wait_for_end(
        project, id_, known.open_attempt.attempt if known.open_attempt else known.last_attempt
    )
    # A run that ended without reading the request left it; the next run must ignore it.
    request.unlink(missing_ok=True)
    if ended.status is Status.PENDING and known.open_attempt is None:
        raise _refuse_in_progress(ended)
    return ended


def goes_on(known: TaskState) -> bool:
    """Return whether a task still has an open attempt or is in progress."""
    return known.open_attempt is not None or known.status is Status.IN_PROGRESS


def _is_in_progress(known: TaskState) -> bool:
    """Return whether a task is in progress, or pending after a failed attempt."""
    tried = known.status is Status.PENDING and bool(known.tries)
    return tried or known.status is Status.IN_PROGRESS


def _refuse_in_progress(known: TaskState) -> RunnerError:
    id_ = display(known.id)
    return RunnerError(f"{id_} is not running: it is {known.status}", hint=f"runner why {id_}")


def _wait_for_end(project: Project, id_: str, attempt: int) -> TaskState:
    """Wait until the attempt has ended or time runs out; return the task's state."""
    until = time.monotonic() + _PATIENCE
    while True:
        known = project.state().task(id_)
        now = known.open_attempt
        settled = known.status in (Status.BLOCKED, Status.DONE, Status.STALE)
        if settled or (now and now.attempt != attempt) or time.monotonic() > until:
            return known
        # The task came back from the attempt; its final status is recorded next.
        if now is None and known.status is not Status.IN_PROGRESS:
            until = min(until, time.monotonic() + _SETTLING)
        time.sleep(_PAUSE)


def stop_run(project: Project) -> Holder:
    """Ask the run to end, as Ctrl-C does. Raises RunnerError where none is going on."""
    lock = RunLock(project.root / BUILD)
    holder = lock.holder()
    if holder is None:
        raise RunnerError(
            "no run is active in this folder", hint="runner status", code=ExitCode.CONFLICT
        )
    if not platform.interrupt(holder.pid, holder.lives):
        raise RunnerError("the run has just ended", hint="runner status", code=ExitCode.CONFLICT)
    return holder
