"""Check whether local and remote branch are the same commit, before a landing on both."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.errors import ExitCode
from runner.repo.remote import PublishError
from runner.text.display import display

if TYPE_CHECKING:
    from runner.repo.head import Head
    from runner.repo.read import Repository

PUBLISHING = "refs/worktree/runner/publishing"
"""Last commit to be pushed: identifies what a crash left only in the remote."""


def require_same(repository: Repository, name: str, branch: str, tip: str | None) -> None:
    """Raise PublishError where the remote `name` has the branch elsewhere, or has it not."""
    head = repository.find_head()
    if tip is not None and (tip == head.commit or is_cut_off(repository, head, tip)):
        return
    branch, name = display(branch), display(name)
    if tip is None:
        raise PublishError(
            f"{name} has no branch {branch} yet",
            hint=f"git push {name} {branch}, then run again",
            code=ExitCode.PERSON,
        )
    if is_here(repository, tip) and repository.is_ancestor(tip, head.commit or ""):
        raise PublishError(
            f"{branch} has commits that {name} does not have: a landing would push them as well",
            hint=f"git push {name} {branch}, then run again",
            code=ExitCode.PERSON,
        )
    raise PublishError(
        f"{name} has commits of {branch} that are not here",
        hint=f"git pull --rebase {name} {branch}, then run again",
        code=ExitCode.CONFLICT,
    )


def is_here(repository: Repository, commit: str) -> bool:
    """Return whether this clone has a commit."""
    return repository.git.ask("cat-file", "-e", f"{commit}^{{commit}}").exit == 0


def is_cut_off(repository: Repository, head: Head, tip: str) -> bool:
    """Return whether the remote is one commit ahead that a crash kept from the local branch."""
    if repository.resolve(PUBLISHING) != tip:
        return False
    return repository.resolve(f"{tip}^") == head.commit
