"""Compute what waited for a person and for how long, from the journal's records.

One wait a task at a time: what it first waited for. Answers that no person gave (`auto`, `off`,
an early cut-off) end a wait without counting it.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from runner.journal.events import (
    CUT_OFF,
    AttemptFinished,
    TaskApproved,
    TaskBlocked,
    TaskStaled,
    WriteReviewed,
)
from runner.journal.session_events import DraftProposed, PermissionAsked, PlanProposed, PlanReviewed
from runner.model import Ending

if TYPE_CHECKING:
    from runner.journal.events import Record

_BY_THEMSELVES = frozenset({"auto", "off"})
_ENDS = frozenset(
    {"permission.answered", "plan.reviewed", "write.reviewed", "write.rejected", "task.approved"}
    | {"task.reopened", "task.adopted", "task.waived", "task.landing", "task.done"}
    | {"attempt.started", "draft.reviewed", "draft.landed"}
)
_BEGINS = frozenset(
    {"permission.asked", "plan.proposed", "attempt.finished", "task.blocked", "task.staled"}
    | {"draft.proposed"}
)
WANTED = _ENDS | _BEGINS
"""Types of the records that begin or end a wait."""


class Wait(NamedTuple):
    """Something that waited for a person; `until` is empty while it does."""

    task: str
    """Task ID, or `DRAFT-1`."""
    kind: str
    """`permission`, `plan`, `review`, `draft`, `stale`, or the reason for BLOCKED."""
    since: str
    until: str = ""
    begin: str = ""
    """ID of the record that began it."""
    attempt: int = 0
    run: str = ""

    @property
    def seconds(self) -> float:
        """Duration of the wait; 0 if a time is invalid."""
        return seconds_between(self.since, self.until)


def seconds_between(since: str, until: str) -> float:
    """Return the seconds between two journal times; 0 if one is invalid or they are reversed."""
    try:
        passed = datetime.fromisoformat(until) - datetime.fromisoformat(since)
    except (ValueError, TypeError):
        return 0.0
    return max(0.0, passed.total_seconds())


class PersonWaits:
    """Hears every record in its order; `open` are those that nobody has answered yet."""

    def __init__(self) -> None:
        self.open: dict[str, Wait] = {}

    def hear(self, record: Record) -> Wait | None:
        """Process a record; return the wait for a person that it ended, or None."""
        key = _key(record)
        ended = None
        if record.type in _ENDS:
            known = self.open.pop(key, None)
            if known is not None and not _answers_itself(record):
                ended = known._replace(until=record.time)
        elif record.type in _BEGINS and (kind := _kind(record)):
            begun = (record.time, "", record.id, record.attempt, record.run)
            self.open.setdefault(key, Wait(key, kind, *begun))
        return ended


def _key(record: Record) -> str:
    number = getattr(record.event, "number", None)
    return f"DRAFT-{number}" if record.type.startswith("draft.") else record.task


def _kind(record: Record) -> str:
    """Return the kind of wait that a record starts; empty for none."""
    match record.event:
        case PermissionAsked():
            return "permission"
        case PlanProposed():
            return "plan"
        case DraftProposed():
            return "draft"
        case TaskStaled():
            return "stale"
        case TaskBlocked(reason=reason):
            return str(reason)
        case AttemptFinished(ending=ending, held=held):
            return "review" if ending is Ending.WAITS or held == "review" else ""
    return ""


def _answers_itself(record: Record) -> bool:
    match record.event:
        case WriteReviewed(review=review) | PlanReviewed(review=review):
            return review in _BY_THEMSELVES
        case TaskApproved(by=by):
            return by == CUT_OFF
    return False
