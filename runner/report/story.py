"""The runner's own documents, drawn from the journal: CHECKPOINT.md and DECISIONS.md."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from runner import effects
from runner.journal.events import CheckpointWritten, DecisionMade, TaskBlocked, TaskDone
from runner.model import Status
from runner.report import checkpoint, decisions
from runner.report.status_line import TaskReport, status_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from runner.journal.events import Record
    from runner.journal.state import RunState
    from runner.model import Task
    from runner.run.ledger import Ledger

BUILD = "artifacts/build"
_IGNORED = """\
# Made by the runner: files of a run, which belong to this clone alone.
/journal.jsonl
/WRITE_LOG.jsonl
/SAST_FINDINGS.jsonl
/staged/
/logs/
/runs/
*.lock
.*.tmp
"""


def append_text(file: Path, text: str, *, head: str) -> None:
    """Append to a document, making it with `head` when it is new; a text that ends it stays once.

    A crash between the write and its event would have us write it again: the end of the file is
    looked at first.
    """
    effects.make_folder(file.parent)
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
    try:
        size = os.fstat(descriptor).st_size
        tail = os.pread(descriptor, len(text.encode()) + 2, max(0, size - len(text.encode()) - 2))
        if tail.decode("utf-8", "replace").strip() == text.strip() or tail.endswith(text.encode()):
            return
        start = head if size == 0 else "" if tail.endswith(b"\n") else "\n"
        effects.append(descriptor, (start + text).encode(), file)
    finally:
        os.close(descriptor)


@dataclass(slots=True)
class CheckpointDocument:
    """CHECKPOINT.md: a status line per finished task, a full checkpoint every few."""

    root: Path
    every: int
    note: Callable[[CheckpointWritten, str], None]
    path: str = f"{BUILD}/CHECKPOINT.md"
    ours: bool = True
    _tasks: dict[str, Task] = field(default_factory=dict)

    def know(self, tasks: Iterable[Task]) -> None:
        """The plan's tasks, for their titles and acceptance criteria."""
        self._tasks = {task.id: task for task in tasks}

    def hear(self, record: Record, state: RunState) -> None:
        """Write the line of a task that is finished, one way or the other."""
        if isinstance(record.event, TaskDone | TaskBlocked):
            self._line(record.task, state)

    def catch_up(self, ledger: Ledger) -> None:
        """Write the lines that a crash kept from the file."""
        for id_ in ledger.state.awaiting_line:
            self._line(id_, ledger.state)

    def close(self, ledger: Ledger) -> None:
        """At the end of a run: nothing waits to be written."""
        self.catch_up(ledger)

    def recorded(self, committed: bytes, working: bytes) -> bytes:
        """The file is the runner's own: it is committed as it stands."""
        del committed
        return working

    def _line(self, id_: str, state: RunState) -> None:
        append_text(self._file, status_line(self._report(id_, state)) + "\n", head=checkpoint.HEAD)
        self.note(CheckpointWritten(kind="line", number=state.checkpoints, tasks=(id_,)), id_)
        since = [one for one in state.since_checkpoint if state.task(one).status is Status.DONE]
        if state.task(id_).status is Status.DONE and len(since) >= self.every:
            self._full(state, since)

    def _full(self, state: RunState, completed: list[str]) -> None:
        number = state.checkpoints + 1
        text = checkpoint.full_checkpoint(self._checkpoint(number, state, completed))
        append_text(self._file, text, head=checkpoint.HEAD)
        self.note(CheckpointWritten(kind="full", number=number, tasks=tuple(completed)), "")

    @property
    def _file(self) -> Path:
        return self.root / self.path

    def _title(self, id_: str) -> str:
        return self._tasks[id_].title if id_ in self._tasks else ""

    def _report(self, id_: str, state: RunState) -> TaskReport:
        known = state.task(id_)
        proofs = tuple(known.proofs)
        if known.status is not Status.DONE and known.passed is not None:
            proofs = tuple(known.passed.proofs)
        return TaskReport(
            id=id_,
            title=self._title(id_),
            status=known.status,
            proofs=proofs,
            coverage=known.coverage,
            patterns=tuple((pattern, "") for pattern in known.patterns),
            notes=(known.note,) if known.note else (),
        )

    def _checkpoint(
        self, number: int, state: RunState, completed: list[str]
    ) -> checkpoint.Checkpoint:
        known = {id_: state.task(id_) for id_ in self._tasks}
        patterns = dict.fromkeys(
            pattern for id_ in completed for pattern in state.task(id_).patterns
        )
        return checkpoint.Checkpoint(
            number=number,
            date=effects.timestamp()[:10],
            completed=tuple((id_, self._title(id_)) for id_ in completed),
            pending=sum(one.status is Status.PENDING for one in known.values()),
            blocked=_noted(known.items(), Status.BLOCKED),
            stale=_noted(known.items(), Status.STALE),
            patterns=tuple((pattern, "") for pattern in patterns),
            commit=state.last_landing_head,
            criteria=checkpoint.criteria_of(
                self._tasks[id_] for id_ in completed if id_ in self._tasks
            ),
        )


