"""What may have broken a tree that falls short: what landed on it, and what people committed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.history.commit_log import story
from runner.repo.git import GitError
from runner.secrets.redact import redact
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.journal.state import RunState
    from runner.repo.read import Repository
    from runner.run.proof.verification import Verified

_NAMED = 3
"""Commits of people that are named; more are only counted."""
_SUBJECT = 60


def name_causes(task: str, verified: Verified, state: RunState, repository: Repository) -> str:
    """`last landed TASK-005 (3f2a1b…)` and what people committed since the task's proof was good.

    That is the last tree that was proven as a whole, or its own landing behind that. A landing
    that the tree held already is no cause.
    """
    whole = "" if state.failed_tree else state.whole_head
    own, last = state.task(task).commit, state.last_landing_head
    good = whole if whole and (not own or repository.is_ancestor(own, whole)) else own
    found: list[str] = []
    if not (last and good == whole and repository.is_ancestor(last, good)):
        found += _last_landing(verified, state)
    if good and repository.resolve(good):
        found += _committed_by_hand(repository, verified.head, good)
    return ", ".join(found)


def _last_landing(verified: Verified, state: RunState) -> Iterator[str]:
    commit = state.last_landing_head
    task = next((one.task for one in verified.tasks if state.task(one.task).commit == commit), "")
    if task and commit:
        yield f"last landed {task} ({commit[:12]})"


def _committed_by_hand(repository: Repository, head: str, since: str) -> Iterator[str]:
    """The commits that are no landing, record or undo of the runner, newest first."""
    try:
        every = [one for one in story(repository, head, since=since) if not one.by_runner]
    except GitError:
        return  # git cannot read this history
    names = [
        f"{one.commit[:12]} ({display(redact(one.subject))[:_SUBJECT]})" for one in every[:_NAMED]
    ]
    more = f" and {len(every) - _NAMED} more" if len(every) > _NAMED else ""
    if names:
        yield f"committed outside runner: {', '.join(names)}{more}"
