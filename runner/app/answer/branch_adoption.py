"""A branch that a person finished goes through pipeline, review and gates, and lands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.app.build.engine_setup import Options, run_engine
from runner.app.build.session import Session
from runner.app.build.suitability import require_suitable, require_trust
from runner.app.inspect.view import View
from runner.errors import ExitCode, RunnerError
from runner.lazy_dataclass import dataclass
from runner.model import Status
from runner.report.cost import cost_part
from runner.report.documents import document
from runner.run.landing.drafts import adopt
from runner.run.review import Answer, Said
from runner.run.selection import Selection, find_id
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.app.observer import Observer
    from runner.journal.task_state import TaskState
    from runner.model import Change, Task
    from runner.project import Project
    from runner.run.landing.drafts import Adopted
    from runner.run.review import Asker, Spot


@dataclass(frozen=True, slots=True)
class Adopt:
    """The task, as a person types its id, and the branch that is to be its work."""

    task: str
    branch: str = ""
    """Else the draft that its last attempt left."""
    approved: bool = False
    """Whether all is approved that a review would ask about."""
    trusted: bool = False
    allow_dirty: bool = False


@dataclass(frozen=True, slots=True)
class AdoptedBranch:
    """What became of the task and its branch."""

    task: TaskState
    branch: Adopted
    code: ExitCode


def adopt_branch(
    project: Project, asked: Adopt, observer: Observer, asker: Asker | None = None
) -> AdoptedBranch:
    """Carry the branch here, check it as everybody's work is, and land it as the task's commit.

    The project has its default gates. Raises RunnerError for a task that takes nobody's work now.
    """
    reading = project.check_sound()
    require_trust(project, reading.plan, trusted=asked.trusted, asker=asker)
    tasks = {task.id: task for task in reading.plan.tasks}
    task = tasks[find_id(asked.task, tasks)]
    _require_adoptable(project, task)
    with Session(project, reading.plan.tasks, (observer.hear,)) as session:
        own = session.own_documents
        require_suitable(session.repository, own, allow_dirty=asked.allow_dirty)
        found = adopt(session.repository, _branch(asked.branch, session, task))
        only, options = Selection(only=(task.id,)), Options(adopted={task.id: found})
        who = _Yes() if asked.approved else asker
        code = run_engine(session, reading, only, options, observer, who)
        return AdoptedBranch(session.ledger.state.task(task.id), found, code)


def _require_adoptable(project: Project, task: Task) -> None:
    """Raise RunnerError for a task that takes nobody's work now."""
    view = View.of(project)
    known = view.states[task.id]
    if known.status is Status.DONE:
        raise RunnerError(
            f"{task.id} is DONE: there is nothing to adopt for it",
            hint=f"to have it done again, set it PENDING in the plan, or: runner undo {task.id}",
        )
    if known.held is not None or known.status is Status.STALE:
        word = "has work that waits for your review" if known.held else "is STALE"
        raise RunnerError(
            f"{task.id} {word}", hint=f"runner review {task.id}", code=ExitCode.PERSON
        )
    open_ones = [id_ for id_ in task.depends_on if view.status(id_) is not Status.DONE]
    if open_ones:
        raise RunnerError(
            f"{task.id} waits for {', '.join(open_ones)}",
            hint=f"runner run {open_ones[0]}",
            code=ExitCode.PERSON,
        )


def _branch(named: str, session: Session, task: Task) -> str:
    """The branch that is meant. Raises RunnerError where none is, or where it is checked out."""
    branch = named or session.ledger.state.task(task.id).draft
    if not branch:
        raise RunnerError(f"{task.id} has no draft", hint=f"runner adopt {task.id} BRANCH")
    if session.branch.ref == f"refs/heads/{branch}":
        raise RunnerError(
            f"{branch} is checked out, and would be adopted into itself",
            hint="git switch - (the branch that it is to land on)",
        )
    return branch


class _Yes:
    """Approves what it is asked about: the person has read their own branch."""

    def ask(self, task: Task, change: Change, before: bytes | None, spot: Spot) -> Said:
        """Yes."""
        del task, change, before, spot
        return Said(Answer.APPROVED, for_all=True)

    def choose(self, text: str, question: str) -> str:
        """Nothing is chosen."""
        del text, question
        return ""


def adoption_lines(came: AdoptedBranch) -> Iterator[str]:
    """What became of the task, and what to type next."""
    known, code = came.task, came.code
    name, branch = display(known.id), display(came.branch.branch)
    if known.status is Status.DONE:
        yield f"{name} is DONE: {branch} landed as {known.commit[:12]}"
        return
    yield f"{name} is {known.status}: {display(known.note)}"
    hint = f"mend {branch} and commit, then: runner adopt {name}"
    yield f"next: runner review {name}" if code is ExitCode.PERSON else f"next: {hint}"


def adoption_document(came: AdoptedBranch) -> str:
    """The document `adopt`."""
    known, found = came.task, came.branch
    return document(
        "adopt",
        task=known.id,
        branch=found.branch,
        tip=found.commit,
        paths=[change.path for change in found.changes],
        status=known.status,
        reason=known.reason,
        note=known.note,
        commit=known.commit or None,
        findings=[one for one in known.findings if one.refuses],
        exit=int(came.code),
        **cost_part(known.usage),
    )
