"""Which tasks of a clone's plan are its issue's, and how they stand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.app.draft.draft_checks import Target
from runner.app.inspect.view import View
from runner.bridge.builder import TaskRow
from runner.model import Verdict
from runner.plan.document import read_plan
from runner.repo.clone import ORIGIN

if TYPE_CHECKING:
    from runner.plan.outline import OutlineTask
    from runner.project import Project
    from runner.repo.read import Repository

_GOOD = (Verdict.PASS, Verdict.FLAKY, Verdict.KNOWN)


def place_inside(project: Project, path: str) -> str:
    """A path of the project as the repository, and so the forge, has it."""
    return f"{project.inside}/{path}" if project.inside else path


def read_base(project: Project, repository: Repository) -> frozenset[str]:
    """Ids of the plan as it was where the branch began: those tasks are not the issue's."""
    head = repository.git.ask("rev-parse", "--verify", f"refs/remotes/{ORIGIN}/HEAD")
    onto = head.out.decode().strip() if head.exit == 0 else ""
    began = repository.merge_base("HEAD", onto) if onto else None
    path = Target.of(project).path
    data = repository.blob(began, path) if began else None
    plan = read_plan(data or b"", path, prefixes=project.settings.id_prefixes)
    return frozenset(task.id for task in plan.tasks)


def find_rows(project: Project, others: frozenset[str]) -> tuple[TaskRow, ...]:
    """The tasks of the plan but those."""
    if not project.has_plan:
        return ()
    view = View.of(project)
    return tuple(_make_row(project, view, task) for task in view.tasks if task.id not in others)


def _make_row(project: Project, view: View, task: OutlineTask) -> TaskRow:
    known, graded = view.states[task.id], view.grades.get(task.id)
    passed = sum(one.verdict in _GOOD for one in known.proofs)
    return TaskRow(
        task.id,
        task.title,
        known.status,
        view.note(task) or known.reason or "",
        graded.words if graded else "",
        known.commit,
        f"{passed} of {len(known.proofs)} pass" if known.proofs else "",
        tuple(place_inside(project, one) for one in task.outputs),
    )
