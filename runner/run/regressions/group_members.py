"""Commits of tasks that reached the branch together with a last one: told after a crash."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.journal.events import TaskLanded

if TYPE_CHECKING:
    from runner.repo.read import Repository
    from runner.run.journal_writer import JournalWriter


def note_members(
    repository: Repository, ledger: JournalWriter, tip: str, parent: str
) -> tuple[str, ...] | None:
    """Say of the commits between `parent` and `tip` that they landed; the tip's own paths.

    None where it landed alone.
    """
    if not parent or repository.resolve(parent) is None:
        return None  # a group stands on commits that there were
    found = repository.log_trailers(tip, since=parent)
    before = [one for one in found if not one.checked and one.commit != tip]
    for one in reversed(before):
        known = ledger.state.task(one.task).landed
        if known is None or known.commit != one.commit:
            paths = _paths(repository, one.commit)
            landed = TaskLanded(commit=one.commit, tree=one.tree, paths=paths)
            ledger.note(landed, task=one.task, attempt=one.attempt, durable=True)
    return _paths(repository, tip) if before else None


def _paths(repository: Repository, commit: str) -> tuple[str, ...]:
    """The paths that a commit changed."""
    changed = repository.diff_trees(repository.resolve(f"{commit}^"), commit)
    return tuple(one.path for one in changed)
