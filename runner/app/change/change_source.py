"""Read the change in question: named paths, a diff from a revision, or a landed task."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.errors import RunnerError
from runner.impact.change import Changed
from runner.writes.safe_io import InTheWay, read_below

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from runner.repo.read import Repository
    from runner.repo.trees import TreeChange

_PLAIN = frozenset({0o100644, 0o100755})


def of_working_tree(repository: Repository) -> tuple[Changed, ...]:
    """Return the changes against HEAD, staged or not, including untracked files."""
    state = repository.state()
    dirty = (one.path for one in state.dirty)
    head = repository.head().commit or "HEAD"
    return tuple(_against(repository, head, (*dirty, *state.untracked)))


def since(repository: Repository, revision: str) -> tuple[str, tuple[Changed, ...]]:
    """Return the commit of a revision and the working tree's differences from it.

    Raises RunnerError for a revision that git does not know.
    """
    commit = repository.resolve(revision)
    if commit is None:
        hint = "name a commit, a branch or a tag"
        raise RunnerError(f'unknown revision "{revision}"', hint=hint)
    head = repository.head().commit
    # Three lists: git compares two commits, or HEAD with the files; neither includes new files.
    landed = (one.path for one in repository.diff_trees(commit, head))
    state = repository.state()
    paths = (*landed, *(one.path for one in state.dirty), *state.untracked)
    return commit, tuple(_against(repository, commit, paths))


def of_paths(repository: Repository, paths: Iterable[str]) -> tuple[Changed, ...]:
    """Return the changes of the named files against HEAD; an unchanged file counts as a whole.

    A folder stands for the files in it. Raises RunnerError for a path that is and was no file.
    """
    found: list[Changed] = []
    head = repository.head().commit or "HEAD"
    for path in paths:
        inside = _below(repository, path)
        for one in _against(repository, head, inside or (path,)):
            if one.before is None and one.after is None:
                raise RunnerError("file not found", where=path)
            whole = Changed(one.path, one.before, one.after, is_whole=True)
            found.append(one if one.before != one.after else whole)
    return tuple(dict.fromkeys(found))


def of_commit(repository: Repository, commit: str) -> tuple[Changed, ...]:
    """Return the changes of one commit against its first parent."""
    parent = repository.resolve(f"{commit}^")
    changes = repository.diff_trees(parent, commit)
    return tuple(
        Changed(
            one.path,
            _plain_content(repository, one, old=True),
            _plain_content(repository, one, old=False),
        )
        for one in changes
        if not one.path.startswith("../")
    )


def _below(repository: Repository, path: str) -> tuple[str, ...]:
    """Return the tracked files in a folder at HEAD; empty if the path is not a folder."""
    if not (repository.root / path).is_dir():
        return ()
    folder = path.rstrip("/") + "/" if path.rstrip("/") not in ("", ".") else ""
    head = repository.head().commit
    listed = repository.list_tree(head) if head else ()
    return tuple(one for one in listed if one.startswith(folder))


def _against(repository: Repository, commit: str, paths: Iterable[str]) -> Iterator[Changed]:
    """Yield each path's content in the commit and in the working tree; skip outside paths."""
    for path in dict.fromkeys(paths):
        if path.startswith("../"):
            continue
        before = repository.blob(commit, path)
        try:
            after = read_below(repository.root, path)
        except InTheWay:
            after = None  # a link, or a folder where there was a file: the file is gone
        yield Changed(path, before, after)


def _plain_content(repository: Repository, change: TreeChange, *, old: bool) -> bytes | None:
    mode = change.old_mode if old else change.new_mode
    sha = change.old_sha if old else change.new_sha
    return repository.content(sha) if mode in _PLAIN else None
