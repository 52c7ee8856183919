"""Collect the results of a run's tasks for the reports at its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from runner import effects
from runner.journal.events import (
    AttemptFinished,
    GateCompleted,
    RunStarted,
    TaskBlocked,
    TaskFailed,
    TaskLanded,
)
from runner.journal.grading import grades_of
from runner.journal.session_events import PlanProposed
from runner.model import Ending, Status, Usage
from runner.report.cost import ProofCosts, cost_data, together
from runner.report.decisions_file import BUILD
from runner.report.documents import document_line, grade_part
from runner.secrets.redact import redact

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from runner.journal.events import Record
    from runner.journal.state import RunState
    from runner.model import Coverage, Finding, Graded, Proof, Reason, Task

    Grades = Callable[[], Mapping[str, Graded]]
    """Grade of each DONE task of the plan."""


FOLDER = f"{BUILD}/runs"


class TaskResult(Struct, frozen=True):
    """One task at the end of a run."""

    id: str
    title: str
    line: int
    """Line of its heading in the plan."""
    status: Status
    reason: Reason | None = None
    note: str = ""
    commit: str = ""
    attempts: int = 0
    """Attempts in this run; 0 for an untouched task."""
    seconds: float = 0.0
    """Total seconds of these attempts."""
    proofs: tuple[Proof, ...] = ()
    findings: tuple[Finding, ...] = ()
    """Findings of its last attempt in this run, both rejecting and informational."""
    coverage: Coverage | None = None
    waits_for: tuple[str, ...] = ()
    """Unmet dependencies of a PENDING task."""
    graded: Graded | None = None
    """Grade of a DONE task."""

    @property
    def refusals(self) -> tuple[Finding, ...]:
        """The findings that keep it from landing; none for a task that is DONE."""
        if self.status is Status.DONE:
            return ()
        return tuple(finding for finding in self.findings if finding.refuses)


class Results(Struct, frozen=True):
    """All tasks a run was about, in the order of the plan."""

    name: str
    """Title of the plan."""
    plan: str
    """Path of the plan, relative to the root of the repository."""
    tasks: tuple[TaskResult, ...]
    seconds: float
    started: str
    """Start of the run: RFC 3339 in UTC."""
    folder: str = ""
    """Project folder relative to the repository's root; paths of findings start there."""

    def place(self, path: str) -> str:
        """Return a project path relative to the repository."""
        return f"{self.folder}/{path}" if self.folder else path


class _Heard(Struct):
    attempts: set[int] = field(default_factory=set)
    seconds: float = 0.0
    proofs: tuple[Proof, ...] = ()
    findings: tuple[Finding, ...] = ()


class ResultsListener(Struct):
    """Hears the events of a run and keeps what its reports need."""

    _tasks: dict[str, _Heard] = field(default_factory=dict)
    _started: str = ""

    def hear(self, record: Record, state: RunState) -> None:
        """Record the result of an attempt."""
        del state
        self._started = self._started or record.time
        event = record.event
        if isinstance(event, AttemptFinished) and event.ending is not Ending.INTERRUPTED:
            heard = self._tasks.setdefault(record.task, _Heard())
            if record.attempt > 0:  # else it only planned
                heard.attempts.add(record.attempt)  # one that is proven again ends twice
            heard.seconds += event.seconds
            heard.proofs, heard.findings = tuple(event.proofs), tuple(event.findings)
        elif isinstance(event, TaskBlocked | TaskFailed) and event.findings:
            self._tasks.setdefault(record.task, _Heard()).findings = tuple(event.findings)

    def results(
        self,
        tasks: Iterable[Task],
        state: RunState,
        *,
        name: str,
        plan: str,
        seconds: float,
        folder: str = "",
        grades: Mapping[str, Graded] | None = None,
    ) -> Results:
        """Return the current results of these tasks; `grades` are those of DONE tasks."""
        tasks = tuple(tasks)
        grades = grades_of(tasks, state.tasks) if grades is None else grades
        return Results(
            name=name,
            plan=plan,
            tasks=tuple(
                replace(self._result(one, state), graded=grades.get(one.id)) for one in tasks
            ),
            seconds=seconds,
            started=self._started,
            folder=folder,
        )

    def _result(self, task: Task, state: RunState) -> TaskResult:
        known, heard = state.task(task.id), self._tasks.get(task.id, _Heard())
        proofs = heard.proofs or tuple(known.proofs)
        open_ones = (id_ for id_ in task.depends_on if state.task(id_).status is not Status.DONE)
        return TaskResult(
            id=task.id,
            title=task.title,
            line=task.line,
            status=known.status,
            reason=known.reason,
            note=known.note,
            commit=known.commit,
            attempts=len(heard.attempts),
            seconds=heard.seconds,
            proofs=tuple(proof for proof in proofs if not proof.is_of_another_task),
            findings=heard.findings,
            coverage=known.coverage,
            waits_for=tuple(open_ones) if known.status is Status.PENDING else (),
        )


class _Work(Struct):
    """A run's work on one task."""

    attempts: dict[int, dict[str, object]] = field(default_factory=dict)
    """Last record of each attempt, by number: one that is re-tested ends twice."""
    seconds: float = 0.0
    usage: Usage = field(default_factory=Usage)
    commit: str = ""


class Manifest(Struct):
    """Hears the events of one run; its file is written at the run's end."""

    root: Path
    settings: Mapping[str, str]
    """Non-default settings, as text."""
    proofs: ProofCosts = field(default_factory=ProofCosts)
    """Cost of this run's proofs."""
    _began: Record | None = None
    _tasks: dict[str, _Work] = field(default_factory=dict)

    @property
    def usage(self) -> Usage:
        """Usage of this run so far."""
        return together(work.usage for work in self._tasks.values())

    def hear(self, record: Record, state: RunState) -> None:
        """Record the events that belong to the manifest."""
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
