"""The record commit at the end of a run: the runner's documents, no person's unsaved edits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from runner.repo.commit import commit_tree
from runner.repo.remote import PublishError
from runner.repo.trailers import build_message, parse_message
from runner.run.landing.git_locks import bring_index, move_branch

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

    def content_to_commit(self, committed: bytes, working: bytes) -> bytes:
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
    When another branch is checked out, the branch moves under us, or that of a remote that it is
    published to does not, nothing is committed: the next run records it.
    """
    head = repository.head()
    if head.ref != branch.ref:
        return None
    writes = [write for one in documents if (write := _write(repository, root, head, one))]
    trailers = tuple(trailers)
    if not writes and not trailers:
        return None
    message = build_message(SUBJECT, "", trailers)
    says = bool(trailers)
    commit = commit_tree(repository, head.commit, writes, message, names_files=says)
    try:
        if not move_branch(repository, head, commit.sha, "runner: record"):
            return None
    except PublishError:
        return None
    bring_index(repository, [write.path for write in writes], head.commit, commit.sha)
    return commit.sha


def follow(repository: Repository, documents: Iterable[str]) -> None:
    """Bring the index after a record commit that a crash cut off from it; may be repeated."""
    head = repository.head().commit
    if head is not None:
        bring_index(repository, tuple(documents), repository.resolve(f"{head}^"), head)


def find_checked_in(repository: Repository, since: str) -> frozenset[str]:
    """What record commits between `since` and HEAD already say of tasks without a commit."""
    head = repository.head().commit
    if head is None:
        return frozenset()
    tips = (head, f"^{since}") if since and repository.resolve(since) else (head,)
    said = repository.git.run(
        *("log", "-z", "--no-color", "--no-show-signature", "--no-notes", "--format=%B"),
        *("--fixed-strings", "--grep=Checked: ", "--end-of-options", *tips, "--"),
    )
    messages = said.decode("utf-8", "replace").split("\0")
    return frozenset(
        line for one in messages for line in parse_message(one).trailers.get("Checked", ())
    )


def _write(repository: Repository, root: Path, head: Head, document: Document) -> _Write | None:
    try:
        working = (root / document.path).read_bytes()
    except FileNotFoundError:
        return None
    committed = repository.blob(head.commit, document.path) if head.commit else None
    if committed is None and not document.ours:
        return None
    content = document.content_to_commit(committed or b"", working)
    if content == (committed or b""):  # also: a file nobody has committed, with nothing of ours
        return None
    if committed is None:
        return _Write(document.path, 0o100644, content)
    entry = repository.tree_entries(head.commit, [document.path]).get(document.path)
    return _Write(document.path, entry.mode if entry else 0o100644, content)
