"""What happened to one task, read from the journal: its attempts and its decisions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.journal.events import AttemptFinished, AttemptStarted, DecisionMade
from runner.journal.read_journal import read_journal

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from runner.journal.events import Record

_WANTED = frozenset({"attempt.started", "attempt.finished", "decision.made"})


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt, as far as it came."""

    number: int
    began: str
    implementer: str
    mode: str
    ending: str = ""
    """Empty while it goes on, or when nobody wrote down how it ended."""
    seconds: float = 0.0
    refusals: int = 0
    draft: str = ""


@dataclass(frozen=True, slots=True)
class TaskHistory:
    """The journal's records of one task, in their order."""

    attempts: tuple[Attempt, ...]
    decisions: tuple[DecisionMade, ...]
    times: dict[str, str]
    """Time of each record by its id."""


def past_of(journal: Path, task: str) -> TaskHistory:
    """Read the whole journal for one task. Raises RunnerError where it is damaged."""
    records = [record for record in read_journal(journal, wanted=_WANTED) if record.task == task]
    return TaskHistory(
        attempts=tuple(_attempts(records).values()),
        decisions=tuple(one.event for one in records if isinstance(one.event, DecisionMade)),
        times={record.id: record.time for record in records},
    )


def _attempts(records: Iterable[Record]) -> dict[int, Attempt]:
    found: dict[int, Attempt] = {}
    for record in records:
        event = record.event
        if isinstance(event, AttemptStarted):
            found[record.attempt] = Attempt(
                record.attempt, record.time, event.implementer, event.mode
            )
        elif isinstance(event, AttemptFinished) and record.attempt in found:
            begun = found[record.attempt]
            found[record.attempt] = Attempt(
                number=begun.number,
                began=begun.began,
                implementer=begun.implementer,
                mode=begun.mode,
                ending=str(event.ending),
                seconds=event.seconds,
                refusals=sum(finding.refuses for finding in event.findings),
                draft=event.draft,
            )
    return found
