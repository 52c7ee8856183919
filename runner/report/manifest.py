"""`artifacts/build/runs/<run>.json`: what one run had to do, what it did, and what that cost."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from runner import effects
from runner.journal.events import (
    AttemptFinished,
    GateCompleted,
    RunStarted,
    TaskLanded,
)
from runner.journal.session_events import PlanProposed
from runner.lazy_dataclass import dataclass
from runner.model import Ending, Status, Usage
from runner.report.cost import ProofCosts, cost_data, together
from runner.report.decisions_file import BUILD
from runner.report.documents import document_line, grade_part
from runner.secrets.redact import redact

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from runner.journal.events import Record
    from runner.journal.state import RunState
    from runner.model import Graded

    Grades = Callable[[], Mapping[str, Graded]]
    """What each DONE task of the plan is worth."""

FOLDER = f"{BUILD}/runs"


@dataclass(slots=True)
class _Work:
    """What this run did at one task."""

    attempts: dict[int, dict[str, object]] = field(default_factory=dict)
    """The last word on each, by its number: one that is proven again ends twice."""
    seconds: float = 0.0
    usage: Usage = field(default_factory=Usage)
    commit: str = ""


@dataclass(slots=True)
class Manifest:
    """Hears the events of one run; its file is written at the run's end."""

    root: Path
    settings: Mapping[str, str]
    """Those that somebody set, as text."""
    proofs: ProofCosts = field(default_factory=ProofCosts)
    """What the proofs of this run took."""
    _began: Record | None = None
    _tasks: dict[str, _Work] = field(default_factory=dict)

    @property
    def usage(self) -> Usage:
        """What this run has used so far."""
        return together(work.usage for work in self._tasks.values())

    def hear(self, record: Record, state: RunState) -> None:
        """Take down what belongs to it."""
        del state
        event = record.event
        if isinstance(event, RunStarted):
            self._began = record
        elif isinstance(event, AttemptFinished | PlanProposed):
            self._add(record, event)
        elif isinstance(event, GateCompleted):
            self.proofs.add(event.proof)
        elif isinstance(event, TaskLanded):
            self._of(record).commit = event.commit

    def _of(self, record: Record) -> _Work:
        return self._tasks.setdefault(record.task, _Work())

    def _add(self, record: Record, event: AttemptFinished | PlanProposed) -> None:
        work = self._of(record)
        work.usage += event.usage or Usage()
        if isinstance(event, AttemptFinished) and event.ending is not Ending.INTERRUPTED:
            work.seconds += event.seconds
            work.attempts[record.attempt] = {
                "attempt": record.attempt,
                "ending": event.ending,
                "failure": event.failure,
                "seconds": event.seconds,
                "usage": cost_data(event.usage or Usage()),
            }

    def write(
        self, state: RunState, run: str, code: int, head: str, seconds: float, grades: Grades
    ) -> None:
        """Write the file; only then may the journal say that the run ended, which is the last."""
        started = self._began.event if self._began else None
        began = started if isinstance(started, RunStarted) else None
        done = any(state.task(id_).status is Status.DONE for id_ in self._tasks)
        worth = grades() if done else {}
        text = document_line(
            "manifest",
            run=run,
            started=self._began.time if self._began else None,
            finished=effects.timestamp(),
            exit=code,
            seconds=round(seconds, 3),
            branch=began.branch if began else None,
            head_before=began.head if began else None,
            head_after=head,
            settings=self.settings,
            included=began.included if began else (),
            tasks=[
                self._task(id_, work, state, worth.get(id_))
                for id_, work in self._tasks.items()
                if id_
            ],
            usage=cost_data(self.usage),
            **self.proofs.data(),
        )
        folder = self.root / FOLDER
        effects.make_folder(folder)
        effects.write_file(folder / f"{run}.json", redact(text).encode())

    def _task(
        self, id_: str, work: _Work, state: RunState, graded: Graded | None
    ) -> dict[str, object]:
        known = state.task(id_)
        return {
            "id": id_,
            "status": known.status,
            "reason": known.reason,
            "note": known.note,
            **(grade_part(graded) if known.status is Status.DONE else {}),
            "attempts": list(work.attempts.values()),
            "seconds": round(work.seconds, 3),
            "commit": work.commit or None,
            "usage": cost_data(work.usage),
        }
