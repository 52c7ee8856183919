"""Prepare tasks as a run does, for a run and for commands that only ask; nothing is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner import effects
from runner.app.build.discovered_gates import apply_default_gates
from runner.history import commit_log
from runner.plan.patterns import PatternIndex
from runner.project import PATTERNS
from runner.repo.read import Repository
from runner.run.journal_writer import rehearse
from runner.run.planned.task_plans import TaskPlans
from runner.run.preparation import Preparation
from runner.secrets.allowlist import FILE_NAME, read_allow_list

if TYPE_CHECKING:
    from pathlib import Path

    from runner.journal.state import RunState
    from runner.plan.document import Plan
    from runner.project import Project
    from runner.run.review import Asker
    from runner.secrets.allowlist import AllowList


# --- secret allow list ----------------------------------------------------------------


def load_allow_list(root: Path) -> AllowList | None:
    """Load the allow list of secrets with today's date, or return None if there is no file."""
    file = root / FILE_NAME
    return read_allow_list(file.read_bytes(), effects.now().date()) if file.is_file() else None


# --- task plans -----------------------------------------------------------------------


def task_plans(
    preparation: Preparation,
    repository: Repository,
    asker: Asker | None = None,
    *,
    only: bool = False,
) -> TaskPlans:
    """Create the task plans from a preparation's settings, journal and implementer."""
    return TaskPlans(
        root=preparation.root,
        settings=preparation.settings,
        journal=preparation.journal,
        repository=repository,
        implementer=preparation.implementer,
        asker=asker,
        only=only,
    )


def preparation_of(project: Project, plan: Plan, state: RunState) -> Preparation:
    """Create the preparation for a run in this state."""
    apply_default_gates(project)
    index = project.root / PATTERNS
    return Preparation(
        root=project.root,
        settings=project.settings,
        journal=rehearse(state),
        patterns=PatternIndex.read(index.read_bytes() if index.is_file() else b""),
        plan_title=plan.title,
        plan_path=project.plan_path,
        environ=project.environ,
        base=lambda: project.head().commit or "",
        tasks={task.id: task for task in plan.tasks},
        held_out=project.held_out.store,
        former=lambda commit: _former(project, commit),
    )


def _former(project: Project, commit: str) -> str:
    """Return the diff of the commit that a task built before."""
    with Repository.open(project.root) as repository:
        return commit_log.Records(repository, project.documents).diff(commit)
