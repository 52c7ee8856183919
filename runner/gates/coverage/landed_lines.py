"""Which lines of the work tree are a landed task's own: git knows who wrote each."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runner.gates.test_paths import is_test_path
from runner.repo.git import text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from runner.repo.read import Repository

_HEAD = re.compile(r"([0-9a-f]{40}|[0-9a-f]{64}) \d+ (\d+)(?: \d+)?")
_SETTINGS = (("blame.ignoreRevsFile", ""),)
"""A file that a clone brought must not decide who wrote what."""


def commits_of(task_id: str, repository: Repository) -> tuple[str, ...]:
    """The commits that landed a task, newest first."""
    head = repository.head().commit
    if not head:
        return ()
    told = repository.log_trailers(head)
    return tuple(one.commit for one in told if one.task == task_id and not one.checked)


def own_lines(
    commits: Collection[str], paths: Iterable[str], repository: Repository
) -> dict[str, set[int]]:
    """Lines by these commits; in `paths` also those that no commit has yet."""
    written = {
        change.path
        for commit in commits
        for change in repository.diff_trees(repository.resolve(f"{commit}^"), commit)
    }
    open_ones = set(paths)
    found = {}
    for path in sorted(written | open_ones):
        file = repository.root / path
        if is_test_path(path) or file.is_symlink() or not file.is_file():
            continue
        new = {"0" * 40, "0" * 64} if path in open_ones else set()
        lines = _blame_lines(path, {*commits, *new}, repository)
        if lines:
            found[path] = lines
    return found


def _blame_lines(path: str, commits: Collection[str], repository: Repository) -> set[int]:
    """Numbers of a file's lines that are by one of these commits (git-blame(1), porcelain)."""
    git = repository.quiet().with_settings(*_SETTINGS)
    whole = repository.prefix.whole(path)
    answer = git.ask("blame", "--porcelain", "--no-textconv", "--", whole)
    if answer.exit:  # git does not know the file: all of it is new
        count = (repository.root / path).read_bytes().count(b"\n") + 1
        return set(range(1, count + 1)) if "0" * 40 in commits else set()
    heads = (_HEAD.fullmatch(row) for row in text(answer.out).split("\n"))
    return {int(match[2]) for match in heads if match and match[1] in commits}
