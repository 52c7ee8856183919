"""The setting and field Assurance: work below grade `independent` waits for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.model import Finding, Severity
from runner.model.grades import grade_of
from runner.model.work import items_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from runner.config.settings import Settings
    from runner.model import Proof, Task

CHECK = "assurance"
"""Check name of a question about work whose grade is too low."""
NO_ITEMS = "assurance needs acceptance IDs, but no line of Acceptance has an ID"
ITEMS_HINT = "write one line of Acceptance for each item: - A1: what must hold"
WAYS = "hold out tests, set Test author, or let another model review each item"
"""How a task can reach the grade."""


def find_lack(proofs: Iterable[Proof]) -> Finding | None:
    """Return the question about work that is not `independent`; None where it is."""
    if grade_of(proofs).is_independent:
        return None
    return Finding(
        CHECK,
        "assurance needs independent evidence, but the acceptance items have none",
        severity=Severity.QUESTION,
        hint=f"{WAYS}; or approve the work with its current grade",
    )


def wants_independence(task: Task, settings: Settings) -> bool:
    """Return whether a task's work must be `independent`: the plan may only ask for more."""
    return "independent" in (settings.proof.assurance, task.assurance)


def lacks_items(task: Task, settings: Settings) -> bool:
    """Return whether a task can never be `independent` as it is written, and must be."""
    return wants_independence(task, settings) and task.writes_anything and not items_of(task)
