"""A STALE task as it is reviewed: what was built, how it is proven, and what changed since."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING

from runner.errors import RunnerError
from runner.journal.events import TaskAdopted
from runner.report.console import wants_colour
from runner.run.landing.lander import changes_between
from runner.secrets.redact import redact
from runner.text.display import display
from runner.text.wording import short

if TYPE_CHECKING:
    from runner.journal.task_state import TaskState
    from runner.model import Change, Task
    from runner.project import Project
    from runner.repo.read import Repository


def show_stale(project: Project, repository: Repository, id_: str) -> None:
    """Print the original implementation's diff, its test contracts, and the change."""
    known, task = project.state().task(id_), _task(project, id_)
    for note in task.changes if task else ():
        print(f"     asked for since: {display(note)}")
    for field in known.changed:
        if field not in ("what", "change"):
            print(f"     edited since: {display(field)}")
    for contract in task.test_contracts if task else ():
        print(f"     {display(contract.id)} ({contract.shown_level}): {display(contract.command)}")
    if not known.commit:
        print("     it has no commit of its own")
        return
    print(f"     what was built, as {short(known.commit)}:")
    for change, before in _list_built_changes(project, repository, known):
        _show(project, change, before)


def _show(project: Project, change: Change, before: bytes | None) -> None:
    from runner.report.diff_view import diff_text

    colour = wants_colour(sys.stdout, project.environ)
    width = shutil.get_terminal_size().columns
    print(redact(diff_text(before, change, colour=colour, width=width)))


def _list_built_changes(
    project: Project, repository: Repository, known: TaskState
) -> list[tuple[Change, bytes | None]]:
    """What its commit changed, with the bytes of before; nothing where history was rewritten."""
    if repository.resolve(known.commit) is None:
        print("     that commit is gone: the history was rewritten")
        return []
    parent = repository.resolve(f"{known.commit}^")
    own = project.documents
    return [
        (change, repository.blob(parent, change.path) if parent else None)
        for change in changes_between(repository, parent, known.commit)
        if change.path not in own
    ]


def stale_data(project: Project, id_: str) -> dict[str, object]:
    """The same for a JSON document."""
    known, task = project.state().task(id_), _task(project, id_)
    contracts = task.test_contracts if task else ()
    return {
        "commit": known.commit or None,
        "asked": task.changes if task else (),
        "edited": known.changed,
        "tests": [{"id": one.id, "command": one.command} for one in contracts],
    }


def stands(project: Project, known: TaskState, reason: str) -> TaskAdopted:
    """A person's no to a change: what was built is DONE for the task as it is written now.

    Raises RunnerError for a task that a held change breaks: then that change is to be refused.
    """
    if known.culprit:
        raise RunnerError(
            f"{known.id} is STALE by a change of {known.culprit}, which is held",
            hint=f"runner reject {known.culprit} --reason …",
        )
    task = _task(project, known.id)
    spec = task.spec if task else known.spec
    return TaskAdopted(
        spec=spec,
        commit=known.commit,
        verified=known.verified and spec == known.spec,
        source="person",
        note=f"stands as it was built: {reason}",
        proofs=tuple(known.proofs),
    )


def _task(project: Project, id_: str) -> Task | None:
    tasks = project.plan(project.plan_bytes).tasks
    return next((task for task in tasks if task.id == id_), None)
