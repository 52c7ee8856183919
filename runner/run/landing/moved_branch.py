"""Handle a branch or plan that moved while a task was built.

Held work is carried to the commit that is there now, or given back. A person saves the plan while a
run goes on: a task whose section they edit is not landed. A task whose proof takes long is proven
again each time another one lands meanwhile: after two such rounds it takes the landing turn, and
until it has landed or failed, whatever else passes is parked.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from runner.journal.events import PlanUpdated, TaskApproved, TaskFailed, TaskReopened, TaskStaled
from runner.journal.session_events import EDIT
from runner.model import Ending, Finding, digest_of
from runner.repo.merge import carry
from runner.run.dependents import UNKNOWN, find_changed_fields

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from runner.model import Change, Outcome, Task
    from runner.plan.document import Plan
    from runner.repo.read import Repository
    from runner.run.journal_writer import JournalWriter
    from runner.run.outcome_recorder import OutcomeRecorder


ROUNDS = 2


class Parked(Struct, frozen=True):
    """Work that passed and waits while another task has the turn; `how` it was approved."""

    task: Task
    outcome: Outcome
    how: str


class LandingQueue(Struct):
    """First come, first served, among those that were overtaken."""

    holder: str = ""
    _rounds: dict[str, int] = field(default_factory=dict)
    _parked: deque[Parked] = field(default_factory=deque)

    def mark_overtaken(self, task: str) -> None:
        """Count a further round of proof for a task, since another one landed before it."""
        self._rounds[task] = self._rounds.get(task, 0) + 1
        if self._rounds[task] >= ROUNDS and not self.holder:
            self.holder = task

    def parks(self, task: Task, outcome: Outcome, how: str) -> bool:
        """Queue work that must wait for the current holder; return whether it was queued."""
        if not self.holder or self.holder == task.id:
            return False
        self._parked.append(Parked(task, outcome, how))
        return True

    def over(self, task: str) -> None:
        """Release the turn of a task that has landed or will not land."""
        self._rounds.pop(task, None)
        if self.holder == task:
            self.holder = ""

    def next_parked(self) -> Parked | None:
        """Return the oldest queued work if there is no current holder, else None."""
        return self._parked.popleft() if self._parked and not self.holder else None

    def withdraw(self, task: str) -> Outcome | None:
        """Remove and return a task's parked outcome; None if it has none."""
        for one in self._parked:
            if one.task.id == task:
                self._parked.remove(one)
                return one.outcome
        return None

    def give_up(self) -> tuple[Parked, ...]:
        """Remove and return all parked work at the end of a run."""
        left = tuple(self._parked)
        self._parked.clear()
        return left


class PlanConflict(Struct):
    """The plan's file as it is now; it is read only when it was saved by somebody else."""

    path: Path
    is_ours: Callable[[bytes], bool]
    """Whether only the run's own statuses were written to a text since it began."""
    read: Callable[[bytes], Plan]
    note: Callable[[PlanUpdated], object] = lambda _event: None
    """Records in the journal that the text changed."""
    _seen: tuple[int, int, int] | None = None
    _tasks: Mapping[str, Task] = field(default_factory=dict)
    _asked: Mapping[str, str] = field(default_factory=dict)

    def describe_edit(self, task: Task) -> str:
        """Describe what a person changed in a task since the run began; empty if nothing."""
        self._look()
        if not self._tasks:  # theirs is none, or half saved
            return ""
        now = self._tasks.get(task.id)
        if now is None:
            return "it was removed from the plan"
        if now.spec.what != task.spec.what:
            fields = find_changed_fields(task, now)
            return "it was edited" + ("" if fields == UNKNOWN else f": {', '.join(fields)}")
        return f"`!change {self._asked[task.id]}`" if task.id in self._asked else ""

    def _look(self) -> None:
        # Before reading: a save in between has another stamp and is found by the next check.
        try:
            now = self.path.stat()
            # Include the inode: editors save by a rename, which it shows even with equal time and
            # size.
            seen = (now.st_mtime_ns, now.st_size, now.st_ino)
            if seen == self._seen:
                return
            text = self.path.read_bytes()
        except OSError:  # whoever writes statuses says so; some editors save by two renames
            return
        self._tasks, self._asked, self._seen = {}, {}, seen
        if not self.is_ours(text):
            self.note(PlanUpdated(digest_of(text)))
            plan = self.read(text)
            self._tasks = {task.id: task for task in reversed(plan.tasks)}
            lines = (line for line in plan.written_commands if line.kind == "change")
            self._asked = {line.task: line.text for line in lines}


def put_back(task: Task, outcome: Outcome, how: str, books: OutcomeRecorder) -> None:
    """Save work for an edited task as a draft, and return the task to the next run.

    What was DONE before is STALE by it, and waits for a person; what was new is PENDING. What asked
    for the rebuild itself is a reason that stays when the edit is taken back, and so is a `!change`
    that no run has read yet.
    """
    known = books.journal.state.task(task.id)
    branch = books.keep_draft(task, outcome)
    note = f"{how}, while a run built it" + (f"; that work is on {branch}" if branch else "")
    ended = replace(outcome, ending=Ending.INTERRUPTED, summary=note)
    books.record_finished(task, ended, draft=branch)
    event = (
        TaskReopened(note=note, by=EDIT)
        if known.spec is None
        else TaskStaled(note=note, fields=("what", "change"))
    )
    books.journal.note(event, task=task.id, attempt=outcome.attempt, durable=True)


def carry_held(
    held: dict[str, tuple[Change, ...]], repository: Repository, journal: JournalWriter
) -> None:
    """Rebase held changes onto HEAD, where a person may have committed meanwhile.

    Where both changed the same lines the task runs again, and its brief says so.
    """
    head = repository.head().commit or ""
    for id_, changes in tuple(held.items()):
        known = journal.state.task(id_)
        if known.held is None or known.held.base == head:
            continue
        merged = carry(repository, (known.held.base, head), changes)
        held[id_] = merged.changes
        if merged.conflicts:
            del held[id_]
            _give_back(id_, conflicts(merged.conflicts, head), journal)


def conflicts(paths: Iterable[str], base: str) -> tuple[Finding, ...]:
    """Return the next attempt's findings on files that somebody else changed meanwhile."""
    return tuple(
        Finding(
            check="conflict",
            path=path,
            message=f"changed on the branch (now {base[:12]}) while the task worked on it",
            hint="build on the file as it is now",
        )
        for path in paths
    )


def _give_back(id_: str, findings: tuple[Finding, ...], journal: JournalWriter) -> None:
    attempt = journal.state.task(id_).last_attempt
    journal.note(TaskFailed(findings=findings), task=id_, attempt=attempt)
    note = f"{findings[0].path} changed on the branch: rebuilding"
    journal.note(TaskApproved(by="runner", note=note), task=id_, durable=True)
