"""The parts of an attempt that are no command of its proof, told where a person waits for them."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from runner import effects
from runner.journal.events import StageCompleted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.run.assignment import Assignment, WorkerContext

_LEAST = 0.5
"""Seconds from which on a part has a line of its own: shorter ones keep nobody waiting."""


@contextmanager
def measure_stage(assignment: Assignment, site: WorkerContext, stage: str) -> Iterator[None]:
    """Report how long a part of the attempt takes."""
    began = effects.monotonic()
    yield
    tell_stage(assignment, site, stage, effects.monotonic() - began)


def tell_stage(assignment: Assignment, site: WorkerContext, stage: str, seconds: float) -> None:
    """Report a part of the attempt that took so long."""
    if seconds >= _LEAST:
        event = StageCompleted(stage=stage, seconds=round(seconds, 3))
        site.crew.report(assignment.task.id, assignment.attempt, event)
