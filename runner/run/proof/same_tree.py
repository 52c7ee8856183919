"""Identify a proven tree by all files except the runner's own documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.model import digest_of
from runner.repo.git import GitError
from runner.repo.trees import FOLDER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from runner.config.settings import Settings
    from runner.journal.task_state import TaskState
    from runner.model import Digest, Task
    from runner.plan.outline import OutlineTask
    from runner.repo.read import Repository


def tree_key(
    repository: Repository,
    head: str,
    documents: frozenset[str],
    tasks: Iterable[Task | OutlineTask],
    settings: Settings,
) -> Digest:
    """Return the key of a verification: all files except the runner's own, and all proofs."""
    # A tree's name covers all files and modes; one without the documents is only computed by name,
    # so only the folders with them are read.
    tree, objects = head or repository.empty_tree(), repository.objects()
    ours = [repository.prefix.whole(path) for path in documents]
    there = {path: objects.entry(tree, path) for path in ours}
    left_out = {path: None for path, at in there.items() if at and at.mode != FOLDER}
    name = objects.with_files(tree, left_out)
    text = "\n".join((name, *list_proofs(tasks, settings)))
    return digest_of(text.encode("utf-8", "surrogateescape"))


def list_proofs(tasks: Iterable[Task | OutlineTask], settings: Settings) -> tuple[str, ...]:
    """Return a line for each proof of a tree."""
    proofs = [f"{task.id} {task.spec.proof}" for task in tasks]
    gates = [repr((gate.name, gate.command)) for gate in settings.gates]
    gates += [repr((kind, gate.command)) for kind, some in settings.gates_by_type for gate in some]
    return (*sorted(proofs), *gates)


def make_same_tree_test(
    repository: Repository, head: str, documents: frozenset[str], known: Sequence[TaskState]
) -> Callable[[TaskState], bool]:
    """Return a function that tests if a task's proof ran on the tree of `head`.

    One of which a part ran on another tree (`Proof.base`), however alike, did not.
    Git is asked once a tree, and only where it can be: not about what was DONE before the last
    landing, nor about the landings before it.
    """
    trees: dict[str, bool] = {repository.tree_of(head): True}
    landed = max((one.done_at for one in known if one.commit), default="")

    def is_here(one: TaskState) -> bool:
        if any(proof.base for proof in one.proofs):
            return False
        if not one.tree or not one.verified or one.done_at < landed:
            return one.tree in trees and one.verified and trees[one.tree]
        if one.tree not in trees:
            trees[one.tree] = _same(repository, one.tree, head, documents)
        return trees[one.tree]

    return is_here


def _same(repository: Repository, tree: str, head: str, documents: frozenset[str]) -> bool:
    try:
        changed = repository.diff_trees(tree, head or None)
    except GitError:  # a tree that this clone does not have
        return False
    return all(one.path in documents for one in changed)
