"""Time the parts of an attempt that are not commands of its proof."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from runner import effects
from runner.journal.events import StageCompleted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.run.assignment import Assignment, WorkerContext

_LEAST = 0.5
"""Minimum seconds of a part with its own line: shorter ones delay nobody."""
_LEAST_OTHER, _LEAST_ATTEMPT = 0.2, 1.0
"""Minimum seconds of all shorter parts together, and of the attempt, to get a line."""
_NAMED: ContextVar[list[float]] = ContextVar("named")
"""Seconds of this attempt that already have a line; per worker thread."""


@contextmanager
def measure_attempt(assignment: Assignment, site: WorkerContext) -> Iterator[None]:
    """Report the seconds of an attempt that none of its parts has a line for, as one part."""
    began, named = effects.monotonic(), list[float]()
    before = _NAMED.set(named)
    try:
        yield
    finally:
        _NAMED.reset(before)
    whole = effects.monotonic() - began
    other = whole - sum(named)
    if whole >= _LEAST_ATTEMPT and other >= _LEAST_OTHER:
        _report(assignment, site, "other", other)


@contextmanager
def measure_stage(assignment: Assignment, site: WorkerContext, stage: str) -> Iterator[None]:
    """Report how long a part of the attempt takes."""
    began = effects.monotonic()
    yield
    report_stage(assignment, site, stage, effects.monotonic() - began)


def report_stage(assignment: Assignment, site: WorkerContext, stage: str, seconds: float) -> None:
    """Report a part of the attempt that took so long."""
    if seconds >= _LEAST:
        count_named(seconds)
        _report(assignment, site, stage, seconds)


def count_named(seconds: float) -> None:
    """Count seconds that have a line."""
    _NAMED.get([]).append(seconds)  # outside of an attempt they are counted nowhere


def _report(assignment: Assignment, site: WorkerContext, stage: str, seconds: float) -> None:
    event = StageCompleted(stage=stage, seconds=round(seconds, 3))
    site.workers.report(assignment.task.id, assignment.attempt, event)
