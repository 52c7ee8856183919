"""How long a run may still take, by what its tasks took before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.lazy_dataclass import dataclass
from runner.model import Status

if TYPE_CHECKING:
    from collections.abc import Mapping

_OPEN = (Status.PENDING, Status.IN_PROGRESS)


@dataclass(frozen=True, slots=True)
class Work:
    """What a run is about."""

    needs: Mapping[str, tuple[str, ...]]
    """The selected tasks, each behind what it needs, with the ids it depends on."""
    seconds: Mapping[str, float]
    """How long a task took before; those that never ran are left out."""
    jobs: int


def seconds_left(
    work: Work,
    statuses: Mapping[str, Status],
    seconds: Mapping[str, float],
    elapsed: Mapping[str, float],
) -> float | None:
    """At least so many seconds, with every job busy; None when no task's past is known.

    The longer of two bounds: the longest chain of open tasks, and all their work divided by the
    jobs. A task without a past is taken to last as long as the others do in the mean; one that
    waits for a task that cannot be built is left out.
    """
    known = {**work.seconds, **seconds}
    if not known:
        return None
    mean = sum(known.values()) / len(known)
    ends: dict[str, float] = {}
    total = 0.0
    for id_, needs in work.needs.items():
        status = statuses.get(id_)
        behind = [ends.get(need, 0.0) for need in needs]
        if status is Status.DONE:
            ends[id_] = 0.0
        elif status not in _OPEN or any(end < 0 for end in behind):
            ends[id_] = -1.0  # it will not be built, nor what needs it
        else:
            lasts = max(0.0, known.get(id_, mean) - elapsed.get(id_, 0.0))
            total += lasts
            ends[id_] = max(behind, default=0.0) + lasts
    return max(max(ends.values(), default=0.0), total / max(1, work.jobs))
