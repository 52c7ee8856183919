"""Annotated tags: made once, on a commit, and never moved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.errors import ExitCode, RunnerError
from runner.repo.commit import DURABLE

if TYPE_CHECKING:
    from runner.repo.read import Repository


def tag_exists(repo: Repository, name: str) -> bool:
    """Whether a tag of this name is there, whatever it is on."""
    return repo.git.ask("rev-parse", "-q", "--verify", f"refs/tags/{name}").exit == 0


def free_tag(repo: Repository, name: str) -> str:
    """The name, or the first of `name-2`, `name-3` … that no tag has."""
    number, found = 1, name
    while tag_exists(repo, found):
        number += 1
        found = f"{name}-{number}"
    return found


def require_free(repo: Repository, name: str) -> None:
    """Raise RunnerError for a name that git does not take, or that a tag has already."""
    asked = repo.git.ask("check-ref-format", f"refs/tags/{name}")
    if asked.exit or name.startswith("-"):
        raise RunnerError("git takes no tag of this name", where=name, hint="such as v1.0.0")
    if tag_exists(repo, name):
        raise RunnerError(
            "there is a tag of this name already, and it stays where it is",
            where=name,
            hint="choose another name: runner ship --tag NAME",
            code=ExitCode.CONFLICT,
        )


def make_tag(repo: Repository, name: str, commit: str, message: str) -> None:
    """Make an annotated tag, durably; raises GitError where one is there by now."""
    who = repo.identity()
    git = repo.git.with_settings(DURABLE, ("tag.gpgSign", "false")).with_settings(
        GIT_COMMITTER_NAME=who.name, GIT_COMMITTER_EMAIL=who.email
    )
    git.run(
        *("tag", "--annotate", "--cleanup=verbatim", "--file=-", "--end-of-options", name, commit),
        stdin=message.encode(),
    )
