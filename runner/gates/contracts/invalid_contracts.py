"""Contracts of a plan that could not be checked as they are written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.gates.contracts.entries import problem_of
from runner.plan.diagnostic import Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from runner.model import Task
    from runner.plan.spans import Places


def unreadable(tasks: Iterable[Task], places: Places) -> Iterator[Problem]:
    """A mistake for each, at its place in the plan."""
    for task in tasks:
        for contract in task.contracts:
            refused = problem_of(contract)
            if refused:
                at = places.at_line(contract.line, contract.value.partition(" ")[0])
                yield Problem(
                    f"{task.id}: {refused.message}",
                    places.path,
                    at.line,
                    at.column,
                    refused.hint,
                    source_line=at.source_line,
                    width=at.width,
                )
