"""Whether a person's repository can be built in now, and what of it tasks will not see."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.errors import RunnerError
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.repo.read import Repository
    from runner.repo.state import RepoState

_SHOWN = 10


def require_suitable(
    repository: Repository, own: frozenset[str], *, allow_dirty: bool
) -> tuple[str, ...]:
    """Lines to show before a run: what is not carried into scratch trees.

    Raises RunnerError for uncommitted changes of tracked files and for a merge in progress.
    """
    facts = repository.state()
    if facts.ongoing:
        raise RunnerError(
            f"a {facts.ongoing} is in progress",
            hint=f"finish it (git {facts.ongoing} --continue) or give it up (--abort)",
        )
    dirty = [file.path for file in facts.dirty if file.path not in own]
    if dirty and not allow_dirty:
        raise RunnerError(
            "there are uncommitted changes",
            detail=_listed(dirty),
            hint="commit them, or --allow-dirty to build on HEAD without them",
        )
    return tuple(_notices(facts, repository, own, dirty))


def _notices(
    facts: RepoState, repository: Repository, own: frozenset[str], dirty: list[str]
) -> Iterator[str]:
    if dirty:
        yield f"not seen by tasks, since not committed:\n{_listed(dirty)}"
    untracked = [path for path in facts.untracked if path not in own]
    if untracked:
        yield f"not seen by tasks, since untracked:\n{_listed(untracked)}"
    if facts.head.detached:
        yield "HEAD is detached: commits land on it alone (git switch -c NAME keeps them)"
    if facts.submodules:
        yield f"submodules are not carried into scratch trees: {', '.join(facts.submodules)}"
    if facts.lfs:
        yield "files under Git LFS are seen as their pointers, and cannot be written by tasks"
    if facts.autocrlf:
        yield "line ends are converted on checkout: tasks see and land what git stores"
    if facts.sparse:
        yield "the checkout is sparse: tasks see the whole tree"
    who = repository.identity()
    if who.invented:
        yield f"git knows no user.name: commits are made as {who.name} <{who.email}>"


def _listed(paths: list[str]) -> str:
    lines = [f"  {display(path)}" for path in paths[:_SHOWN]]
    if len(paths) > _SHOWN:
        lines.append(f"  … and {len(paths) - _SHOWN} more")
    return "\n".join(lines)
