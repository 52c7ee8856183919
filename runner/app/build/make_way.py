"""The runner's documents as they are committed, so that git can pull before the next run.

`git pull --rebase` refuses changed files, and untracked ones that the remote has. What a run wrote
into its documents and did not record is in the journal, and is written again by the next run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner import effects
from runner.plan.edit import set_statuses

if TYPE_CHECKING:
    from runner.journal.state import RunState
    from runner.project import Project
    from runner.repo.read import Repository
    from runner.run.landing.record_commit import RunDocument


def put_back_documents(
    project: Project, repository: Repository, state: RunState, made: tuple[RunDocument, ...]
) -> None:
    """Put back the plan where only statuses of ours differ, and `made` where no person wrote in it.

    `made` are documents that the runner makes and draws from the journal.
    """
    head = repository.find_head().commit
    if head is None:
        return
    plan = project.root / project.plan_path
    working, committed = plan.read_bytes(), repository.blob(head, project.plan_path)
    if committed is not None and _has_our_statuses_alone(project, state, committed, working):
        effects.write_file(plan, committed, mode=effects.mode_of(plan), expected=working)
    for document in made:
        file = project.root / document.path
        if not (file.is_file() and document.ours):
            continue
        before = repository.blob(head, document.path)
        if before is None:
            effects.unlink(file)
        else:
            effects.write_file(file, before, mode=effects.mode_of(file))


def _has_our_statuses_alone(
    project: Project, state: RunState, committed: bytes, working: bytes
) -> bool:
    before = {task.id: (task.status, task.note) for task in project.plan(committed).tasks}
    now = {task.id: (task.status, task.note) for task in project.plan(working).tasks}
    if before.keys() != now.keys():
        return False
    changed = {id_: status for id_, status in now.items() if status != before[id_]}
    if any(status is not state.task(id_).status for id_, (status, _) in changed.items()):
        return False
    prefixes = project.settings.build.id_prefixes
    return set_statuses(committed, changed, prefixes=prefixes) == working