def _noted(known: Iterable[tuple[str, object]], status: Status) -> tuple[tuple[str, str], ...]:
    return tuple(
        (id_, getattr(one, "note", ""))
        for id_, one in known
        if getattr(one, "status", None) is status
    )


_ENTRY = re.compile(r"^## DECISION-(\d+):", re.MULTILINE)


@dataclass(slots=True)
class DecisionsDocument:
    """DECISIONS.md: of it the entries that tasks made are ours; people write theirs beside."""

    root: Path
    path: str = f"{BUILD}/DECISIONS.md"
    ours: bool = True
    _numbers: set[int] = field(default_factory=set)

    def hear(self, record: Record, state: RunState) -> None:
        """Append a decision that was made."""
        del state
        if isinstance(record.event, DecisionMade):
            self._append(record.event, record.task)

    def catch_up(self, ledger: Ledger) -> None:
        """Nothing to do: an entry that a crash cut off is written by whoever asks for it again."""
        del ledger

    def next_number(self, last: int) -> int:
        """The number of the next decision, after those in the file and in the journal."""
        return decisions.next_number(self._text(), last)

    def _append(self, event: DecisionMade, task: str) -> None:
        self._numbers.add(event.number)
        if event.number in self._in_file():
            return
        entry = decisions.decision_entry(
            event.number, event.decision, task, effects.timestamp()[:10]
        )
        append_text(self.root / self.path, entry, head=decisions.HEAD)

    def _text(self) -> str:
        try:
            return (self.root / self.path).read_text("utf-8", "replace")
        except FileNotFoundError:
            return ""

    def _in_file(self) -> set[int]:
        return {int(number) for number in _ENTRY.findall(self._text())}

    def recorded(self, committed: bytes, working: bytes) -> bytes:
        """The committed file with our entries; a person's unsaved ones stay theirs to commit."""
        text = committed.decode("utf-8", "surrogateescape")
        whole = working.decode("utf-8", "surrogateescape")
        known = {int(number) for number in _ENTRY.findall(text)}
        for number, entry in _entries(whole):
            if number in self._numbers and number not in known:
                text = (text or decisions.HEAD) + entry
        return text.encode("utf-8", "surrogateescape")


def _entries(text: str) -> list[tuple[int, str]]:
    starts = [*_ENTRY.finditer(text)]
    ends = [match.start() for match in starts[1:]] + [len(text)]
    return [
        (int(match[1]), text[match.start() : end]) for match, end in zip(starts, ends, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class IgnoreDocument:
    """`artifacts/build/.gitignore`: keeps the files of a run out of commits."""

    root: Path
    path: str = f"{BUILD}/.gitignore"
    ours: bool = True

    def write(self) -> None:
        """Make it where it is missing; a person's own is left alone."""
        file = self.root / self.path
        if not file.exists():
            effects.make_folder(file.parent)
            effects.write_file(file, _IGNORED.encode())

    def recorded(self, committed: bytes, working: bytes) -> bytes:
        """Ours as we made it; a person's changes to it are theirs to commit."""
        return committed or working
