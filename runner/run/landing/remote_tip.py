"""Whether the branch here and the remote's are the same commit, as a landing on both needs it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.errors import ExitCode
from runner.repo.remote import PublishError
from runner.text.display import display

if TYPE_CHECKING:
    from runner.repo.head import Head
    from runner.repo.read import Repository

PUBLISHING = "refs/worktree/runner/publishing"
"""The commit that was last to be pushed: what a crash left in the remote alone is known by it."""


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
    """Whether this clone has a commit."""
    return repository.git.ask("cat-file", "-e", f"{commit}^{{commit}}").exit == 0


def is_cut_off(repository: Repository, head: Head, tip: str) -> bool:
    """Whether the remote is one commit of our own ahead, which a crash kept from here."""
    if repository.resolve(PUBLISHING) != tip:
        return False
    return repository.resolve(f"{tip}^") == head.commit
