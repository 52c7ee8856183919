"""Work taken back: one task undone, or the code as it was when a task had landed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.app.change.transaction import open_transaction
from runner.app.inspect.view import View
from runner.errors import ExitCode, RunnerError
from runner.history.replay import plan_replay
from runner.history.revert import require_free, take_back
from runner.history.undo import plan_undo
from runner.repo.read import Repository
from runner.run.selection import find_id
from runner.secrets.redact import redact

if TYPE_CHECKING:
    from runner.history.replay import Replay
    from runner.history.revert import Back
    from runner.project import Project


@dataclass(frozen=True, slots=True)
class UndoRequest:
    """One task to take back."""

    task: str
    """As a person names it: `TASK-009`, `9`."""
    reason: str = ""
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Undone:
    """What was taken back, or would be."""

    back: Back
    commit: str = ""
    """The commit that reverts it; empty where it was only looked at."""


def undo(project: Project, request: UndoRequest) -> Undone:
    """Undo it by a new commit. Raises RunnerError: exit 6, with the list, where others built on it.

    Looked at without the lock; nothing is written then.
    """
    id_ = _find_task(project, request.task)
    reason = " ".join(redact(request.reason).split())
    if request.dry_run:
        with Repository.open(project.root) as repository:
            tasks, state = project.plan(project.plan_bytes).tasks, View.of(project).state
            back = plan_undo(repository, tasks, state, id_, reason)
            require_free(repository, back)
            return Undone(back)
    with open_transaction(project) as transaction:
        session = transaction.session
        back = plan_undo(session.repository, transaction.plan.tasks, transaction.state, id_, reason)
        require_free(session.repository, back)
        transaction.begin(f"undo {id_}")
        commit = take_back(session.lander, back)
        transaction.told.update(back.tasks, (one.task for one in back.stale))
        transaction.finish()
    return Undone(back, commit)


def _find_task(project: Project, typed: str) -> str:
    """The task that is meant; one that the plan has lost may still be undone."""
    if typed in project.state().tasks:
        return typed
    return find_id(typed, [task.id for task in project.outline().tasks])


@dataclass(frozen=True, slots=True)
class ReplayRequest:
    """The task whose checkpoint comes back."""

    task: str
    dry_run: bool = False
    head: str = ""
    """The commit on which it was looked at before a person said yes; empty for whichever."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """What came back, or would."""

    task: str
    replay: Replay
    commit: str = ""
    """The commit that brings it back; empty where it was only looked at, or nothing came after."""


def replay(project: Project, request: ReplayRequest) -> Replayed:
    """Go back to a checkpoint by a new commit. Raises RunnerError: exit 6 on a conflict.

    Looked at without the lock; nothing is written then.
    """
    id_ = find_id(request.task, [task.id for task in project.outline().tasks])
    if request.dry_run:
        with Repository.open(project.root) as repository:
            seen = plan_replay(repository, View.of(project).state, id_, project.documents)
            require_free(repository, seen.back)
            return Replayed(id_, seen)
    with open_transaction(project) as transaction:
        session = transaction.session
        now = plan_replay(session.repository, transaction.state, id_, session.own_documents)
        if request.head and now.back.head != request.head:
            raise RunnerError(
                "the branch moved meanwhile; nothing was done",
                hint=f"runner replay {id_} --yes",
                code=ExitCode.CONFLICT,
            )
        if now.nothing:
            return Replayed(id_, now)
        transaction.begin(f"replay {id_}")
        commit = take_back(session.lander, now.back)
        transaction.told.update(now.back.tasks)
        transaction.finish()
    return Replayed(id_, now, commit)
