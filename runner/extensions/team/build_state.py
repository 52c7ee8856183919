"""The state of a build, drawn from its events: a pure fold.

A build's own events say who has it and how it ended; while a run goes on in its clone, that run's
journal says how far it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

PENDING = "PENDING"
ANALYZING = "ANALYZING"
PLANNING = "PLANNING"
EXECUTING = "EXECUTING"
VERIFYING = "VERIFYING"
ENDS = ("COMPLETED", "FAILED", "CANCELLED")
"""States that nothing follows but a retry."""

_BY_OWN = {
    "build.queued": PENDING,
    "build.retried": PENDING,
    "build.released": PENDING,
    "build.put-off": PENDING,
    "build.waits": PENDING,
    "build.answered": PENDING,
    "build.claimed": ANALYZING,
    "clone.started": ANALYZING,
    "clone.completed": ANALYZING,
    "branch.created": PLANNING,
    "verification.started": VERIFYING,
    "build.completed": "COMPLETED",
    "build.failed": "FAILED",
    "build.cancelled": "CANCELLED",
}
"""What a build's own event makes of it; any other leaves it as it is."""
_WORKS = frozenset({"attempt.started", "task.landing", "task.landed", "task.done"})


def fold_own(types: Iterable[str], state: str = PENDING) -> str:
    """The state by the build's own events alone, in their order."""
    for one in types:
        state = _BY_OWN.get(one, state)
    return state


def refine(state: str, types: Iterable[str]) -> str:
    """Return the state after the run's events since the build's branch was ready."""
    if state == PLANNING and not _WORKS.isdisjoint(types):
        return EXECUTING
    return state


def was_retried(own: Sequence[str]) -> bool:
    """Whether a person asked for it again since the claim before this one."""
    claims = [at for at, kind in enumerate(own) if kind == "build.claimed"]
    return len(claims) > 1 and "build.retried" in own[claims[-2] :]


def count_since_retry(own: Sequence[str], kind: str) -> int:
    """How often it happened since a person asked for the build the last time."""
    last = max((at for at, one in enumerate(own) if one == "build.retried"), default=0)
    return own[last:].count(kind)
