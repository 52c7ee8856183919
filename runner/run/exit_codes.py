"""What a run's exit says, from what every selected task came to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.errors import ExitCode
from runner.model import Reason, Status

if TYPE_CHECKING:
    from collections.abc import Iterable

    from runner.journal.state import RunState


def codes_of(
    selected: Iterable[str],
    state: RunState,
    outdated: Iterable[str],
    *,
    only_planned: bool,
) -> tuple[set[ExitCode], list[str]]:
    """The exit codes that hold, and the tasks that are PENDING still, sorted."""
    codes: set[ExitCode] = set()
    waiting = []
    for id_ in selected:
        known = state.task(id_)
        match known.status:
            case Status.BLOCKED if known.reason is Reason.CHECKS:
                codes.add(ExitCode.FAILED)
            case Status.BLOCKED if known.reason in (Reason.STUCK, Reason.BUDGET):
                codes.add(ExitCode.STOPPED)
            case Status.BLOCKED | Status.STALE:
                codes.add(ExitCode.PERSON)
            case Status.PENDING if not (only_planned and known.planned and known.planned.approved):
                waiting.append(id_)
    codes |= {ExitCode.CONFLICT} if set(waiting) & set(outdated) else set()
    return codes, sorted(waiting)
