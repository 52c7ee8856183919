"""Held changes that break other tasks, where what they rest on is taken back: they are let go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.run.landing.drafts import let_go
from runner.run.regressions.regression import give_back, is_held, victims

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from runner.journal.state import RunState
    from runner.repo.read import Repository
    from runner.run.landing.lander import Lander


def find_held_on(state: RunState, taken_back: Collection[str]) -> Iterator[str]:
    """Tasks whose held change is made on some tasks' work, or breaks one of them."""
    for known in state.tasks.values():
        concerned = {known.id, *victims(known.findings)}
        if is_held(known) and not concerned.isdisjoint(taken_back):
            yield known.id


def find_held_behind(repository: Repository, state: RunState, checkpoint: str) -> Iterator[str]:
    """Tasks whose held change is made on a tree that came after a checkpoint."""
    for known in state.tasks.values():
        base = known.held.base if known.held and is_held(known) else checkpoint
        if base != checkpoint and repository.is_ancestor(checkpoint, base):
            yield known.id


def release(lander: Lander, tasks: Iterable[str]) -> None:
    """Forget the bytes that are held for tasks, the drafts stay; what they broke is DONE again.

    May be repeated: of a task of which nothing is held, nothing is done.
    """

    def forget(task: str) -> None:
        let_go(lander.repository, task)
        lander.staging.remove(lander.staging.list(task))

    for id_ in tasks:
        if is_held(lander.ledger.state.task(id_)):
            give_back(id_, lander.ledger, forget)
