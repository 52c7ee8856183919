"""Run a use case that changes landed work: lock, read, act, publish, record.

A change request makes built dependents STALE. Undo takes back one task. Replay restores the code as
of a landing.
"""

from __future__ import annotations

import unicodedata
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct, field

from runner.app.build.session import Session
from runner.app.inspect.view import View
from runner.errors import ExitCode, RunnerError
from runner.held_out.store import FileRecord, make_store_id
from runner.history import change as history
from runner.history import revert as history_undo
from runner.history.revert import format_list, plan_replay, require_free, take_back
from runner.impact.reach import find_reaching
from runner.lazy_module import lazy_module
from runner.model import Action, Status, digest_of
from runner.plan.source import refusal
from runner.repo.read import Repository
from runner.run.journal_writer import begin
from runner.run.landing.status_writer import PlanDocument, StatusWriter, needs_write, note_in
from runner.run.selection import find_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from runner.app.change import impact_question
    from runner.history.change import ChangePreview
    from runner.history.revert import Back, Replay
    from runner.journal.state import RunState
    from runner.model import Task
    from runner.plan.document import Plan
    from runner.project import Project
else:
    impact_question = lazy_module("runner.app.change.impact_question")


class Transaction(Struct, dict=True):
    """A session in which a person's command is carried out, as a short run of its own."""

    session: Session
    plan: Plan
    data: bytes
    noted: set[str] = field(default_factory=set)
    """PENDING tasks whose note is also in the plan."""
    regraded: set[str] = field(default_factory=set)
    """DONE tasks whose grade the plan must update."""

    @property
    def state(self) -> RunState:
        """Current state of the journal."""
        return self.session.journal.state

    def begin(self, command: str) -> None:
        """Record the start of a change, so that a crash from here on is repaired."""
        branch = self.session.branch
        begin(
            self.session.journal,
            head=branch.commit or "",
            branch=branch.shown,
            plan=digest_of(self.data),
            settings={"command": command},
        )

    def finish(self) -> None:
        """Publish the statuses and commit the runner's documents."""
        journal, project = self.session.journal, self.session.project
        statuses = self._statuses()
        for task in self.plan.tasks:
            status, note = statuses[task.id]
            if needs_write(task, status, note) or (
                task.id in self.noted | self.regraded and note != task.note
            ):
                self.board.say(task.id, status, note)
        if self.board.due(now=True):
            self.board.publish(journal.note, head=project.head().commit or "")
        document = PlanDocument(project.plan_path, self._statuses, self.board.edit)
        ids = [task.id for task in self.plan.tasks]
        self.session.write_closing_record(document, ids, ExitCode.OK, by_person=True)

    @cached_property
    def board(self) -> StatusWriter:
        """Writer of statuses into the plan."""
        project = self.session.project
        return StatusWriter(project.root / project.plan_path, project.settings.build.id_prefixes)

    def _statuses(self) -> dict[str, tuple[Status, str]]:
        found, planned = {}, {task.id: task for task in self.plan.tasks}
        for task in self.plan.tasks:
            known = self.state.task(task.id)
            note = known.note if task.id in self.noted else note_in(planned, task.id, self.state)
            found[task.id] = (known.status, note)
        return found


@contextmanager
def open_transaction(project: Project) -> Iterator[Transaction]:
    """Hold the run lock, repair after a crash, and read plan, journal and git together.

    Raises RunnerError where a run is going on, and in the middle of a merge.
    """
    data = project.plan_bytes
    plan = project.plan(data)
    require_readable(plan)
    with Session(project, plan.tasks) as session:
        ongoing = session.repository.state().ongoing
        if ongoing:
            raise RunnerError(
                f"a {ongoing} is in progress",
                hint=f"finish it (git {ongoing} --continue) or abort it (--abort)",
            )
        # Read again: crash recovery or an editor may have changed the plan.
        data = project.plan_bytes
        plan = project.plan(data)
        require_readable(plan)
        session.take_in(plan.tasks)
        yield Transaction(session, plan, data)


def require_readable(plan: Plan) -> None:
    """Raise RunnerError where the plan has mistakes: what it says of the tasks is not sure."""
    if errors := [problem for problem in plan.problems if problem.is_error]:
        raise refusal(errors, "nothing was changed")


# --- record change --------------------------------------------------------------------


class ChangeRequest(Struct, frozen=True):
    """A requested change, and the tasks that it concerns."""

    tasks: tuple[str, ...]
    text: str
    dry_run: bool = False


class RecordedChange(Struct, frozen=True):
    """The effect of a change, performed or simulated."""

    change: ChangePreview
    number: int = 0
    """Number of its entry in CHANGES.md; 0 in a dry run."""


def change(project: Project, request: ChangeRequest) -> RecordedChange:
    """Record it, without a secret in it. While a run goes on it is refused: its lock is held."""
    known = [task.id for task in project.outline().tasks]
    ids = tuple(dict.fromkeys(find_id(typed, known) for typed in request.tasks))
    text = _clean_text(project, request.text, ids)
    if request.dry_run:
        return RecordedChange(_preview_change(project, ids, text))
    with open_transaction(project) as transaction:
        now = history.plan_change(transaction.plan.tasks, transaction.state.task, ids, text)
        transaction.begin("change")
        number = history.record_change(transaction.session.context, now)
        transaction.finish()
    return RecordedChange(now, number)


