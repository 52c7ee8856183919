"""Commits of several tasks, one on another, that reach the branch in one step or not at all."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from runner.journal.events import TaskLanded, TaskLanding
from runner.run.landing.git_locks import move_branch
from runner.run.landing.lander import Made, Moved, changes_between

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runner.model import Outcome, Task
    from runner.run.landing.lander import Lander, Result


@dataclass(frozen=True, slots=True)
class Link:
    """A task's proven outcome, and its commit on the one before; a check has none of its own."""

    task: Task
    outcome: Outcome
    how: str
    commit: str
    """The outcome's commit; the one before where it changed nothing."""
    tree: str

    @property
    def own_commit(self) -> str:
        """The task's commit, empty where it changed nothing."""
        return self.commit if self.outcome.changes else ""


def link(lander: Lander, task: Task, outcome: Outcome, parent: str, how: str) -> Link:
    """Make a member's commit; it is on no branch yet."""
    if not outcome.changes:
        return Link(task, outcome, how, parent, outcome.tree)
    made = lander.commit(task, outcome, parent or None, how)
    return Link(task, outcome, how, made.sha, made.tree)


def land_chain(lander: Lander, links: Sequence[Link]) -> Result:
    """Swap the branch to the last commit, then write the files of all of them.

    The journal's `task.landing` is about the last commit, from the head of before. After a crash
    it is completed as any other landing; the members before it are found by their trailers.
    """
    lander.catch_up()
    head = lander.repository.head()
    tip = next(one for one in reversed(links) if one.outcome.changes)
    changes = changes_between(lander.repository, head.commit, tip.commit)
    together = replace(tip.outcome, base=links[0].outcome.base, changes=changes)
    refusal = lander.refusal(head, together)
    if refusal is not None:
        return refusal
    if (head.commit or "") != together.base:  # by documents alone, yet the commits stand elsewhere
        return Moved(head.commit or "")
    lander.ledger.note(
        TaskLanding(
            tree=tip.tree,
            parent=head.commit or "",
            commit=tip.commit,
            paths=tuple(change.path for change in changes),
            review=tip.how,
        ),
        task=tip.task.id,
        attempt=tip.outcome.attempt,
        durable=True,
    )
    if not move_branch(lander.repository, head, tip.commit):
        return Moved(lander.repository.head().commit or "")
    for one in links:
        if one.own_commit and one is not tip:
            paths = tuple(change.path for change in one.outcome.changes)
            landed = TaskLanded(commit=one.commit, tree=one.tree, paths=paths)
            attempt = one.outcome.attempt
            lander.ledger.note(landed, task=one.task.id, attempt=attempt, durable=True)
    made = Made(tip.commit, tip.tree, head.commit)
    own = tuple(change.path for change in tip.outcome.changes)
    return lander.finish(tip.task.id, tip.outcome.attempt, made, changes, own)
