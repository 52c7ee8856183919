"""Finish the landing of a killed command, or remove the `index.lock` that it left."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from msgspec import Struct

from runner.repo import index_lock
from runner.repo.read import Repository
from runner.run.landing.lander import changes_between
from runner.writes import safe_io
from runner.writes.safe_io import sweep_below

if TYPE_CHECKING:
    from collections.abc import Callable

    from runner.journal.events import TaskLanding
    from runner.repo.head import Folders
    from runner.repo.index_lock import LockFile


class _Left(Struct, frozen=True):
    """A lock of the runner's own, and the commit that its index belongs to."""

    lock: LockFile
    base: str
    commit: str


def finish_left_index(folders: Folders, recorded: Callable[[], TaskLanding | None]) -> str:
    """Finish or remove the lock that a killed command of the runner left; gives a line to show.

    Where the branch has its commit, the files come first and then the index: as long as the lock is
    there, no commit of another git takes them back. `recorded` is the journal's open landing, where
    no run goes on. Any other lock stays, and the line is empty. Raises RunnerError where a file
    cannot be written: the lock stays.
    """
    left = _find_left(folders, recorded)
    index_lock.free_dead_locks(folders.git)  # those of refs; that of the index is held by now
    if left is None:
        return ""
    try:
        # The whole repository: the command may run in another of its projects.
        with Repository.open(folders.top) as repository:
            return _finish(repository, left)
    finally:
        left.lock.leave()


def _find_left(folders: Folders, recorded: Callable[[], TaskLanding | None]) -> _Left | None:
    index = folders.git / index_lock.INDEX
    if not os.path.lexists(f"{index}.lock"):
        return None
    if (found := index_lock.take_left_index(folders.git, index)) is not None:
        base, _, commit = found[1].partition("@")
        return _Left(found[0], base, commit)
    # If a file cannot have two names, or a power failure removed the second.
    event = recorded()
    if event is None or not event.lock_digest:
        return None
    lock = index_lock.take_recorded_index(index, event.lock_inode, event.lock_digest)
    return _Left(lock, event.parent, event.commit) if lock else None


def _finish(repository: Repository, left: _Left) -> str:
    head = repository.find_head().commit
    if not head or not repository.is_ancestor(left.commit, head):
        left.lock.__exit__()
        return "removed the index.lock of a killed run: its commit is not on the branch"
    changes = changes_between(repository, left.base or None, left.commit)
    for change in changes:
        sweep_below(repository.root, change.path)
    converts = repository.configuration().is_true("core.autocrlf")
    # Files that a person changed meanwhile stay theirs; the next run stages the task's.
    safe_io.place(repository.root, changes, converts=converts)
    index_lock.place_index(left.lock)
    return f"finished commit {left.commit[:12]} of a killed run: wrote its files and git's index"
