"""How test contracts did before, as the journal tells: what fails soonest is run first."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from runner.impact.inputs import Past
    from runner.journal.task_state import TaskState
    from runner.model import Task


def past_of(states: Mapping[str, TaskState], tasks: Iterable[Task]) -> Past:
    """How long each test contract took last, and how often it failed since."""
    from runner.impact.inputs import Past, Proven

    seconds: dict[Proven, float] = {}
    failures: dict[Proven, int] = {}
    for task in tasks:
        known = states.get(task.id)
        for proof in known.proofs if known else ():
            seconds[Proven(task.id, proof.id)] = proof.seconds
        for attempt in known.tries if known else ():
            for check in attempt.checks:
                one = Proven(task.id, check)
                failures[one] = failures.get(one, 0) + 1
    return Past(seconds, failures)
