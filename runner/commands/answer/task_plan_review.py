"""Plans that tasks have of their own and that wait for a person: shown, answered, edited."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.errors import RunnerError
from runner.journal.sessions import (
    PlanProposed,
    PlanReviewed,
)
from runner.model import Finding, digest_of
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.journal.log import Journal
    from runner.journal.state import RunState
    from runner.journal.task_state import Planned, TaskState
    from runner.model import Task
    from runner.project import Project

KIND = "plan"


def format_plan(state: RunState, task: str, *, whole: bool) -> Iterator[str]:
    """A plan below its task: the files it would write, or all of it."""
    planned = _find_waiting(state, task)
    if not whole:
        yield from (f"would write {display(path)}" for path in planned.plan.files)
        return
    yield from text_of(planned, task).splitlines()


def text_of(planned: Planned, task: str) -> str:
    """A plan as it is kept, made safe to show."""
    from runner.context.task_plan import plan_text

    return display(plan_text(planned.plan, task), lines=True)


def as_data(state: RunState, task: str) -> dict[str, object]:
    """A plan as JSON: all of it, and the digest that an approval is about."""
    planned = _find_waiting(state, task)
    return {"plan": planned.plan, "path": planned.path, "digest": planned.digest}


def approval(state: RunState, task: str) -> PlanReviewed:
    """A person's yes to the plan that waits."""
    digest = _find_waiting(state, task).digest
    return PlanReviewed(digest, approved=True, review="applied", by="person")


def send_back(state: RunState, task: str, reason: str) -> PlanReviewed:
    """A person's no: the next run plans again, and reads the reason."""
    digest = _find_waiting(state, task).digest
    return PlanReviewed(digest, approved=False, reason=reason, by="person")


def describe_sent_back(known: TaskState) -> str:
    """What follows that, for a task as it was before."""
    from runner.run.planned.task_plans import MOST

    name, refused = display(known.id), known.plans_refused + 1
    if refused > MOST:
        return f"{refused} plans of {name} did not do: it is BLOCKED by the next run"
    return f"the plan of {name} goes back: it is planned again"


def edit(project: Project, state: RunState, id_: str) -> None:
    """Let a person change a plan in their editor: what they leave is approved by its digest.

    Raises RunnerError for what can be no plan of this task.
    """
    from runner.commands.running.terminal_review import edit_content
    from runner.context.task_plan import plan_text
    from runner.journal.log import Journal

    task = _task(project, id_)
    planned = _find_waiting(state, id_)
    before = plan_text(planned.plan, id_, task.title).encode("utf-8", "replace")
    content = edit_content(planned.path, before, project.environ)
    if content is None or content == before:
        print(f"{display(id_)} is as it was")
        return
    with Journal.open(project.journal_path) as journal:
        _keep(project, journal, state, task, content)
    print(f"the plan of {display(id_)} is edited and approved; next: runner")


def _keep(project: Project, journal: Journal, state: RunState, task: Task, content: bytes) -> None:
    from runner.context.task_plan import plan_text
    from runner.run.planned.task_plans import keep_plan, parse_edited_plan

    plan = parse_edited_plan(task, content, project.settings, project.root)
    if isinstance(plan, Finding):
        raise RunnerError(f"the edited plan does not fit: {plan.message}", hint=plan.hint)
    text = plan_text(plan, task.id, task.title).encode("utf-8", "replace")
    path = keep_plan(project.root, task.id, text)
    attempt, digest = state.task(task.id).last_attempt, digest_of(text)
    events = (
        PlanProposed(plan, path, digest, what=task.spec.what),
        PlanReviewed(digest, approved=True, review="edited", by="person"),
    )
    for event in events:
        journal.append(event, task=task.id, attempt=attempt, durable=True)


def _task(project: Project, id_: str) -> Task:
    tasks = project.plan(project.plan_bytes).tasks
    return next(task for task in tasks if task.id == id_)


def _find_waiting(state: RunState, task: str) -> Planned:
    planned = state.task(task).planned
    if planned is None:
        raise RunnerError(f"{task} has no plan", hint=f"runner plan {task}")
    return planned
