"""The plan of an issue on its branch: what a person approved stands there before it is built.

A run commits statuses and what tasks wrote, never a person's edit of the plan. In the clone of an
issue nobody else saves it: without this, what is merged would lack the plan that it was built by.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.app.draft.draft_checks import Target
from runner.journal.lock import RunLock
from runner.model import Status
from runner.plan.edit import find_spans, set_statuses
from runner.project import BUILD
from runner.repo.clone import ORIGIN, make_refusal
from runner.repo.commit import commit_tree, swap_branch, sync_index
from runner.repo.remote import Move, Remote, Swap

if TYPE_CHECKING:
    from runner.project import Project
    from runner.repo.head import Head
    from runner.repo.read import Repository

MESSAGE = "docs: what was approved, in the plan\n"
_FILE = 0o100644


@dataclass(frozen=True, slots=True)
class _Plan:
    """The plan as it is to be committed."""

    path: str
    content: bytes
    mode: int = _FILE


def publish_plan(project: Project, repository: Repository) -> None:
    """Commit the plan of a clone on its branch, in the remote first, where HEAD says another.

    Statuses aside: those are for a run to record. Nothing is done while one goes on, and nothing
    where somebody pushed to the branch: who looks next sees that. After a kill between the two
    moves the branch here follows. Raises RunnerError: the remote refuses it, or does not answer.
    """
    target, head = Target.of(project), repository.find_head()
    if head.commit is None or RunLock(project.root / BUILD).holder() is not None:
        return
    committed, prefixes = repository.blob(head.commit, target.path), project.settings.id_prefixes
    if _blank(target.data, prefixes) == _blank(committed or b"", prefixes):
        return
    plan = _Plan(target.path, target.data)
    new = _push(project, repository, head, plan)
    if new and swap_branch(repository, head, head.commit, new, "runner: plan"):
        sync_index(repository, [plan.path], head.commit, new)


def _blank(data: bytes, prefixes: tuple[str, ...]) -> bytes:
    """A plan in which every status is the same."""
    spans = find_spans(data, prefixes)
    same = dict.fromkeys(spans, (Status.PENDING, ""))
    return set_statuses(data, same, prefixes=prefixes, spans=spans)


def _push(project: Project, repository: Repository, head: Head, plan: _Plan) -> str:
    """The commit that the remote's branch is on then; empty where somebody else moved it."""
    made = commit_tree(repository, head.commit, [plan], MESSAGE)
    with Remote(repository, ORIGIN, project.environ) as remote:
        tip = remote.read(head.ref).get(head.ref, "")
        if tip != head.commit:  # ours has its parent and its tree, and lies here already
            is_ours = repository.parents_of(tip) == (head.commit,)
            return tip if is_ours and repository.tree_of(tip) == made.tree else ""
        moved = remote.swap(Move(head.ref, tip, made.sha, is_branch=True))
    if moved.swap is Swap.REFUSED:
        branch = head.ref.removeprefix("refs/heads/")
        raise make_refusal(f"the plan on {branch}", moved.said)
    return made.sha if moved.swap is Swap.DONE else ""
