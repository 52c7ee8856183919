"""The record commit at the end of a run: the runner's documents, no person's unsaved edits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from runner.repo.commit import commit_tree, swap_branch
from runner.repo.index import sync_index
from runner.repo.trailers import build_message

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from runner.repo.head import Head
    from runner.repo.read import Repository

SUBJECT = "chore(runner): record"


class Document(Protocol):
    """A file that the runner writes into."""

    @property
    def path(self) -> str:
        """Relative to the project."""

    @property
    def ours(self) -> bool:
        """Whether the runner made the file: then it is committed though nobody added it."""

    def recorded(self, committed: bytes, working: bytes) -> bytes:
        """What is to be committed: the committed text (empty when there is none) plus our part."""


@dataclass(frozen=True, slots=True)
class _Write:
    path: str
    mode: int
    content: bytes


def record(
    repository: Repository,
    root: Path,
    branch: Head,
    documents: Sequence[Document],
    trailers: Iterable[tuple[str, str]] = (),
) -> str | None:
    """Commit what the runner wrote into its documents; gives the commit, or None for none.

    A person's tracked file is committed as HEAD has it plus our spans; an untracked one stays so.
    When another branch is checked out or the branch moves under us, nothing is committed: the next
    run records it.
    """
    head = repository.head()
    if head.ref != branch.ref:
        return None
    writes = [write for one in documents if (write := _write(repository, root, head, one))]
    trailers = tuple(trailers)
    if not writes and not trailers:
        return None
    commit = commit_tree(repository, head.commit, writes, build_message(SUBJECT, "", trailers))
    if not swap_branch(repository, head, head.commit, commit.sha, "runner: record"):
        return None
    sync_index(repository, [write.path for write in writes], head.commit, commit.sha)
    return commit.sha


def _write(repository: Repository, root: Path, head: Head, document: Document) -> _Write | None:
    try:
        working = (root / document.path).read_bytes()
    except FileNotFoundError:
        return None
    committed = repository.blob(head.commit, document.path) if head.commit else None
    if committed is None and not document.ours:
        return None
    content = document.recorded(committed or b"", working)
    if content == committed:
        return None
    entry = repository.tree_entries(head.commit, [document.path]).get(document.path)
    return _Write(document.path, entry.mode if entry else 0o100644, content)
