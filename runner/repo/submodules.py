"""Submodules that a person has checked out, as the base of a scratch tree names their commits."""

from __future__ import annotations

import os
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING

from runner.errors import RunnerError
from runner.repo.git import GitError
from runner.repo.head import find_git
from runner.repo.read import Repository
from runner.repo.scratch import Scratch
from runner.repo.trees import Prefix

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from runner.repo.alternates import Lender
    from runner.repo.head import Folders


def is_checked_out(top: Path, path: str) -> bool:
    """Whether a submodule's own repository is in its place."""
    return os.path.lexists(top / path / ".git")


class Submodules:
    """The submodules of one slot, each a scratch tree of its own: the person's stay untouched."""

    def __init__(self, slot: Path, folders: Folders) -> None:
        self._slot = slot / "submodules"
        self._folders = folders
        self._scratches: dict[str, Scratch | None] = {}
        """By path; None for one that is not checked out."""

    def close(self) -> None:
        """End the processes that read objects."""
        for scratch in filter(None, self._scratches.values()):
            scratch.close()

    def reset(self, gitlinks: Mapping[str, str]) -> dict[str, Path]:
        """Bring each submodule to its commit, and return the folders of those that are there.

        One inside another follows it.
        """
        return dict(self._reset(gitlinks, ""))

    def find_changed(self) -> Iterator[str]:
        """Files of the submodules that differ from their commits."""
        for path, scratch in self._scratches.items():
            if scratch is not None:
                yield from (f"{path}/{change.path}" for change in scratch.changes())

    def _reset(self, gitlinks: Mapping[str, str], above: str) -> Iterator[tuple[str, Path]]:
        for path, commit in gitlinks.items():
            whole = above + path
            if whole not in self._scratches:
                self._scratches[whole] = self._open(whole)
            scratch = self._scratches[whole]
            if scratch is None:
                continue
            try:
                scratch.reset(commit)
            except (GitError, RunnerError, OSError):  # a commit that was not fetched
                continue
            yield whole, scratch.tree_folder
            yield from self._reset(scratch.gitlinks, f"{whole}/")

    def _open(self, path: str) -> Scratch | None:
        lender = self._find_lender(path)
        name = sha256(os.fsencode(path)).hexdigest()[:16]
        return Scratch.open(self._slot / name, lender) if lender else None

    def _find_lender(self, path: str) -> Lender | None:
        """What the submodule's own repository lends; None where it is not in its place."""
        top = self._folders.top / path
        folders = find_git(top) if is_checked_out(self._folders.top, path) else None
        if folders is None or folders.top != top:
            return None
        # An unpacked archive may say that it lies anywhere, as in another repository of the person.
        common = os.path.realpath(folders.common)
        if not any(common.startswith(f"{own}/") for own in (self._folders.common, top)):
            return None
        try:
            with Repository.open(top) as repository:
                return replace(repository.lender(), prefix=Prefix(""))
        except RunnerError:
            return None
