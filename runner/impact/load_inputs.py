"""Gathers what is known of a repository, so that a change of it can be judged."""

from __future__ import annotations

from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from runner.impact.inputs import Knowledge, Past
from runner.impact.owners import Owners
from runner.impact.reverse_imports import Entry, References
from runner.impact.store import Store
from runner.impact.traces import Observations
from runner.model import digest_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from runner.model import Digest, Task
    from runner.repo.read import Repository

_KEPT_DIGESTS = 65_536


def knowledge_of(
    repository: Repository,
    cache: Path | None,
    tasks: Iterable[Task],
    treeish: str,
    *,
    owners: bytes | None,
    prefixes: tuple[str, ...] = (),
    breaking: Mapping[str, bool | None] = MappingProxyType({}),
    past: Past = Past(),  # noqa: B008 - frozen
) -> Knowledge:
    """What is known of the tree before a change (a commit, or a tree; empty for none).

    `cache` is the user's folder for this repository; `owners` the bytes of FILE_OWNERSHIP_MAP.md,
    None where there is none. Reads what has changed in git since it was asked last, and no more.
    `refresh` has it follow a landing.
    """
    store, references = _read(repository, cache, treeish)

    @lru_cache(maxsize=_KEPT_DIGESTS)
    def digest_of_blob(blob: str) -> Digest | None:
        content = repository.content(blob)
        return None if content is None else digest_of(content)

    def digest(path: str) -> Digest | None:
        blob = references.blob(path)  # of the tree that was read last: it follows each landing
        return digest_of_blob(blob) if blob else None

    def content(path: str) -> bytes | None:
        blob = references.blob(path)
        return repository.content(blob) if blob else None

    return Knowledge(
        tasks={task.id: task for task in tasks},
        owners=Owners(store, owners, prefixes),
        observed=Observations(store),
        references=references,
        digest=digest,
        content=content,
        breaking=breaking,
        past=past,
    )


def _read(repository: Repository, cache: Path | None, treeish: str) -> tuple[Store, References]:
    """The references of a tree; in memory alone where they cannot be kept."""
    store = Store(cache)
    references = References(store)
    refresh(references, repository, treeish)
    if store.lost and cache is not None:
        store.close()
        return _read(repository, None, treeish)
    repository.on_close(store.close)
    return store, references


def refresh(references: References, repository: Repository, treeish: str) -> int:
    """Read what differs from the tree that was read last; gives how many files were read."""
    tree = repository.tree_of(treeish)
    known = references.tree
    if known == tree:
        return 0
    if known and repository.git.ask("cat-file", "-e", f"{known}^{{tree}}").exit:
        known = ""  # git has thrown that tree away: all is read again
    entries = _entries(repository, known, tree)
    if known:
        return references.learn(entries, repository.content, tree)
    gone = (Entry(path, None) for path in references.blobs())
    return references.learn([*gone, *entries], repository.content, tree)


def _entries(repository: Repository, known: str, tree: str) -> Iterator[Entry]:
    """What differs between two trees: plain files as they are, everything else as gone."""
    for change in repository.diff_trees(known or None, tree):
        is_file = change.new_mode in {0o100644, 0o100755}
        if not change.path.startswith("../"):
            yield Entry(change.path, change.new_sha if is_file else None)
