"""A person takes a task as DONE without a proof, for these bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.app.change.transaction import open_transaction
from runner.app.inspect.view import View
from runner.app.prove.verified_tree import grades_in
from runner.errors import ExitCode, RunnerError
from runner.journal.session_events import TaskWaived
from runner.lazy_dataclass import dataclass
from runner.repo.trailers import WaiverTrailer, format_waived
from runner.run.selection import find_id
from runner.run.waivers import files_now, files_of, is_committed, why_no_person

if TYPE_CHECKING:
    from runner.app.change.transaction import Transaction
    from runner.project import Project


@dataclass(frozen=True, slots=True)
class Waive:
    """The task, as a person types its id, and why it needs no proof."""

    task: str
    reason: str


@dataclass(frozen=True, slots=True)
class WaiverResult:
    """A waiver that is in the journal."""

    task: str
    reason: str
    is_new: bool
    """Whether it was written now; in CI one that is held already is no mistake."""


def waive(project: Project, asked: Waive) -> WaiverResult:
    """Write a waiver into the journal and into the plan.

    Raises RunnerError (exit 3) where no person can have given it.
    """
    reason = " ".join(project.without_secrets(asked.reason).split())
    if not reason:
        raise RunnerError("a waiver needs a reason", hint='runner waive ID --reason "…"')
    id_ = find_id(asked.task, [task.id for task in project.outline().tasks])
    if why := why_no_person(project.environ):
        if why.ci and _is_held(project, id_, reason):
            return WaiverResult(id_, reason, is_new=False)
        raise _refusal(why.text)
    with open_transaction(project) as transaction:
        transaction.begin("waive")
        _waive(transaction, id_, reason)
        transaction.finish()
    return WaiverResult(id_, reason, is_new=True)


def _refusal(why: str) -> RunnerError:
    return RunnerError(
        f"only a person may waive: {why}",
        hint="a person must run it in their own terminal",
        code=ExitCode.PERSON,
    )


def _is_held(project: Project, id_: str, reason: str) -> bool:
    """Whether the journal holds this very waiver, and it still stands."""
    view = View.of(project)
    graded, waived = view.grades.get(id_), view.states[id_].waived
    is_waived = graded is not None and view.worth(id_) == "waived"
    return is_waived and waived is not None and waived.reason == reason


def _waive(transaction: Transaction, id_: str, reason: str) -> None:
    session = transaction.session
    task = next(one for one in transaction.plan.tasks if one.id == id_)
    known = transaction.state.task(id_)
    session, state = transaction.session, transaction.state
    grades = grades_in(session.project, transaction.plan.tasks, state, session.repository)
    graded = grades.get(id_)
    if graded is None or graded.is_proven:
        # It was begun: without an end the next run would take it for a killed one.
        transaction.finish()
        standing = f"is {known.status}" if graded is None else f"is {graded.words}"
        raise RunnerError(
            f"nothing to waive: {id_} {standing}",
            hint="only tasks that are DONE and unproven can be waived: runner status",
            code=ExitCode.USAGE,
        )
    head = session.repository.head().commit
    paths = files_of(session.repository, task.outputs, known.commit, head)
    files = files_now(session.project.root, paths)
    event = TaskWaived(reason=reason, by="person", what=task.spec.what, files=files)
    session.journal.note(event, task=id_, durable=True)
    if is_committed(session.repository, files):
        session.waived.append(format_waived(WaiverTrailer(id_, task.spec.what, reason)))
    transaction.regraded.add(id_)
