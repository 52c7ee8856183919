"""Whose commits are whose, where several plans stand in one repository.

Each plan numbers its tasks from one: a commit says of which folder's it is. One of the top says
nothing, as those of the first versions; and so may nothing of a folder, which its files tell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.repo.git import text
from runner.repo.trailers import PROJECT, value_as_read

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from runner.repo.git import Git
    from runner.repo.trees import Prefix


def name_project(prefix: Prefix) -> str:
    """What a commit of a project's tasks says of it; nothing at the repository's top."""
    return value_as_read(prefix.value.rstrip("/"))


def is_own(prefix: Prefix, trailers: Mapping[str, Sequence[str]], *, outside: bool) -> bool:
    """Whether what a commit tells is of the project's tasks.

    `outside` is whether it changed a file that does not lie in the project's folder.
    """
    named, own = tuple(trailers.get(PROJECT, ()))[-1:], name_project(prefix)
    return named[0] == own if named else not (own and outside)


def make_own_test(
    git: Git, prefix: Prefix, unnamed: Iterable[str]
) -> Callable[[str, Mapping[str, Sequence[str]]], bool]:
    """The same of commits by their names; git is asked once for all that name no project."""
    outside = _find_outside(git, prefix, list(unnamed)) if prefix.value else frozenset()
    return lambda commit, trailers: is_own(prefix, trailers, outside=commit in outside)


def is_unnamed(message: bytes) -> bool:
    """Whether a commit's message names no project, as far as one look tells."""
    return f"\n{PROJECT}: ".encode() not in message


def _find_outside(git: Git, prefix: Prefix, commits: Sequence[str]) -> frozenset[str]:
    """Those of these commits that changed a file outside of the project's folder."""
    if not commits:
        return frozenset()
    out = git.run(
        # --root: of the first commit, which has no parent, it would say nothing otherwise
        # (git-diff-tree(1)).
        *("diff-tree", "--stdin", "--root", "-r", "-z", "--raw", "--no-renames"),
        *("--no-ext-diff", "--no-textconv", "--no-color"),
        stdin="".join(f"{commit}\n" for commit in commits).encode("ascii"),
    )
    found: set[str] = set()
    commit, fields = "", iter(text(out).split("\0"))
    for one in fields:
        if not one.startswith(":"):
            commit = one.strip()
        elif not next(fields, "").startswith(prefix.value):
            found.add(commit)
    return frozenset(found)
