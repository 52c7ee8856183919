"""A branch that a person finished, read as the changes that a task is to land."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.errors import ExitCode, RunnerError
from runner.repo.git import Git
from runner.repo.merge import carry
from runner.run.landing.drafts import IGNORE
from runner.run.landing.lander import changes_between

if TYPE_CHECKING:
    from runner.model import Change
    from runner.repo.read import Repository


@dataclass(frozen=True, slots=True)
class Adopted:
    """What a branch changes, restated against the commit that is checked out."""

    branch: str
    commit: str
    """The branch's tip as it was read."""
    changes: tuple[Change, ...]


def adopt(repository: Repository, branch: str) -> Adopted:
    """Read a branch. Raises RunnerError: it is not there, changes nothing, or does not fit HEAD."""
    head = repository.head().commit or ""
    commit = repository.resolve(f"refs/heads/{branch}") or repository.resolve(branch)
    if commit is None:
        raise RunnerError(f"there is no branch {branch}", hint="git branch --list 'draft/*'")
    base = _common(repository, head, commit)
    made = changes_between(repository, base or None, commit)
    changes = tuple(change for change in made if change.path != IGNORE)
    if not changes:
        raise RunnerError(
            f"{branch} changes nothing that is not here already",
            hint=f"git log {head[:12]}..{branch}",
        )
    # in git's own folder, where the files of a merge by lines are in nobody's way
    git = Git(repository.folders.git, {"GIT_DIR": str(repository.folders.git)})
    merged = carry(git, repository.prefix, (base or None, head or None), changes)
    if merged.conflicts:
        raise RunnerError(
            f"{branch} and {repository.head().shown} both changed {', '.join(merged.conflicts)}",
            hint=f"git switch {branch} && git merge {repository.head().shown}, then adopt it again",
            code=ExitCode.CONFLICT,
        )
    return Adopted(branch, commit, tuple(merged.changes))


def _common(repository: Repository, head: str, commit: str) -> str:
    """The newest commit that both come from; empty where they have none."""
    answer = repository.git.ask("merge-base", head, commit) if head else None
    return answer.out.decode().strip() if answer and not answer.exit else ""
