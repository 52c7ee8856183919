"""The index as it is to be after a commit, prepared in `index.lock` before the branch moves.

Their own staged work stays, the rest follows the commit. As long as the lock is there no other git
commits on the branch: it would take back files that have landed and are in neither tree nor index.
"""

from __future__ import annotations

import os
import shutil
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Self

from runner import effects
from runner.lazy_dataclass import dataclass
from runner.repo.git import GitError, UnusualError, raw, text
from runner.repo.index_file import read_index
from runner.repo.lock_files import LockFile, free_dead_locks
from runner.repo.trees import FOLDER, TreeEntry, batches

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from runner.repo.read import Repository

INDEX = "index"
_FEW = 20
_PAUSE = 0.05
_PATIENCE = 5.0
"""Seconds to wait for a held lock; an editor's git holds it for some milliseconds."""


@dataclass(slots=True)
class HeldIndex:
    """The lock of the index, with the index as it is to be; use it as a context.

    What is not placed is dropped at the end, unless the branch has moved: then the lock stays on
    disk for the next command, since a commit made without it would take back what landed.
    """

    lock: LockFile | None = None
    """None where landings wait for a person's commit: then the index is that person's alone."""
    kept: tuple[str, ...] = ()
    """Paths that the person staged otherwise: left as they were."""
    moved: bool = False
    """Whether the branch has what this index belongs to."""

    @property
    def inode(self) -> int:
        """The number of the lock's file; 0 for no lock."""
        return self.lock.inode if self.lock else 0

    @property
    def digest(self) -> str:
        """The SHA-256 of the prepared index; empty for no lock."""
        return self.lock.digest if self.lock else ""

    def place(self) -> None:
        """Let the prepared index be the index."""
        if self.lock is not None:
            place_index(self.lock)
            self.lock = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.lock is not None and self.moved:
            self.lock.leave()
        elif self.lock is not None:
            self.lock.__exit__()


def place_index(lock: LockFile) -> None:
    """Put a prepared index in its place; an empty one belongs to a repository without any."""
    if lock.size:
        lock.place()
    else:
        lock.__exit__()


def hold_index(
    repo: Repository, paths: Sequence[str], base: str | None, landed: str | None
) -> HeldIndex | None:
    """Lock the index, and prepare it with the landed entries of `paths` where it has those of base.

    None where another process holds the lock the whole time. Raises GitError.
    """
    until = effects.monotonic() + _PATIENCE
    while (lock := LockFile.take(repo.folders.git, INDEX, f"{base or ''}@{landed or ''}")) is None:
        if effects.monotonic() > until:
            return None
        free_dead_locks(repo.folders.git)
        time.sleep(_PAUSE)
    held = HeldIndex(lock)
    try:
        held.kept, moving = _compare(repo, paths, base, landed)
        _prepare(repo, lock, moving)
    except BaseException:
        held.__exit__()
        raise
    return held


@dataclass(frozen=True, slots=True)
class Synced:
    """What became of the index entries of the paths that landed."""

    kept: tuple[str, ...] = ()
    """Paths that the person staged otherwise: left as they were."""
    locked: bool = False
    """Another process held the index the whole time: nothing was replaced; try again."""


def sync_index(
    repo: Repository, paths: Sequence[str], base: str | None, landed: str | None
) -> Synced:
    """Give the index the landed entries of `paths` wherever it still holds those of `base`.

    Repeating it changes nothing. Raises GitError.
    """
    kept, moving = _compare(repo, paths, base, landed)
    if not moving:
        return Synced(kept)
    held = hold_index(repo, paths, base, landed)
    if held is None:
        return Synced(kept, locked=True)
    with held:
        held.place()
    return Synced(held.kept)


