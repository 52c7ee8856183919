"""Draw CHECKPOINT.md from the journal: a line per finished task, regular full checkpoints."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from msgspec import Struct, field

from runner import effects
from runner.journal.events import (
    AttemptFinished,
    AttemptStarted,
    CheckpointWritten,
    TaskBlocked,
    TaskDone,
    TaskLanded,
)
from runner.journal.grading import grade_one
from runner.model import Status
from runner.report.cost import cost
from runner.report.decisions_file import BUILD, append_text
from runner.report.status_line import (
    NOT_APPLICABLE,
    TaskReport,
    format_checks,
    format_unseen,
    patterns_applied,
    regressions,
    sast_counts,
    status_line,
)
from runner.run.landing.status_writer import TimeQuota
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from runner.journal.events import Record
    from runner.journal.state import RunState
    from runner.journal.task_state import TaskState
    from runner.model import Task
    from runner.report.status_line import SastCounts
    from runner.run.journal_writer import JournalWriter


HEAD = "# Checkpoints\n\n"
"""Start of a new CHECKPOINT.md."""


class Criteria(Struct, frozen=True):
    """The number of acceptance criteria with and without a test contract."""

    named: int = 0
    unnamed: tuple[tuple[str, str], ...] = ()
    """Pairs of task and criterion."""


class Checkpoint(Struct, frozen=True):
    """Everything a full checkpoint says."""

    number: int
    date: str
    """Date such as `2026-11-21`."""
    completed: tuple[tuple[str, str], ...]
    """(ID, title) of the tasks finished since the last one."""
    pending: int
    blocked: tuple[tuple[str, str], ...] = ()
    """(ID, reason)."""
    stale: tuple[tuple[str, str], ...] = ()
    """(ID, the change that made it so)."""
    patterns: tuple[tuple[str, str], ...] = ()
    """(ID, title) of those applied in this batch, each once."""
    regressions: tuple[str, ...] | None = None
    """Failing checks of earlier tasks; None if none were run."""
    commit: str = ""
    """Last landed commit."""
    criteria: Criteria = Criteria()
    sast: tuple[tuple[str, str], ...] = ()
    """(task, counts) of scans that were pending in their task's status line."""


def full_checkpoint(checkpoint: Checkpoint) -> str:
    """Format a checkpoint to append, between blank lines."""
    lines = [
        f"=== Checkpoint {checkpoint.number} — {display(checkpoint.date)}",
        f"Completed since the last: {_format_tasks(checkpoint.completed)}",
        f"PENDING: {checkpoint.pending}",
        f"BLOCKED: {_format_count(checkpoint.blocked)}",
        f"STALE: {_format_count(checkpoint.stale)}",
        f"Patterns applied: {patterns_applied(checkpoint.patterns)}",
        f"Regression: {_regression(checkpoint.regressions)}",
        f"Last landed: {display(checkpoint.commit[:12]) or NOT_APPLICABLE}",
        f"Acceptance: {_criteria(checkpoint.criteria)}",
        *(f"- {display(task)}: {display(text)}" for task, text in checkpoint.criteria.unnamed),
        *(f"SAST of {display(task)}: {display(counts)}" for task, counts in checkpoint.sast),
    ]
    return "\n" + "\n".join(lines) + "\n\n"


def criteria_of(tasks: Iterable[Task]) -> Criteria:
    """Sort the acceptance criteria of tasks by whether one of the task's test contracts is named.

    A criterion names a contract by its id (`… (TC-002)`), or a contract's command holds the
    criterion's words as a test name (`test_an_end_before_its_start_is_refused`).
    """
    named, unnamed = 0, []
    for task in tasks:
        for criterion in task.acceptance:
            if _is_named(criterion, task):
                named += 1
            else:
                unnamed.append((task.id, criterion))
    return Criteria(named, tuple(unnamed))


def _is_named(criterion: str, task: Task) -> bool:
    words = "_".join(re.findall(r"\w+", criterion.lower()))
    return any(
        re.search(rf"(?<![\w-]){re.escape(contract.id)}(?![\w-])", criterion, re.IGNORECASE)
        or (words and words in contract.command.lower())
        for contract in task.test_contracts
    )


