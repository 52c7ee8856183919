"""Run a single task: adopt a branch that a person finished, or ask an agent for its plan.

An adopted branch goes through pipeline, review and gates, and lands. A plan run executes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from runner.app.answer.answer_between_runs import open_journal
from runner.app.build.discovered_gates import apply_default_gates
from runner.app.build.engine_setup import Options, run_engine
from runner.app.build.preconditions import require_suitable, require_trust
from runner.app.build.session import Session
from runner.app.inspect.validation import check_sound
from runner.app.inspect.view import View
from runner.errors import ExitCode, RunnerError
from runner.implementers.registry import choose
from runner.journal.session_events import PlanReviewed
from runner.model import Finding, Status
from runner.plan.source import refusal
from runner.report.cost import cost_part
from runner.report.documents import document
from runner.run.landing.drafts import adopt
from runner.run.planned.phases import plan_of
from runner.run.review import Answer, Reply
from runner.run.selection import Selection, find_id
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from runner.app.observer import Observer
    from runner.journal.task_state import Planned, TaskState
    from runner.model import Change, Task
    from runner.project import Project, Reading
    from runner.run.landing.drafts import Adopted
    from runner.run.review import Asker, Spot

# --- adopted --------------------------------------------------------------------------


class Adopt(Struct, frozen=True):
    """The task, as a person types its id, and the branch that is to be its work."""

    task: str
    branch: str = ""
    """Branch to adopt; empty: the draft of the last attempt."""
    approved: bool = False
    """Whether everything that needs a review is approved."""
    trusted: bool = False
    allow_dirty: bool = False
    trust_command: str = "runner --trust"
    """Command that a person types to allow the plan's commands."""


class AdoptedBranch(Struct, frozen=True):
    """The result of adopting a branch: the task and its branch."""

    task: TaskState
    branch: Adopted
    code: ExitCode


def adopt_branch(
    project: Project, asked: Adopt, observer: Observer, asker: Asker | None = None
) -> AdoptedBranch:
    """Carry the branch here, check it as everybody's work is, and land it as the task's commit.

    The project has its default gates. Raises RunnerError for a task that takes nobody's work now.
    """
    reading = check_sound(project)
    again = asked.trust_command
    require_trust(project, reading.plan, trusted=asked.trusted, asker=asker, again=again)
    tasks = {task.id: task for task in reading.plan.tasks}
    task = tasks[find_id(asked.task, tasks)]
    _require_adoptable(project, task)
    with Session(project, reading.plan.tasks, (observer.hear,)) as session:
        session.journal.warn_by(observer.say)
        own = session.own_documents
        require_suitable(session.repository, own, allow_dirty=asked.allow_dirty)
        found = adopt(session.repository, _branch(asked.branch, session, task))
        only, options = Selection(only=(task.id,)), Options(adopted={task.id: found})
        who = _Yes() if asked.approved else asker
        code = run_engine(session, reading, only, options, observer, who)
        return AdoptedBranch(session.journal.state.task(task.id), found, code)


def _require_adoptable(project: Project, task: Task) -> None:
    """Raise RunnerError for a task that takes nobody's work now."""
    view = View.of(project)
    known = view.states[task.id]
    if known.status is Status.DONE:
        raise RunnerError(
            f"{task.id} is DONE: there is nothing to adopt",
            hint=f"to rebuild it, set it PENDING in the plan, or: runner undo {task.id}",
        )
    if known.held is not None or known.status is Status.STALE:
        word = "has work waiting for your review" if known.held else "is STALE"
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
    """Return the branch to adopt. Raises RunnerError if the task has none or it is checked out."""
    branch = named or session.journal.state.task(task.id).draft
    if not branch:
        raise RunnerError(f"{task.id} has no draft", hint=f"runner adopt {task.id} BRANCH")
    if session.branch.ref == f"refs/heads/{branch}":
        raise RunnerError(
            f"{branch} is checked out: a branch cannot be adopted into itself",
            hint="switch to the branch it should land on: git switch -",
        )
    return branch


class _Yes:
    """Approves what it is asked about: the person has read their own branch."""

    def ask(self, task: Task, change: Change, before: bytes | None, spot: Spot) -> Reply:
        """Approve the change and all later ones."""
        del task, change, before, spot
        return Reply(Answer.APPROVED, for_all=True)

    def choose(self, text: str, question: str) -> str:
        """Return an empty choice."""
        del text, question
        return ""


def adoption_lines(came: AdoptedBranch) -> Iterator[str]:
    """Yield the result of the adoption and the next command to type."""
    known, code = came.task, came.code
    name, branch = display(known.id), display(came.branch.branch)
    if known.status is Status.DONE:
        yield f"{name} is DONE: {branch} landed as {known.commit[:12]}"
        return
    yield f"{name} is {known.status}: {display(known.note)}"
    hint = f"fix {branch} and commit, then: runner adopt {name}"
    yield f"next: runner review {name}" if code is ExitCode.PERSON else f"next: {hint}"


