"""What is known of the tree that a run finds with nothing to do: whether it was proven whole."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.errors import ExitCode

if TYPE_CHECKING:
    from runner.journal.state import RunState
    from runner.model import Digest
    from runner.project import Project
    from runner.repo.read import Repository


@dataclass(frozen=True, slots=True)
class Known:
    """What a run that builds nothing says of the tree that it finds."""

    said: str = ""
    code: ExitCode = ExitCode.OK


def find_verification(
    project: Project, state: RunState, head: str, repository: Repository | None = None
) -> Known:
    """Whether everything that is DONE was proven together on `head`, and what that said.

    Git is asked only where another commit was proven last: it may differ in the runner's own
    documents alone.
    """
    if not (project.settings.verify_at_end and head):
        return Known()
    if state.whole_head == head:
        fell_short = bool(state.failed_tree)
    else:
        keys = _keys(project, state, head, repository)
        fell_short = state.failed_tree in keys
        if not fell_short and state.verified_tree not in keys:
            last = f" since {state.whole_head[:12]}" if state.whole_head else ""
            return Known(f"note: not verified as a whole{last}: runner verify --all")
    if not fell_short:
        return Known()
    said = "this very tree fell short when it was last verified: runner verify --all says where"
    return Known(said, ExitCode.FAILED)


def _keys(
    project: Project, state: RunState, head: str, repository: Repository | None
) -> frozenset[Digest]:
    """Under what this tree may be known: with the tasks that a person only called DONE, or not."""
    from runner.app.build.discovered_gates import take_up_default_gates
    from runner.repo.read import Repository
    from runner.run.proof.same_tree import tree_key

    take_up_default_gates(project)
    tasks = project.outline().tasks
    some = [task for task in tasks if state.task(task.id).verified]
    documents, settings = project.documents, project.settings
    with nullcontext(repository) if repository else Repository.open(project.root) as opened:
        return frozenset(
            tree_key(opened, head, documents, ones, settings)
            for ones in ((tasks, some) if len(some) != len(tasks) else (tasks,))
        )
