"""What knows the plans that tasks have of their own, made for a run, or for looking ahead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.run.planned.task_plans import TaskPlans

if TYPE_CHECKING:
    from runner.repo.read import Repository
    from runner.run.preparation import Preparation
    from runner.run.review import Asker


def task_plans(
    preparation: Preparation,
    repository: Repository,
    asker: Asker | None = None,
    *,
    only: bool = False,
) -> TaskPlans:
    """Of this preparation: with its settings, its journal, and who it says implements a task."""
    return TaskPlans(
        root=preparation.root,
        settings=preparation.settings,
        ledger=preparation.ledger,
        repository=repository,
        implementer=preparation.implementer,
        asker=asker,
        only=only,
    )