def adoption_document(came: AdoptedBranch) -> str:
    """Return the `adopt` JSON document."""
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


# --- planned --------------------------------------------------------------------------


_UNASKED = "approved: plan review is off (turn it on with --plan-review prompt)"


class MakePlan(Struct, frozen=True):
    """The task, as a person types its id, and whether there must be another plan."""

    task: str
    again: bool = False
    reason: str = ""
    """What the new plan should improve."""
    trusted: bool = False
    allow_dirty: bool = False


class PlanningResult(Struct, frozen=True):
    """A task and the plan that there is of it."""

    task: Task
    known: TaskState
    plan: Planned | None
    code: ExitCode
    """Exit code of the planning run if it failed, else of the plan's state."""


def plan_task(
    project: Project,
    asked: MakePlan,
    audience: Callable[[], AbstractContextManager[tuple[Observer, Asker | None]]],
) -> PlanningResult:
    """Return the plan of a task, and make it if there is none. Raises RunnerError.

    Raises RunnerError for a task that nobody plans, or whose turn has not come.
    """
    reading = project.check()
    if errors := [problem for problem in reading.problems if problem.is_error]:
        raise refusal(errors, "nothing has run")
    tasks = {task.id: task for task in reading.plan.tasks}
    task = tasks[find_id(asked.task, tasks)]
    there, code = plan_of(project.state(), task), ExitCode.OK
    if there is None or asked.again:
        _require_plannable(project, task)
        if there is not None:
            _send_back(project, task, there, asked.reason or "another plan was requested")
        with audience() as (observer, asker):
            code = _make(project, reading, task, asked, observer, asker)
    state = project.state()
    there = plan_of(state, task)
    if there is None:
        code = code or ExitCode.FAILED
    elif not there.approved:
        code = code or ExitCode.PERSON
    return PlanningResult(task, state.task(task.id), there, code)


def _require_plannable(project: Project, task: Task) -> None:
    """Raise RunnerError for a task that nobody plans, or whose turn has not come."""
    chosen = choose(task, project.settings)
    if isinstance(chosen, Finding):
        message = chosen.message
        text = message if message.startswith(f"{task.id} ") else f"{task.id}: {message}"
        raise RunnerError(text, hint=chosen.hint)
    if not chosen.is_agent:
        raise RunnerError(
            f"{task.id} is built by {chosen.name}, which makes no plans",
            hint="only agents and models make plans: set - Implementer: …",
        )
    state = project.state()
    open_ones = [id_ for id_ in task.depends_on if state.task(id_).status is not Status.DONE]
    if open_ones:
        raise RunnerError(
            f"{task.id} waits for {', '.join(open_ones)}: a plan made now would not see their work",
            hint=f"runner run {open_ones[0]}",
        )
    status = state.task(task.id).status
    if status in (Status.DONE, Status.STALE):
        raise RunnerError(f"{task.id} is {status}", hint=f"runner why {task.id}")


def _send_back(project: Project, task: Task, there: Planned, reason: str) -> None:
    event = PlanReviewed(there.digest, approved=False, reason=reason, by="person")
    with open_journal(project) as journal:
        known = project.state().task(task.id)
        # Planning-only sessions have negative numbers: they use up no attempt.
        attempt = -known.plan_sessions or known.last_attempt
        journal.append(event, task=task.id, attempt=attempt, durable=True)


def _make(
    project: Project,
    reading: Reading,
    task: Task,
    asked: MakePlan,
    observer: Observer,
    asker: Asker | None,
) -> ExitCode:
    apply_default_gates(project)
    again = f"runner plan {task.id} --trust"
    require_trust(project, reading.plan, trusted=asked.trusted, asker=asker, again=again)
    with Session(project, reading.plan.tasks, (observer.hear,)) as session:
        session.journal.warn_by(observer.say)
        own = session.own_documents
        require_suitable(session.repository, own, allow_dirty=asked.allow_dirty)
        only, options = Selection(only=(task.id,)), Options(plan_only=True)
        return run_engine(session, reading, only, options, observer, asker)


def format_standing(there: Planned, task: str) -> str:
    """Return the review state of a plan and the next command to type."""
    name = display(task)
    if there.approved:
        how = _UNASKED if there.review == "off" else f"approved ({there.review})"
        return f"{how}; the next run builds it: runner run {name}"
    return f"waits for your review: runner approve {name}, or runner reject {name} --reason …"


def plan_document(came: PlanningResult) -> str:
    """Return the `task-plan` JSON document."""
    there = came.plan
    return document(
        "task-plan",
        task=came.task.id,
        title=came.task.title,
        standing="none" if there is None else "approved" if there.approved else "waits",
        review=there.review if there else "",
        plan=there.plan if there else None,
        path=there.path if there else None,
        digest=there.digest if there else None,
        findings=tuple(came.known.findings) if there is None else (),
    )
