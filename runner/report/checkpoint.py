"""The full checkpoint that CHECKPOINT.md gets every few tasks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.report.status_line import NOT_APPLICABLE, patterns_applied
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Iterable

    from runner.model import Task

HEAD = "# Checkpoints\n\n"
"""The beginning of a new CHECKPOINT.md."""


@dataclass(frozen=True, slots=True)
class Criteria:
    """How many acceptance criteria a test contract names, and which none does."""

    named: int = 0
    unnamed: tuple[tuple[str, str], ...] = ()
    """(task, criterion)."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Everything a full checkpoint says."""

    number: int
    date: str
    """`2026-11-21`."""
    completed: tuple[tuple[str, str], ...]
    """(id, title) of the tasks finished since the last one."""
    pending: int
    blocked: tuple[tuple[str, str], ...] = ()
    """(id, why)."""
    stale: tuple[tuple[str, str], ...] = ()
    """(id, the change that made it so)."""
    patterns: tuple[tuple[str, str], ...] = ()
    """(id, title) of those applied in this batch, each once."""
    regressions: tuple[str, ...] | None = None
    """Failing checks of earlier tasks; None when none were run."""
    commit: str = ""
    """What landed last."""
    criteria: Criteria = Criteria()
    sast: tuple[tuple[str, str], ...] = ()
    """(task, counts) of scans that were pending in their task's status line."""


def full_checkpoint(checkpoint: Checkpoint) -> str:
    """The text to append, with an empty line before and after it."""
    lines = [
        f"=== Checkpoint {checkpoint.number} — {display(checkpoint.date)}",
        f"Completed since the last: {_format_tasks(checkpoint.completed)}",
        f"PENDING: {checkpoint.pending}",
        f"BLOCKED: {_format_count(checkpoint.blocked)}",
        f"STALE: {_format_count(checkpoint.stale)}",
        f"Patterns applied: {patterns_applied(checkpoint.patterns)}",
        f"Regression: {_regression(checkpoint.regressions)}",
        f"Last landed: {display(checkpoint.commit[:12]) or NOT_APPLICABLE}",
        f"Acceptance: {_criteria(checkpoint.criteria)}",
        *(f"- {display(task)}: {display(text)}" for task, text in checkpoint.criteria.unnamed),
        *(f"SAST of {display(task)}: {display(said)}" for task, said in checkpoint.sast),
    ]
    return "\n" + "\n".join(lines) + "\n\n"


def criteria_of(tasks: Iterable[Task]) -> Criteria:
    """Sort the acceptance criteria of tasks by whether one of the task's test contracts is named.

    A criterion names a contract by its id (`… (TC-002)`), or a contract's command holds the
    criterion's words as a test name (`test_an_end_before_its_start_is_refused`).
    """
    named, unnamed = 0, []
    for task in tasks:
        for criterion in task.acceptance:
            if _is_named(criterion, task):
                named += 1
            else:
                unnamed.append((task.id, criterion))
    return Criteria(named, tuple(unnamed))


def _is_named(criterion: str, task: Task) -> bool:
    words = "_".join(re.findall(r"\w+", criterion.lower()))
    return any(
        re.search(rf"(?<![\w-]){re.escape(contract.id)}(?![\w-])", criterion, re.IGNORECASE)
        or (words and words in contract.command.lower())
        for contract in task.test_contracts
    )


def _format_tasks(tasks: Iterable[tuple[str, str]]) -> str:
    said = [f"{display(task)} ({display(title)})" for task, title in tasks]
    return ", ".join(said) or NOT_APPLICABLE


def _format_count(tasks: tuple[tuple[str, str], ...]) -> str:
    said = "; ".join(f"{display(task)} ({display(why)})" for task, why in tasks)
    return f"{len(tasks)}" + (f" — {said}" if said else "")


def _regression(failing: tuple[str, ...] | None) -> str:
    if failing is None:
        return NOT_APPLICABLE
    return " ".join(f"❌ {display(check)}" for check in failing) or "✅ no cross-task failures"


def _criteria(criteria: Criteria) -> str:
    total = criteria.named + len(criteria.unnamed)
    if not total:
        return NOT_APPLICABLE
    return f"{criteria.named} of {total} criteria have a test contract that names them" + (
        ", these have none:" if criteria.unnamed else ""
    )
