"""Wait for git's own locks, and report those that a killed git left."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from runner.errors import ExitCode, RunnerError
from runner.repo import index_lock
from runner.repo.commit import swap_branch
from runner.repo.index_lock import free_dead_locks, is_there, wait_for_pruning

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runner.repo.head import Head
    from runner.repo.index_lock import HeldIndex
    from runner.repo.read import Repository

_TRIES = 20
_PAUSE = 0.1
"""Seconds between attempts; a working git locks a branch for a few milliseconds."""


def prepare_index(
    repository: Repository, head: Head, paths: Sequence[str], base: str | None, landed: str
) -> HeldIndex:
    """Lock the index before the branch of `head` gets a commit that changes these paths of `base`.

    Where landings wait for a person's commit, the index is that person's alone. Raises RunnerError
    where another git holds the lock: nothing may land.
    """
    if head.beneath is not None:
        return index_lock.HeldIndex()
    held = index_lock.hold_index(repository, paths, base, landed)
    if held is None:
        raise _make_lock_error(repository, "index.lock")
    return held


def move_branch(
    repository: Repository, head: Head, commit: str, why: str = "", index: HeldIndex | None = None
) -> bool:
    """Move the branch of `head` from where it was seen; False when it is elsewhere by now.

    `index` is the commit's own and records the move. False also means that another git's
    collection took the commit, which must be made again. A published branch moves in the remote
    first: PublishError where it did not, RunnerError where that is unknown. Raises RunnerError if
    git cannot lock an unmoved branch after many tries: the same proof would repeat without end.
    """
    if repository.publish is not None:
        # Remote first: the next run recognises a commit that is only there (the ref of the last
        # publish); one that is only local would have to be removed from a person's branch.
        repository.publish(head, commit)
    for _ in range(_TRIES):
        wait_for_pruning(repository)
        if not is_there(repository, commit):
            return False
        if swap_branch(repository, head, head.commit, commit, why):
            kept = _is_kept(repository, head, commit)
            if index is not None:
                index.moved = kept
            return kept
        # Check before blaming a lock: the swap returns False for both, and only a lock justifies a
        # retry.
        now = repository.head() if head.beneath else repository.find_head()
        if (now.ref, now.commit) != (head.ref, head.commit):
            return False
        free_dead_locks(repository.folders.git)
        time.sleep(_PAUSE)
    raise _make_refusal(repository, head)


def _is_kept(repository: Repository, head: Head, commit: str) -> bool:
    """Return whether the moved branch survived `git gc`; otherwise move it back.

    A collection that began in between had looked at the branch before it moved.
    """
    if not wait_for_pruning(repository) or is_there(repository, commit):
        return True
    if head.commit is not None:
        swap_branch(repository, head, commit, head.commit, "runner: git gc took it")
    return False


def bring_index(
    repository: Repository, paths: Sequence[str], base: str | None, landed: str | None
) -> None:
    """Update the index after a commit; may be repeated. Raises RunnerError if it is locked.

    Where landings wait for a person's commit, the index is that person's alone.
    """
    if repository.head().beneath is not None:
        return
    if index_lock.sync_index(repository, paths, base, landed).locked:
        raise _make_lock_error(repository, "index.lock")


def _make_refusal(repository: Repository, head: Head) -> RunnerError:
    """Return why the branch cannot be updated: a lock, or git's own error."""
    folders, old = repository.folders, head.commit or repository.zeros()
    locks = [folder / f"{head.ref}.lock" for folder in (folders.git, folders.common)]
    answer = repository.git.ask("update-ref", "--no-deref", head.ref, old, old)
    if not answer.exit or any(lock.exists() for lock in locks):
        return _make_lock_error(repository, f"{head.ref}.lock")
    return RunnerError(
        f"git could not update {head.shown}, so nothing can land",
        detail=answer.stderr.strip(),
        hint="fix what git reports, then run again",
        code=ExitCode.CONFLICT,
    )


def _make_lock_error(repository: Repository, name: str) -> RunnerError:
    folders = repository.folders
    places = [folder / name for folder in (folders.git, folders.common)]
    where = next((place for place in places if place.exists()), places[0])
    return RunnerError(
        "another git process holds a lock of this repository, so nothing can land",
        where=str(where),
        hint="if no git is running here, remove that file; then run again",
        code=ExitCode.CONFLICT,
    )
