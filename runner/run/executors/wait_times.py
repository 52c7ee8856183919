"""How long each party of a cluster is waited for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WaitTimes:
    """Seconds to wait before somebody counts as lost."""

    heartbeat: float = 20.0
    """For a sign of life of a worker."""
    scheduler: float = 15.0
    """For an answer of the scheduler."""
    workers: float = 300.0
    """For any worker at all: a cluster may grow when it is needed."""
    silence: float = 120.0
    """For a word of a job, beyond the longest that a command may be silent."""
    connect: float = 10.0
    look: float = 1.0
    """Between two looks at who is there."""