def _clean_text(project: Project, typed: str, ids: Sequence[str]) -> str:
    text = " ".join(project.without_secrets(typed).split())
    if any(unicodedata.category(character) == "Cc" for character in text):
        raise RunnerError("the change text contains control characters")
    if not text:
        raise RunnerError("no change text given", hint=f'runner change {ids[0]} "what to change"')
    return text


def _preview_change(project: Project, ids: Sequence[str], text: str) -> ChangePreview:
    """Return a preview of the change, read without the lock; nothing is written."""
    view = View.of(project)
    if view.live is not None:
        raise RunnerError(
            f"a run is active ({view.live}); nothing was recorded",
            hint=f"add the line `!change {text}` to the section of {ids[0]} for the next run; "
            "or wait for the run to end",
        )
    plan = project.plan(project.plan_bytes)
    require_readable(plan)
    return history.plan_change(plan.tasks, view.state.task, ids, text)


# --- take back ------------------------------------------------------------------------


class UndoRequest(Struct, frozen=True):
    """One task to take back."""

    task: str
    """Task as a person names it: `TASK-009`, `9`."""
    reason: str = ""
    dry_run: bool = False
    force: bool = False
    """Whether to remove files that other files import."""


class Undone(Struct, frozen=True):
    """The work that was undone, or would be."""

    back: Back
    commit: str = ""
    """Commit that reverts it; empty in a dry run."""
    importers: tuple[tuple[str, str], ...] = ()
    """Remaining files, each with a removed file that it imports."""


def undo(project: Project, request: UndoRequest) -> Undone:
    """Undo it by a new commit. Raises RunnerError: exit 6, with the list, where others built on it.

    Looked at without the lock; nothing is written then.
    """
    id_ = _find_task(project, request.task)
    reason = " ".join(project.without_secrets(request.reason).split())
    if request.dry_run:
        with Repository.open(project.root) as repository:
            tasks, state = project.plan(project.plan_bytes).tasks, View.of(project).state
            back = history_undo.plan_undo(repository, tasks, state, id_, reason)
            require_free(repository, back)
            return Undone(back, importers=_find_importers(project, repository, back))
    with open_transaction(project) as transaction:
        session = transaction.session
        # Planned under the lock: crash recovery is complete and no run is active.
        back = history_undo.plan_undo(
            session.repository, transaction.plan.tasks, transaction.state, id_, reason
        )
        require_free(session.repository, back)
        importers = _find_importers(project, session.repository, back)
        require_no_importers(Undone(back, importers=importers), force=request.force)
        _keep_held_out(project, session.repository, transaction.plan.tasks, back)
        transaction.begin(f"undo {id_}")
        commit = take_back(session.lander, back)
        transaction.noted.update(back.tasks, (one.task for one in back.stale))
        transaction.finish()
    return Undone(back, commit, importers)


def _keep_held_out(
    project: Project, repository: Repository, tasks: Iterable[Task], back: Back
) -> None:
    """Copy held-out files back into the store before the branch loses them."""
    removed = {change.path for change in back.changes if change.action is Action.DELETE}
    head = repository.head().commit or ""
    for task in tasks:
        for one in task.held_out_files if task.id in back.tasks else ():
            content = repository.blob(head, one.path) if one.path in removed else None
            if content is not None and digest_of(content) == one.digest:
                make_store_id(project.folders.common)
                store = project.held_out.store
                store.put(task.id, one.path, content, FileRecord(once_in_git=True))


def _find_importers(
    project: Project, repository: Repository, back: Back
) -> tuple[tuple[str, str], ...]:
    """Return the files that stay and import a file that is removed, each with that file."""
    removed = {change.path for change in back.changes if change.action is Action.DELETE}
    if not removed:
        return ()
    references = impact_question.knowledge_for(project, repository, View.of(project)).references
    return tuple(
        (one.path, path)
        for path in sorted(removed)
        for one in find_reaching(references, path, 1)
        if one.by is not None and not one.named and one.path not in removed
    )


def require_no_importers(seen: Undone, *, force: bool) -> None:
    """Raise RunnerError, exit 6, where files that stay import what an undo removes."""
    id_ = seen.back.tasks[0]
    if seen.importers and not force:
        raise RunnerError(
            f"{id_} was not undone: remaining files import what it would remove",
            detail=format_list(f"{one} imports {path}" for one, path in seen.importers),
            hint=f"first undo the tasks of these files, or: runner undo {id_} --force",
            code=ExitCode.CONFLICT,
        )


def _find_task(project: Project, typed: str) -> str:
    """Return the ID of the named task, including tasks that are only in the journal."""
    if typed in project.state().tasks:
        return typed
    return find_id(typed, [task.id for task in project.outline().tasks])


class ReplayRequest(Struct, frozen=True):
    """The task whose checkpoint comes back."""

    task: str
    dry_run: bool = False
    head: str = ""
    """Commit that the person saw when confirming; empty: any."""


class Replayed(Struct, frozen=True):
    """The work that was restored, or would be."""

    task: str
    replay: Replay
    commit: str = ""
    """Commit that restores it; empty in a dry run or if nothing came after it."""


def replay(project: Project, request: ReplayRequest) -> Replayed:
    """Go back to a checkpoint with a new commit. Raises RunnerError: exit 6 on a conflict.

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
                "the branch has moved; nothing was changed",
                hint=f"runner replay {id_} --yes",
                code=ExitCode.CONFLICT,
            )
        if now.nothing:
            return Replayed(id_, now)
        transaction.begin(f"replay {id_}")
        commit = take_back(session.lander, now.back)
        transaction.noted.update(now.back.tasks)
        transaction.finish()
    return Replayed(id_, now, commit)
