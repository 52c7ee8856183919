"""What a task's DONE rests on: from the journal, or from git alone."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from runner.app.inspect.view import View
from runner.journal.evidence import (
    WANTED,
    evaluate_standing,
    evidence_of,
    from_commit,
    from_journal,
    with_commands,
)
from runner.journal.read_journal import read_journal
from runner.lazy_dataclass import dataclass
from runner.lazy_module import lazy_module
from runner.repo.read import Repository
from runner.run.proof_required import find_unproven_beneath
from runner.run.selection import find_id
from runner.secrets.redact import redact

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runner.gates import registry
    from runner.journal.evidence import Evidence, Standing
    from runner.journal.task_state import TaskState
    from runner.model import Graded, Level, Status, Task
    from runner.project import Project
else:
    registry = lazy_module("runner.gates.registry")


@dataclass(frozen=True, slots=True)
class TaskEvidence:
    """The evidence of one task, and what it is worth for the task as it is written now."""

    task: Task
    status: Status
    known: TaskState
    graded: Graded | None
    """None for a task that is not DONE."""
    standing: Standing
    unverified: str | None
    """Why its files are not as a proof knows them, where they are not."""
    evidence: Evidence | None
    built_on: Mapping[str, str]
    """What it needs that is not proven, and why."""


def find_evidence(project: Project, typed: str) -> TaskEvidence:
    """All that is known of a task's DONE. Raises RunnerError for an id that no task has."""
    view = View.of(project)
    id_ = find_id(typed, view.states)
    task = next(one for one in project.plan(project.plan_bytes).tasks if one.id == id_)
    known = view.states[id_]
    return TaskEvidence(
        task=task,
        status=view.status(id_),
        known=known,
        graded=view.grades.get(id_),
        standing=evaluate_standing(known, task.spec),
        unverified=view.unverified[id_].why if id_ in view.unverified else None,
        evidence=load_evidence(project, task, known),
        built_on=find_unproven_beneath(task.depends_on, view.states),
    )


def load_evidence(project: Project, task: Task, known: TaskState) -> Evidence | None:
    """What the journal tells of a task's DONE; what the commits tell where it does not."""
    if known.spec is None:
        return None
    told = from_journal(known, read_journal(project.journal_path, wanted=WANTED))
    return told or _from_git(project, task, known) or evidence_of(known)


def _from_git(project: Project, task: Task, known: TaskState) -> Evidence | None:
    """What the newest commit tells that landed, or recorded, the task under these digests."""
    with Repository.open(project.root) as repository:
        head = repository.head().commit
        for commit in repository.log_trailers(head) if head else ():
            found = from_commit(commit) if commit.task == task.id else None
            if found is not None and found.spec == known.spec:
                return with_commands(found, _own_commands(project, task, found))
    return None


def _own_commands(
    project: Project, task: Task, evidence: Evidence
) -> dict[str, tuple[str, Level | None]]:
    """The commands the task itself names: its proof's digest says that they are still the same."""
    if evidence.spec.proof != task.spec.proof:
        return {}
    bare = replace(project.settings, gates=(), gates_by_type=())
    return {
        check.id: (redact(check.command), check.level) for check in registry.checks_of(task, bare)
    }
