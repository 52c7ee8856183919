"""Landings that wait for a person's commit: which files of a work tree are theirs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from runner.repo.repo_state import DirtyFile

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from runner.repo.configuration import Configuration
    from runner.repo.repo_state import RepoState
    from runner.repo.trees import TreeChange


class Trees(Protocol):
    """Of a repository, what is asked here."""

    root: Path

    def configuration(self) -> Configuration:
        """Git's configuration."""

    def blob(self, treeish: str, path: str) -> bytes | None:
        """Bytes of a file in a commit."""

    def diff_trees(self, old: str | None, new: str | None) -> tuple[TreeChange, ...]:
        """Paths that differ between two commits."""


def beside_waiting(repository: Trees, state: RepoState) -> RepoState:
    """The state as seen from the last landing that waits, not from the commit checked out.

    A file that is what a landing made of it is no person's change; one that differs is.
    """
    head = state.head
    changed = repository.diff_trees(head.beneath, head.commit)
    ours = {one.path for one in changed}
    differing = set(find_differing(repository, head.commit, ours))
    kept = [one for one in state.dirty if one.path not in ours]
    mine = [DirtyFile(path, staged=False, unstaged=True) for path in sorted(differing)]
    return replace(
        state,
        dirty=(*kept, *mine),
        untracked=tuple(path for path in state.untracked if path not in ours),
    )


def find_differing(repository: Trees, commit: str | None, paths: Iterable[str]) -> tuple[str, ...]:
    """Those of these paths that are something else in the work tree than in a commit."""
    converts = repository.configuration().is_true("core.autocrlf")
    found = []
    for path in paths:
        there = repository.blob(commit, path) if commit else None
        here = _working(repository, path)
        if here != there and not (converts and here and here.replace(b"\r\n", b"\n") == there):
            found.append(path)
    return tuple(found)


def _working(repository: Trees, path: str) -> bytes | None:
    """The bytes of a file in the work tree as git sees them: of a link, where it leads."""
    file = repository.root / path
    try:
        return bytes(file.readlink()) if file.is_symlink() else file.read_bytes()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None