def _format_tasks(tasks: Iterable[tuple[str, str]]) -> str:
    names = [f"{display(task)} ({display(title)})" for task, title in tasks]
    return ", ".join(names) or NOT_APPLICABLE


def _format_count(tasks: tuple[tuple[str, str], ...]) -> str:
    names = "; ".join(f"{display(task)} ({display(why)})" for task, why in tasks)
    return f"{len(tasks)}" + (f" — {names}" if names else "")


def _regression(failing: tuple[str, ...] | None) -> str:
    if failing is None:
        return NOT_APPLICABLE
    return " ".join(f"❌ {display(check)}" for check in failing) or "✅ no cross-task failures"


def _criteria(criteria: Criteria) -> str:
    total = criteria.named + len(criteria.unnamed)
    if not total:
        return NOT_APPLICABLE
    return f"{criteria.named} of {total} criteria have a test contract that names them" + (
        ", these have none:" if criteria.unnamed else ""
    )


# --- checkpoint file ------------------------------------------------------------------


SHARE_OF_RUN_TIME = 0.01
"""Maximum share of a run's time for writing status lines; waiting lines are written together."""


class CheckpointDocument(Struct):
    """Hears every event; keeps counts, so that a checkpoint costs what it says and not the plan."""

    root: Path
    every: int
    note: Callable[[CheckpointWritten, str], None]
    sast: Callable[[str], SastCounts] = lambda _task: None
    """Static analysis result of a task: counts, `pending`, or nothing."""
    pattern_title: Callable[[str], str] = lambda _pattern: ""
    sync: Callable[[], None] = lambda: None
    """Makes the journal durable: the file must contain nothing that a crash could undo."""
    sync_lines: Callable[[], None] = lambda: None
    """As `sync`, and notes that lines were written: repeats only differ at the file's end."""
    attempts: Callable[[], Iterable[Record]] = lambda: ()
    """Reads the ends of attempts from the journal."""
    path: str = f"{BUILD}/CHECKPOINT.md"
    ours: bool = True
    _tasks: Mapping[str, Task] = field(default_factory=dict)
    _statuses: dict[str, Status] = field(default_factory=dict)  # of those that are not PENDING
    _counts: Counter[Status] = field(default_factory=Counter)
    _waiting: dict[str, None] = field(default_factory=dict)
    """Finished tasks whose line is not written yet, in order."""
    _tried: dict[str, AttemptFinished] = field(default_factory=dict)
    """Last attempt of each task that is not DONE."""
    _last: dict[str, str | None] = field(default_factory=dict)
    """Last summary of each task's implementer; None if it has no output."""
    _files: dict[str, int] = field(default_factory=dict)
    """Number of files that each task's last attempt landed; 0 if it is not included."""
    _unseen: dict[str, str] = field(default_factory=dict)
    """What no compiler checked of each task's last attempt, and why."""
    _written: bool = False
    """Whether this run wrote a line for any task."""
    _scanning: set[str] = field(default_factory=set)
    """Tasks whose line showed a scan in progress."""
    _share: TimeQuota = field(default_factory=lambda: TimeQuota(SHARE_OF_RUN_TIME))

    def know(self, tasks: Mapping[str, Task], state: RunState) -> None:
        """Set the plan's tasks, for titles and acceptance criteria, and their current statuses."""
        self._tasks = tasks
        known = ((id_, state.tasks.get(id_)) for id_ in tasks)
        open_ = Status.PENDING
        self._statuses = {id_: one.status for id_, one in known if one and one.status is not open_}
        self._counts = Counter(self._statuses.values())
        self._counts[open_] = len(tasks) - len(self._statuses)

    def hear(self, record: Record, state: RunState) -> None:
        """Record a task's new status, and write the line of a finished task."""
        if record.task in self._tasks:
            self._counts[self._statuses.get(record.task, Status.PENDING)] -= 1
            self._statuses[record.task] = status = state.task(record.task).status
            self._counts[status] += 1
        if isinstance(record.event, AttemptFinished) and record.event.proofs:
            self._tried[record.task] = record.event
        self._listen(record)
        self._count(record)
        if isinstance(record.event, TaskDone | TaskBlocked):
            # Remove first, since a dict keeps the old position: a task that ends twice belongs at
            # its last end.
            self._waiting.pop(record.task, None)
            self._waiting[record.task] = None
            if self._share.affordable:
                self._write(state)

    def catch_up(self, journal: JournalWriter) -> None:
        """Write the lines that a crash kept from the file, or tore."""
        state, ends = journal.state, (Status.DONE, Status.BLOCKED)
        untold = (id_ for id_ in state.awaiting_line if state.task(id_).status in ends)
        self._waiting |= dict.fromkeys(untold)
        self._recall(state)
        if self._waiting:
            self._write(state)

    def _recall(self, state: RunState) -> None:
        """Load the data of a killed run's attempts from the journal, since the state lacks it."""
        ids = {id_ for id_ in self._waiting if state.task(id_).status is not Status.DONE}
        untold = ids - self._tried.keys()
        unheard = self._waiting.keys() - self._last.keys()
        uncounted = self._waiting.keys() - self._files.keys()
        for record in self.attempts() if untold | unheard | uncounted else ():
            if record.task in untold and isinstance(record.event, AttemptFinished):
                self._tried[record.task] = record.event
            if record.task in unheard:
                self._listen(record)
            if record.task in uncounted:
                self._count(record)

    def _count(self, record: Record) -> None:
        """Record the number of files that an attempt landed, which is also valid after a crash."""
        match record.event:
            case AttemptStarted():
                self._files[record.task] = 0
            case TaskLanded(paths=paths) if paths:
                self._files[record.task] = len(paths)
            case AttemptFinished(findings=found):
                self._unseen[record.task] = format_unseen(found)

    def _listen(self, record: Record) -> None:
        """Record the implementer's summary; blocks have none beyond the plan."""
        match record.event:
            case AttemptStarted(implementer="blocks" | "check"):
                self._last[record.task] = None
            case AttemptStarted(implementer=name) if name:  # none where only the proof runs
                self._last[record.task] = ""
            case AttemptFinished(summary=text) if text and self._last.get(record.task) is not None:
                self._last[record.task] = text

    def close(self, journal: JournalWriter) -> None:
        """Write all pending lines and the last batch at the end of a run."""
        self.catch_up(journal)
        state = journal.state
        if self._written and state.since_checkpoint:
            since, number = list(state.since_checkpoint), state.checkpoints + 1
            self.sync_lines()
            text = full_checkpoint(self._checkpoint(number, state, since))
            append_text(self.root / self.path, text, head=HEAD)
            self.note(CheckpointWritten("full", number, tuple(since)), "")

    def content_to_commit(self, committed: bytes, working: Callable[[], bytes]) -> bytes:
        """Return the working file, which belongs entirely to the runner."""
        del committed
        return working()

    def _write(self, state: RunState) -> None:
        with self._share.spend():
            self._write_all(state)

    def _write_all(self, state: RunState) -> None:
        """Append every line that waits in one durable write, then say so in the journal."""
        self.sync()
        text, lines, full = "", [], []
        number = state.checkpoints
        since = [id_ for id_ in state.since_checkpoint if id_ not in self._waiting]
        for id_ in self._waiting:
            text += self._line(id_, state)
            lines.append(id_)
            if state.task(id_).status is Status.DONE:
                since.append(id_)
            if len(since) >= self.every:
                number += 1
                text += full_checkpoint(self._checkpoint(number, state, since))
                full.append((number, tuple(since)))
                since = []
        # The file before the event: after a kill in between, the same lines are found at the file's
        # end and not repeated (`append_text`).
        append_text(self.root / self.path, text, head=HEAD)
        self._waiting.clear()
        self._written = True
        self.note(CheckpointWritten("line", state.checkpoints, tuple(lines)), "")
        for reached, completed in full:
            self.note(CheckpointWritten("full", reached, completed), "")

    def _line(self, id_: str, state: RunState) -> str:
        report = self._report(id_, state)
        if report.sast == "pending":
            self._scanning.add(id_)
        return status_line(report) + "\n"

    def _report(self, id_: str, state: RunState) -> TaskReport:
        known = state.task(id_)
        shown = self._find_proofs(id_, state)
        proofs = tuple(shown.proofs)
        return TaskReport(
            id=id_,
            title=self._title(id_),
            status=known.status,
            proofs=proofs,
            regressions=regressions(proofs),
            looked=format_checks(self._files.get(id_, 0), proofs),
            coverage=shown.coverage,
            sast=self.sast(id_),
            patterns=self._title_patterns(known.patterns),
            worth=self._worth(id_, known),
            notes=tuple(filter(None, (known.note, self._hear(known), self._unseen.get(id_)))),
            cost=cost(known.usage),
        )

    def _worth(self, id_: str, known: TaskState) -> str:
        """Return the caveat of a DONE task; else empty."""
        task = self._tasks.get(id_)
        rests = task is not None and task.is_milestone and not known.unproven
        if known.status is not Status.DONE or rests:
            return ""
        return grade_one(known, task.outputs if task else ()).caveat

    def _hear(self, known: TaskState) -> str:
        return (self._last.get(known.id) or "") if known.status is Status.DONE else ""

    def _find_proofs(self, id_: str, state: RunState) -> TaskState | AttemptFinished:
        """Return what has the proofs of a task: its DONE state, else its last attempt."""
        known = state.task(id_)
        if known.status is Status.DONE:
            return known
        return self._tried.get(id_) or known.passed or known

    def _checkpoint(self, number: int, state: RunState, completed: list[str]) -> Checkpoint:
        patterns = dict.fromkeys(
            pattern for id_ in completed for pattern in state.task(id_).patterns
        )
        return Checkpoint(
            number=number,
            date=effects.timestamp()[:10],
            completed=tuple((id_, self._title(id_)) for id_ in completed),
            pending=self._counts[Status.PENDING],
            blocked=self._collect_notes(state, Status.BLOCKED),
            stale=self._collect_notes(state, Status.STALE),
            patterns=self._title_patterns(patterns),
            regressions=self._regressions(state, completed),
            commit=state.last_landing_head,
            sast=self._late_scans(),
            criteria=criteria_of(self._tasks[id_] for id_ in completed if id_ in self._tasks),
        )

    def _regressions(self, state: RunState, completed: list[str]) -> tuple[str, ...] | None:
        """Return the regressions of held changes; None if no tests of other tasks ran."""
        held = self._find_all(Status.BLOCKED)
        counts = [regressions(self._find_proofs(id_, state).proofs) for id_ in (*completed, *held)]
        ran = [failing for failing in counts if failing is not None]
        return tuple(dict.fromkeys(check for failing in ran for check in failing)) if ran else None

    def _collect_notes(self, state: RunState, status: Status) -> tuple[tuple[str, str], ...]:
        return tuple((id_, state.task(id_).note) for id_ in self._find_all(status))

    def _find_all(self, status: Status) -> list[str]:
        each = self._tasks if self._counts[status] else ()
        return [id_ for id_ in each if self._statuses.get(id_, Status.PENDING) is status]

    def _late_scans(self) -> tuple[tuple[str, str], ...]:
        """Return the counts of scans that were still running when their task's line was written."""
        known = {id_: self.sast(id_) for id_ in sorted(self._scanning)}
        late = {id_: counts for id_, counts in known.items() if counts != "pending"}
        self._scanning -= late.keys()
        return tuple((id_, sast_counts(counts)) for id_, counts in late.items())

    def _title_patterns(self, patterns: Iterable[str]) -> tuple[tuple[str, str], ...]:
        return tuple((pattern, self.pattern_title(pattern)) for pattern in patterns)

    def _title(self, id_: str) -> str:
        return self._tasks[id_].title if id_ in self._tasks else ""
