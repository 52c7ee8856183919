"""What a run would prepare for a task, asked without a run: nothing is locked or written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.app.build.discovered_gates import take_up_default_gates
from runner.plan.patterns import PatternIndex
from runner.project import PATTERNS
from runner.repo.read import Repository
from runner.run.journal_writer import rehearse
from runner.run.preparation import Preparation

if TYPE_CHECKING:
    from runner.journal.state import RunState
    from runner.plan.document import Plan
    from runner.project import Project


def preparation_of(project: Project, plan: Plan, state: RunState) -> Preparation:
    """The preparation of a run that would start now, in this state."""
    take_up_default_gates(project)
    index = project.root / PATTERNS
    return Preparation(
        root=project.root,
        settings=project.settings,
        ledger=rehearse(state),
        patterns=PatternIndex.read(index.read_bytes() if index.is_file() else b""),
        plan_title=plan.title,
        plan_path=project.plan_path,
        environ=project.environ,
        base=lambda: project.head().commit or "",
        tasks={task.id: task for task in plan.tasks},
        former=lambda commit: _former(project, commit),
    )


def _former(project: Project, commit: str) -> str:
    """What a task built before, as a diff."""
    from runner.history.recorded_changes import Records

    with Repository.open(project.root) as repository:
        return Records(repository, project.documents).diff(commit)
