"""The person's index after a landing: their own staged work stays, the rest follows the commit."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.repo.commit import DURABLE
from runner.repo.git import GitError, raw, text
from runner.repo.trees import FOLDER, TreeEntry, batches

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from runner.repo.read import Repository

_FEW = 20
_TRIES = 20
_PAUSE = 0.05
"""Seconds between tries for a held lock; an editor's git holds it for some milliseconds."""


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
    old = _tree_entries(repo, base, paths)
    new = _tree_entries(repo, landed, paths)
    return _follow(repo, [path for path in paths if old.get(path) != new.get(path)], old, new)


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


def _follow(
    repo: Repository,
    paths: Sequence[str],
    old: Mapping[str, tuple[TreeEntry, ...]],
    new: Mapping[str, tuple[TreeEntry, ...]],
) -> Synced:
    kept: list[str] = []
    for _ in range(_TRIES):
        now = _index_entries(repo, paths)
        kept = [path for path in paths if now.get(path) not in (old.get(path), new.get(path))]
        moving = {
            path: new.get(path)
            for path in paths
            if path not in kept and now.get(path) != new.get(path)
        }
        if not moving or _replace_entries(repo, moving):
            return Synced(kept=tuple(kept))
        time.sleep(_PAUSE)
    return Synced(kept=tuple(kept), locked=True)


def _index_entries(repo: Repository, paths: Sequence[str]) -> dict[str, tuple[TreeEntry, ...]]:
    """Entries at exactly these paths; an unmerged one has several, an intent to add is no match."""
    found: dict[str, tuple[TreeEntry, ...]] = {}
    for some in batches([repo.prefix.whole(path) for path in paths]):
        listed = text(repo.git.run("ls-files", "-s", "-z", "--full-name", "--", *some))
        for line in listed.split("\0")[:-1]:
            head, _, whole = line.partition("\t")
            mode, sha, stage = head.split(" ")
            path = repo.prefix.inside(whole)
            entry = TreeEntry(int(mode, 8), sha if stage == "0" else f"stage {stage}")
            found[path] = (*found.get(path, ()), entry)
    return {path: found[path] for path in paths if path in found}


def _replace_entries(repo: Repository, entries: Mapping[str, tuple[TreeEntry, ...] | None]) -> bool:
    """Write entries; False when another process holds the index."""
    ordered = sorted(entries.items(), key=lambda item: item[1] is not None)
    lines = [
        raw(
            f"{entry[0].mode:o} {entry[0].sha} 0\t{repo.prefix.whole(path)}"
            if entry
            else f"0 {repo.zeros()}\t{repo.prefix.whole(path)}"
        )
        for path, entry in ordered
    ]
    answer = (
        repo.quiet()
        .with_settings(DURABLE)
        .ask("update-index", "-z", "--index-info", stdin=b"\0".join(lines) + b"\0")
    )
    if answer.exit and "index.lock" not in answer.said:
        raise GitError("update-index", answer.said, answer.exit)
    return answer.exit == 0
