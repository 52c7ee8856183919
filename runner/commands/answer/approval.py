"""`runner approve` and `runner reject`: what a person's word makes of what waits."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from runner.app.answer import breakage, permission_requests
from runner.commands.answer import task_plan_review
from runner.errors import ExitCode, RunnerError
from runner.journal.events import TaskApproved, WriteRejected, WriteReviewed
from runner.model import Reason
from runner.run.approvals import approvals
from runner.run.review import WHOLE, open_questions, proposal_digest, what_follows
from runner.text.display import display

if TYPE_CHECKING:
    from runner.app.answer.waiting import Waiting
    from runner.journal.events import Event
    from runner.journal.log import Journal
    from runner.journal.state import RunState
    from runner.journal.task_state import TaskState
    from runner.project import Project
    from runner.repo.read import Repository


def approve(
    project: Project, state: RunState, chosen: tuple[Waiting, ...], *, reuse: bool, every: bool
) -> ExitCode:
    """Let what was chosen go on. Raises RunnerError for what cannot be approved so."""
    chosen = _resolve_targets(project, state, chosen, every=every)
    if reuse:
        _require_reusable(chosen)
    with _journal(project) as journal:
        for one in chosen:
            for event in _approvals(state, one, reuse=reuse):
                _note(journal, state.task(one.task), event)
            print(f"{display(one.task)} approved")
    note_what_follows(project, chosen)
    culprits = dict.fromkeys(one.culprit for one in chosen if one.culprit)
    after = project.state()
    for culprit in culprits:
        print(breakage.what_follows(after, culprit))
    if not chosen:
        print("nothing waits for you")
    elif any(not one.culprit for one in chosen):
        print("next: runner")
    return ExitCode.OK


def _resolve_targets(
    project: Project, state: RunState, chosen: tuple[Waiting, ...], *, every: bool
) -> tuple[Waiting, ...]:
    """What can be approved: of everything what is so, of what was named all, or RunnerError."""
    if every:  # a held change lands by the approval of what it breaks
        chosen = tuple(one for one in chosen if one.kind != "regression")
        return tuple(one for one in chosen if not _is_in_vain(project, state, one))
    for one in chosen:
        if one.kind == "regression":
            raise breakage.refuse_approval(
                state, one.task, _describe_take_back(project, state, one.task)
            )
        if why := _is_in_vain(project, state, one):
            raise RunnerError(
                f"an approval of {one.task} changes nothing: {why}",
                hint=f"runner review {one.culprit or one.task}",
                code=ExitCode.PERSON,
            )
    return chosen


def _is_in_vain(project: Project, state: RunState, one: Waiting) -> str:
    """Why a task would be BLOCKED again at once, whatever a person says; else empty."""
    from runner.implementers.requirements import NEEDS_ROOT, needs_root

    if one.culprit:
        return _describe_take_back(project, state, one.culprit)
    if one.kind != "blocked" or state.task(one.task).reason is not Reason.ROOT:
        return ""
    tasks = project.plan(project.plan_bytes).tasks
    task = next((task for task in tasks if task.id == one.task), None)
    gates = project.settings.gates_for(task.type) if task else ()
    return f"it {NEEDS_ROOT}" if task and needs_root(task, gates) else ""


def _describe_take_back(project: Project, state: RunState, culprit: str) -> str:
    from runner.repo.read import Repository

    tasks = project.plan(project.plan_bytes).tasks
    with Repository.open(project.root) as repository:
        return breakage.explain_vain_approval(tasks, state, culprit, repository)


def _require_reusable(chosen: tuple[Waiting, ...]) -> None:
    others = [one.task for one in chosen if one.kind != "stale"]
    if others:
        raise RunnerError(
            f"{', '.join(others)} is not STALE: there is nothing to reuse",
            hint="without --reuse it is approved as it waits",
        )
    broken = [one.task for one in chosen if one.culprit]
    if broken:
        raise RunnerError(
            f"what {', '.join(broken)} built fails on the held change: there is nothing to reuse",
            hint="without --reuse it is built anew on that change",
        )


def _approvals(state: RunState, one: Waiting, *, reuse: bool) -> list[Event]:
    known = state.task(one.task)
    if one.kind == task_plan_review.KIND:
        return [task_plan_review.approval(state, one.task)]
    if one.kind == permission_requests.KIND:
        return permission_requests.answers(state, one.task, allowed=True)
    if one.changes:
        return [
            *approvals(one.changes, open_questions(known)),
            *(
                WriteReviewed(change.path, change.before, change.after, "applied", "person")
                for change in one.changes
            ),
            *([_goes_on(known, one)] if one.culprit else []),
        ]
    return [_goes_on(known, one, reuse=reuse)]


def _goes_on(known: TaskState, one: Waiting, *, reuse: bool = False) -> TaskApproved:
    how = ": only proven again" if reuse else ""
    on = f" on the change of {one.culprit}" if one.culprit else ""
    note = f"{known.status} was approved{on}{how}"
    return TaskApproved(by="person", note=note, reuse=reuse)


def reject(
    project: Project,
    repository: Repository,
    state: RunState,
    chosen: tuple[Waiting, ...],
    reason: str,
) -> ExitCode:
    """Refuse what was chosen. Raises RunnerError without a reason, or with nothing to refuse."""
    reason = reason or _ask("why? ")
    if not reason:
        raise RunnerError(
            "a rejection needs a reason", hint="--reason TEXT: the next attempt reads it"
        )
    for one in chosen:
        if one.kind == "blocked":
            raise RunnerError(
                f"{one.task} has no writes to reject",
                hint=f"runner why {one.task}; runner approve {one.task} has it tried again",
            )
    with _journal(project) as journal:
        for one in chosen:
            print(_reject(project, repository, journal, state, one, reason))
    note_what_follows(project, chosen)
    print("next: runner")
    return ExitCode.OK


def _reject(
    project: Project,
    repository: Repository,
    journal: Journal,
    state: RunState,
    one: Waiting,
    reason: str,
) -> str:
    known = state.task(one.task)
    if one.kind == task_plan_review.KIND:
        _note(journal, known, task_plan_review.send_back(state, one.task, reason))
        return task_plan_review.describe_sent_back(known)
    if one.kind == permission_requests.KIND:
        for answer in permission_requests.answers(state, one.task, allowed=False, reason=reason):
            _note(journal, known, answer)
        return f"{display(one.task)} goes on without it"
    if one.kind == "regression":
        return breakage.reject_change(project, repository, journal, one.task, one.changes, reason)
    if one.kind == "stale":
        from runner.commands.answer.stale_review import stands

        _note(journal, known, stands(project, known, reason))
        return f"{display(one.task)} stands as it was built: DONE"
    event = WriteRejected(WHOLE, None, proposal_digest(one.changes), reason, "person")
    _note(journal, known, event)
    return f"{display(one.task)} rejected"


def note_what_follows(project: Project, chosen: tuple[Waiting, ...]) -> None:
    """Let tasks go on of whose held work everything is answered: every command tells it then."""
    written = [one for one in chosen if one.kind == "writes"]
    if not written:
        return
    state = project.state()
    with _journal(project) as journal:
        for one in written:
            for event in what_follows(state, one.task, one.changes):
                _note(journal, state.task(one.task), event)


def _journal(project: Project) -> Journal:
    from runner.journal.log import Journal

    return Journal.open(project.journal_path)


def _note(journal: Journal, known: TaskState, event: Event) -> None:
    journal.append(event, task=known.id, attempt=known.last_attempt, durable=True)


def _ask(question: str) -> str:
    if not sys.stdin.isatty():
        return ""
    print(question, end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip()
