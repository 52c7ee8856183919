"""Merge a task's changes from their base onto a newer commit."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from runner.config.temporary_folders import TemporaryFolder
from runner.errors import ExitCode, RunnerError
from runner.model import Action, Change, digest_of
from runner.repo.alternates import lay_out
from runner.repo.git import Git, GitError, ObjectReader, text
from runner.repo.trees import FOLDER, TreeEntry, tree_entries

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from runner.repo.read import Repository


_FAILED = 255
"""Exit code of git-merge-file(1) for an error; lower ones count conflicts."""
_LOOKED_AT = 8000
"""Bytes in which a NUL marks a binary file for git (xdiff-interface.c)."""


class MergedChanges(Struct, frozen=True):
    """Changes restated against the new base; `conflicts` are paths that a person must see."""

    changes: tuple[Change, ...]
    conflicts: tuple[str, ...]


class _Sides(Struct, frozen=True):
    """The content of both bases at the changed paths and at the folders above them."""

    git: Git
    reader: ObjectReader
    old: Mapping[str, TreeEntry]
    new: Mapping[str, TreeEntry]
    deleted: frozenset[str]


def carry(
    repository: Repository, bases: tuple[str | None, str | None], changes: Sequence[Change]
) -> MergedChanges:
    """Carry changes from the old base to the new one, path by path; empty is no commit.

    A path that is the same in both takes ours. One that they changed too is merged by lines
    (git-merge-file(1)); binary files, deletions against changes, files against folders and
    different modes are conflicts.
    """
    paths = sorted({above for change in changes for above in _with_parents(change.path)})
    # in git's own folder, where no work tree files interfere with the line merge
    git = Git(repository.folders.git, {"GIT_DIR": str(repository.folders.git)})
    old, new = (tree_entries(git, repository.prefix, base or None, paths) for base in bases)
    deleted = frozenset(change.path for change in changes if change.content is None)
    reader = ObjectReader(git)
    try:
        sides = _Sides(git, reader, old, new, deleted)
        results = [(change, _carry(sides, change)) for change in changes]
    finally:
        reader.close()
    return MergedChanges(
        changes=tuple(made for _, made in results if isinstance(made, Change)),
        conflicts=tuple(change.path for change, made in results if made == "conflict"),
    )


def _with_parents(path: str) -> Iterator[str]:
    while path:
        yield path
        path = path.rpartition("/")[0]


def _carry(sides: _Sides, change: Change) -> Change | str:
    """Return the change on the new base, `conflict`, or `same` if it is already there."""
    old, new = sides.old.get(change.path), sides.new.get(change.path)
    if change.content is not None and _is_blocked(sides, change.path):
        return "conflict"
    if new == old:
        return change
    theirs = _content(sides, new)
    if change.content is None:
        return "same" if new is None else "conflict"
    if new is None:
        return "conflict"
    if (theirs, new.mode) == (change.content, change.mode):
        return "same"
    return _by_lines(sides, change, theirs)


def _is_blocked(sides: _Sides, path: str) -> bool:
    """Return whether a file and a folder conflict at a path."""
    here = sides.new.get(path)
    if here is not None and here.mode == FOLDER and here != sides.old.get(path):
        return True
    above = [folder for folder in _with_parents(path) if folder != path]
    return any(
        folder in sides.new and sides.new[folder].mode != FOLDER and folder not in sides.deleted
        for folder in above
    )


def _by_lines(sides: _Sides, change: Change, theirs: bytes | None) -> Change | str:
    old, new = sides.old.get(change.path), sides.new[change.path]
    base = _content(sides, old)
    if old is None or base is None or theirs is None or change.content is None:
        return "conflict"
    mode = _merge_mode(old.mode, change.mode, new.mode)
    if mode is None:
        return "conflict"
    merged = _merge_file(sides.git, change.content, base, theirs)
    if merged is None:
        return "conflict"
    before = digest_of(theirs)
    return Change(change.path, Action.MODIFY, mode, before, digest_of(merged), merged)


def _merge_mode(old: int, ours: int, theirs: int) -> int | None:
    """Return the merged mode; None for a link or other special file."""
    if not {old, ours, theirs} <= {0o100644, 0o100755}:
        return None
    return theirs if ours == old else ours


def _content(sides: _Sides, entry: TreeEntry | None) -> bytes | None:
    found = sides.reader.read(entry.sha) if entry and entry.mode != FOLDER else None
    return found[1] if found and found[0] == "blob" else None


def _merge_file(git: Git, ours: bytes, base: bytes, theirs: bytes) -> bytes | None:
    """Return the merged bytes, or None for a conflict or binary content. Raises GitError."""
    # git-merge-file(1) returns 255 for binary files and for all errors; so detect them first.
    if any(b"\0" in content[:_LOOKED_AT] for content in (ours, base, theirs)):
        return None
    with tempfile.TemporaryDirectory(dir=git.folder) as folder:
        files = [Path(folder, name) for name in ("task", "base", "landed")]
        for file, content in zip(files, (ours, base, theirs), strict=True):
            file.write_bytes(content)
        answer = git.ask("merge-file", "-p", "--quiet", *(str(file) for file in files))
    if answer.exit == _FAILED:
        raise GitError("merge-file", answer.stderr, answer.exit)
    return answer.out if answer.exit == 0 else None


_CONFLICT = 1
"""Exit code of git-merge-tree(1) for a merge with conflicts."""
_USAGE = 129
"""Exit code of git for unknown options (usage.c)."""
_WHO = {
    f"GIT_{role}_{part}": value
    for role in ("AUTHOR", "COMMITTER")
    for part, value in (("NAME", "runner"), ("EMAIL", "runner@localhost"))
}


class MergeResult(Struct, frozen=True):
    """Two commits and what comes of merging them."""

    base: str
    head: str
    commit: str
    """Merged commit: one of the two if it contains the other; empty for a conflict."""
    conflicts: tuple[str, ...] = ()
    """Paths, relative to the project, that a person has to merge."""


def merge_commits(repository: Repository, base: str, head: str) -> MergeResult:
    """Merge `head` into `base` without touching work tree, index or any ref.

    New objects are loose ones that nothing holds: git's own collection takes them away in time.
    Raises RunnerError where the commits have no common history here, or git is too old.
    """
    if repository.is_ancestor(base, head):
        return MergeResult(base, head, head)
    if repository.is_ancestor(head, base):
        return MergeResult(base, head, base)
    if repository.merge_base(base, head) is None:
        raise _make_unrelated(repository)
    with TemporaryFolder("merge") as box:
        git = _git_apart(repository, Path(box))
        words = ("merge-tree", "--write-tree", "--name-only", "--no-messages", "-z")
        answer = git.ask(*words, base, head)
        if answer.exit == _USAGE:
            hint = "install git 2.38 or newer; check with git --version"
            raise RunnerError(
                "this git is too old for `runner gate`, which merges with it", hint=hint
            )
        if answer.exit not in (0, _CONFLICT):
            raise GitError("merge-tree", answer.stderr, answer.exit)
        # The tree name comes first, then paths with conflicts (git-merge-tree(1), output); messages
        # are turned off, so nothing follows.
        tree, *paths = text(answer.out).split("\0")
        if answer.exit == _CONFLICT:
            inside = (repository.prefix.inside(path) for path in paths if path)
            return MergeResult(base, head, "", tuple(dict.fromkeys(inside)))
        message = f"Merge {head} into {base}"
        commit = git.line("commit-tree", "-p", base, "-p", head, "-m", message, tree.strip())
    return MergeResult(base, head, commit)


def _git_apart(repository: Repository, box: Path) -> Git:
    """Create Git in a folder with only our configuration, on the repository's objects."""
    lay_out(box, repository.lender(), (), "ref: refs/heads/none")
    (box / "info" / "attributes").write_bytes(b"")  # ours for scratch trees say `-merge`
    # merging the same two commits gives the same commit: its proofs stay valid
    when = {f"GIT_{role}_DATE": "1700000000 +0000" for role in ("AUTHOR", "COMMITTER")}
    place = {"GIT_DIR": str(box), "GIT_OBJECT_DIRECTORY": str(repository.folders.objects)}
    return Git(box, {**_WHO, **when, **place}, alone=True)


def _make_unrelated(repository: Repository) -> RunnerError:
    if (repository.folders.common / "shallow").is_file():
        return RunnerError(
            "this clone is too shallow: it lacks the merge base of target branch and head",
            hint="git fetch --unshallow; in GitHub Actions: actions/checkout with fetch-depth: 0",
        )
    return RunnerError(
        "target branch and pull request share no history",
        hint="name the target branch: --base REV",
        code=ExitCode.PERSON,
    )
