"""What a project knows of its tasks when a change is judged: gathered for one question."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from runner.impact.answer import Dependents, Width, judge
from runner.impact.load_inputs import knowledge_of
from runner.model import Status
from runner.repo.head import OWNERSHIP_MAP
from runner.run.regressions.reached_contracts import past_of
from runner.writes.safe_io import read_beneath

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runner.app.inspect.view import View
    from runner.impact.answer import Answer, Changed
    from runner.impact.inputs import Knowledge
    from runner.model import Task
    from runner.project import Project
    from runner.repo.read import Repository

_STANDING = frozenset({Status.DONE, Status.STALE})


def knowledge_for(
    project: Project, repository: Repository, view: View, *, everyone: bool = False
) -> Knowledge:
    """What is known of HEAD, about the tasks that are or were DONE, or about `everyone`."""
    tasks = project.plan(project.plan_bytes).tasks
    asked = [task for task in tasks if everyone or _stands(task, view)]
    return knowledge_of(
        repository,
        project.cache,
        asked,
        repository.head().commit or "",
        owners=read_beneath(project.root, OWNERSHIP_MAP),
        prefixes=project.settings.id_prefixes,
        past=past_of(view.states, asked),
    )


def evaluate_impact(changes: Sequence[Changed], knowledge: Knowledge, width: Width) -> Answer:
    """Whom a change may affect, the contracts among it that a run would hold against it."""
    from runner.gates.contracts.touched_contracts import Held
    from runner.run.regressions.reached_contracts import find_reached_contracts, with_contracts

    answer, tasks = judge(changes, knowledge, width), knowledge.tasks.values()
    if width.dependents is Dependents.NONE or not any(task.contracts for task in tasks):
        return answer
    return with_contracts(
        answer, tuple(find_reached_contracts(changes, knowledge, width, Held(tasks)))
    )


def without(answer: Answer, task: str) -> Answer:
    """The answer without the task that made the change."""
    return replace(answer, affected=tuple(one for one in answer.affected if one.task != task))


def _stands(task: Task, view: View) -> bool:
    return task.id in view.states and view.status(task.id) in _STANDING
