"""A person saves the plan while a run goes on: a task whose section they edit is not landed."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from runner.journal.events import PlanUpdated, TaskReopened, TaskStaled
from runner.model import Ending, digest_of
from runner.run.dependents import UNKNOWN, find_changed_fields
from runner.run.landing import (
    drafts,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from runner.model import Outcome, Task
    from runner.plan.document import Plan
    from runner.run.outcome_recorder import OutcomeRecorder


@dataclass(slots=True)
class PlanConflict:
    """The plan's file as it is now; it is read only when it was saved by somebody else."""

    path: Path
    is_ours: Callable[[bytes], bool]
    """Whether nothing but the run's own statuses was written into a text since it began."""
    read: Callable[[bytes], Plan]
    note: Callable[[PlanUpdated], object] = lambda _event: None
    """Tells the journal of a text that is not the one of before."""
    _seen: tuple[int, int, int] | None = None
    _tasks: Mapping[str, Task] = field(default_factory=dict)
    _asked: Mapping[str, str] = field(default_factory=dict)

    def describe_edit(self, task: Task) -> str:
        """What a person changed of a task since the run began, in words; empty for nothing."""
        self._look()
        if not self._tasks:  # theirs is none, or half saved
            return ""
        now = self._tasks.get(task.id)
        if now is None:
            return "it was taken out of the plan"
        if now.spec.what != task.spec.what:
            fields = find_changed_fields(task, now)
            return "it was edited" + ("" if fields == UNKNOWN else f": {', '.join(fields)}")
        return f"`!change {self._asked[task.id]}`" if task.id in self._asked else ""

    def _look(self) -> None:
        try:
            now = self.path.stat()
        except OSError:  # whoever writes statuses says so
            return
        seen = (now.st_mtime_ns, now.st_size, now.st_ino)
        if seen == self._seen:
            return
        text = self.path.read_bytes()
        self._tasks, self._asked, self._seen = {}, {}, seen
        if not self.is_ours(text):
            self.note(PlanUpdated(digest_of(text)))
            plan = self.read(text)
            self._tasks = {task.id: task for task in reversed(plan.tasks)}
            lines = (line for line in plan.written_commands if line.kind == "change")
            self._asked = {line.task: line.text for line in lines}


def put_back(task: Task, outcome: Outcome, how: str, books: OutcomeRecorder) -> None:
    """Keep what was built on the old words as a draft, and have the task wait for the next run.

    What was DONE before is STALE by it, and waits for a person; what was new is PENDING. What asked
    for the rebuild itself is a reason that stays when the edit is taken back, and so is a `!change`
    that no run has read yet.
    """
    known = books.ledger.state.task(task.id)
    branch = drafts.keep_draft(books.repository, task, outcome)
    note = f"{how}, while a run built it" + (f"; that work is on {branch}" if branch else "")
    ended = replace(outcome, ending=Ending.INTERRUPTED, summary=note)
    books.record_finished(task, ended, draft=branch)
    event = (
        TaskReopened(note=note, by="plan")
        if known.spec is None
        else TaskStaled(note=note, fields=("what", "change"))
    )
    books.ledger.note(event, task=task.id, attempt=outcome.attempt, durable=True)