def _compare(
    repo: Repository, paths: Sequence[str], base: str | None, landed: str | None
) -> tuple[tuple[str, ...], Mapping[str, TreeEntry | None]]:
    """Paths that the person staged otherwise, and the entries that are to be written."""
    old, new = (_tree_entries(repo, commit, paths) for commit in (base, landed))
    changed = [path for path in paths if old.get(path) != new.get(path)]
    now = _index_entries(repo, changed)
    kept = tuple(path for path in changed if now.get(path) not in (old.get(path), new.get(path)))
    moving = {
        path: new[path][0] if path in new else None
        for path in changed
        if path not in kept and now.get(path) != new.get(path)
    }
    return kept, moving


def _tree_entries(
    repo: Repository, commit: str | None, paths: Sequence[str]
) -> dict[str, tuple[TreeEntry, ...]]:
    """The files that a commit holds at these paths: a few are looked up without a process."""
    found: Mapping[str, TreeEntry | None]
    if not commit or len(paths) > _FEW:
        found = repo.tree_entries(commit, paths)
    else:
        objects = repo.objects()
        found = {path: objects.entry(commit, repo.prefix.whole(path)) for path in paths}
    return {path: (at,) for path, at in found.items() if at and at.mode != FOLDER}


def _index_entries(repo: Repository, paths: Sequence[str]) -> dict[str, tuple[TreeEntry, ...]]:
    """Entries at exactly these paths; an unmerged one has several, an intent to add is no match."""
    found: dict[str, tuple[TreeEntry, ...]] = {}
    # Saves a process (6 ms of a landing); what is not plain says so itself.
    with suppress(UnusualError):
        index = read_index(repo.folders.git / INDEX)
        found = {path: index.at(raw(repo.prefix.whole(path))) for path in paths}
        return {path: entries for path, entries in found.items() if entries}
    for some in batches([repo.prefix.whole(path) for path in paths]):
        listed = text(repo.git.run("ls-files", "-s", "-z", "--full-name", "--", *some))
        for line in listed.split("\0")[:-1]:
            head, _, whole = line.partition("\t")
            mode, sha, stage = head.split(" ")
            path = repo.prefix.inside(whole)
            entry = TreeEntry(int(mode, 8), sha if stage == "0" else f"stage {stage}")
            found[path] = (*found.get(path, ()), entry)
    return {path: found[path] for path in paths if path in found}


def _prepare(repo: Repository, lock: LockFile, moving: Mapping[str, TreeEntry | None]) -> None:
    """Write the index with these entries into its lock; git makes it, on a copy."""
    index = repo.folders.git / INDEX
    if not moving:
        with suppress(FileNotFoundError):
            lock.write(index.read_bytes(), index.stat().st_mode & 0o777)
        return
    copy = lock.copy
    try:
        effects.step("open", copy)
        with suppress(FileNotFoundError):
            # With its time: git compares the content of files that are as old as the index, since
            # their own times could hide a change (racy-git in git's technical documentation).
            _copy(index, copy)
        _update(repo, copy, moving)
        lock.write(copy.read_bytes(), copy.stat().st_mode & 0o777)
    finally:
        copy.unlink(missing_ok=True)


def _copy(source: Path, target: Path) -> None:
    """Copy bytes, mode and times; `shutil.copystat` wants calls that macOS does not have."""
    about = source.stat()
    shutil.copyfile(source, target)
    target.chmod(about.st_mode & 0o777)
    os.utime(target, ns=(about.st_atime_ns, about.st_mtime_ns))


def _update(repo: Repository, index: Path, entries: Mapping[str, TreeEntry | None]) -> None:
    ordered = sorted(entries.items(), key=lambda item: item[1] is not None)
    lines = [
        raw(
            f"{entry.mode:o} {entry.sha} 0\t{repo.prefix.whole(path)}"
            if entry
            else f"0 {repo.zeros()}\t{repo.prefix.whole(path)}"
        )
        for path, entry in ordered
    ]
    git = repo.quiet().with_settings(GIT_INDEX_FILE=os.fspath(index))
    answer = git.ask("update-index", "-z", "--index-info", stdin=b"\0".join(lines) + b"\0")
    if answer.exit:
        raise GitError("update-index", answer.stderr, answer.exit)
