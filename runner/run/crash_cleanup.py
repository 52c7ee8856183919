"""Clean up what a killed run left outside of the journal: its `index.lock`, files, a landing."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from msgspec import Struct, field

from runner import effects
from runner.config import temporary_folders
from runner.journal.events import (
    ChangeRecorded,
    DecisionMade,
    RunFinished,
    RunStarted,
    TaskAdopted,
    TaskDone,
    TaskLanded,
)
from runner.journal.records import read_journal
from runner.journal.session_events import HistoryMoved, HistoryMoving
from runner.lazy_module import lazy_module
from runner.lazy_pattern import regex
from runner.model import Spec
from runner.repo import index_lock
from runner.repo.read import Repository
from runner.repo.trailers import format_checked
from runner.run.landing.lander import Made, changes_between
from runner.run.landing.record_commit import find_checked_in
from runner.run.outdated_plan import find_reverts, is_undone
from runner.writes import safe_io
from runner.writes.log import Fate
from runner.writes.safe_io import sweep_below

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
    from pathlib import Path

    from runner.journal import evidence
    from runner.journal.events import Record, TaskLanding
    from runner.model import Decision
    from runner.repo.head import Folders
    from runner.repo.index_lock import LockFile
    from runner.repo.landed_commits import LandedCommit
    from runner.run.journal_writer import JournalWriter
    from runner.run.landing.lander import Lander
    from runner.writes.log import WriteLog
else:
    evidence = lazy_module("runner.journal.evidence")


WANTED = frozenset(
    (
        *("run.started", "run.finished", "task.landed", "task.done", "decision.made"),
        *("change.recorded", "history.moving", "history.moved"),
    )
)
"""Kinds of records that `UnfinishedRuns.of` reads; others need not be decoded."""


class UnfinishedRuns(Struct):
    """The story since a run last ended by itself."""

    head: str = ""
    """Commit on which the first of these runs began; empty before the first commit."""
    landed: dict[tuple[str, int], TaskLanded] = field(default_factory=dict)
    """Landings by task and attempt."""
    checked: list[str] = field(default_factory=list)
    """A `Checked:` line for each task that was proven without a commit of its own; of runs that
    ended and were not recorded, too."""
    checked_since: str = ""
    """Commit after which a record may already contain these."""
    decisions: list[Record] = field(default_factory=list)
    changes: list[Record] = field(default_factory=list)
    """Changes of the specification that may be missing in their documents."""
    moving: Record | None = None
    """Undo or replay without a successor: its commit may be on the branch."""
    _begun: bool = False

    @classmethod
    def of(cls, records: Iterable[Record]) -> UnfinishedRuns:
        """Collect the records since the last `run.finished`."""
        story = cls()
        for record in records:
            if isinstance(record.event, RunFinished):
                story = _left_after(story, record.event)
            else:
                story._take(record)  # noqa: SLF001 - its own
        return story

    @property
    def decided(self) -> set[tuple[str, Decision]]:
        """Task and decision of each that is noted."""
        return {
            (record.task, record.event.decision)
            for record in self.decisions
            if isinstance(record.event, DecisionMade)
        }

    def _take(self, record: Record) -> None:
        match record.event:
            case RunStarted(head=head) if not self._begun:
                self.head, self._begun = head, True
                self.checked_since = self.checked_since or head
            case TaskLanded():
                self.landed[record.task, record.attempt] = record.event
            case TaskDone(commit=""):
                self.checked.append(format_checked_line(record))
            case DecisionMade():
                self.decisions.append(record)
            case ChangeRecorded():
                self.changes.append(record)
            case HistoryMoving():
                self.moving = record
            case HistoryMoved():
                self.moving = None


def _left_after(story: UnfinishedRuns, ended: RunFinished) -> UnfinishedRuns:
    """Return what no commit records yet after a run has ended."""
    if not ended.unrecorded:
        return UnfinishedRuns()
    return UnfinishedRuns(
        landed=story.landed, checked=story.checked, checked_since=story.checked_since
    )


def format_checked_line(record: Record) -> str:
    """Return the line of a record commit for a task that is DONE without a commit of its own."""
    assert isinstance(record.event, TaskDone)
    event = record.event
    return format_checked(record.task, record.attempt, event.spec, event.tree, event.proofs)


_BESIDE = regex(r"\.(?P<name>.+)\.\d+\.\d+\.tmp")
"""Name of the temporary file that `effects.write_file` makes next to a file."""


_KEPT = tuple(f"artifacts/build/{name}" for name in ("plans", "reports", "runs"))
"""Folders that contain only files of the runner."""


def all_landings(journal: Path) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield every task that ever landed, with the paths of its commit."""
    for record in read_journal(journal, wanted=frozenset(("task.landed",))):
        if isinstance(record.event, TaskLanded):
            yield record.task, record.event.paths


def sweep(root: Path, documents: Collection[str]) -> None:
    """Remove what was being written beside the runner's documents; only under the run's lock."""
    places = {root / path for path in documents}
    for folder in {place.parent for place in places}:
        for left in folder.glob(".*.tmp"):
            # By pattern and document name, not `*.tmp`: editors also leave such files.
            beside = _BESIDE.fullmatch(left.name)
            if beside and folder / beside["name"] in places:
                effects.unlink(left)
    for kept in _KEPT:
        for left in (root / kept).glob(".*.tmp"):
            if _BESIDE.fullmatch(left.name):
                effects.unlink(left)


def sweep_temporary_folders() -> None:
    """Remove what a killed process left among the temporary files."""
    temporary_folders.remove_abandoned_folders()


def adopt_unknown(lander: Lander, journal: JournalWriter, story: UnfinishedRuns) -> None:
    """Adopt task commits that the journal has lost the records of.

    The last of them may not even be in the real tree yet.
    """
    repository = lander.repository
    head = repository.head().commit
    if head is None:
        return
    since = story.head if story.head and repository.resolve(story.head) else None
    known = {landed.commit for landed in story.landed.values()}
    newest: dict[str, LandedCommit] = {}
    for commit in repository.log_trailers(head, since=since):
        if commit.checked:
            continue
        newest.setdefault(commit.task, commit)
    gone = find_reverts(repository, head) if newest else {}
    for task, commit in newest.items():
        if is_undone(repository, gone, task, commit.commit):
            continue
        if commit.commit in known or journal.state.task(task).commit == commit.commit:
            continue
        # Only the tip: deeper commits were in the real tree when the next one was made, since one
        # landing ends before another begins.
        if commit.commit == head:
            made = Made(commit.commit, commit.tree, commit.parent or None)
            changes = changes_between(repository, made.parent, head)
            # A kill between write and rename leaves the temporary file; no other code removes it.
            for change in changes:
                sweep_below(lander.root, change.path)
            lander.finish(task, commit.attempt, made, changes)
        if commit.spec_what and commit.spec_proof:
            event = TaskAdopted(
                spec=Spec(commit.spec_what, commit.spec_proof),
                commit=commit.commit,
                verified=True,
                source="recovery",
                note="its commit is in this branch",
                proofs=evidence.read_proofs(commit.trailers),
                unproven=evidence.parse_unproven(commit.trailers.get("Grade", ())),
            )
            journal.note(event, task=task, attempt=commit.attempt, durable=True)


def close_writes(
    write_log: WriteLog, journal: JournalWriter, landed: Mapping[tuple[str, int], str]
) -> None:
    """Close approved writes whose attempt a crash interrupted; `landed` has the commits."""
    open_ones = dict.fromkeys(
        (one.task, one.attempt) for one in write_log.show().writes if one.fate is None
    )
    for task, attempt in open_ones:
        held = journal.state.task(task).held
        # Not left by a crash: the approved bytes wait outside the branch, and land or are rejected
        # later.
        if held is not None and held.attempt == attempt:
            continue
        commit = landed.get((task, attempt), "")
        fate = Fate.LANDED if commit else Fate.DROPPED
        write_log.close(run=journal.run, task=task, attempt=attempt, fate=fate, commit=commit)


def find_unrecorded_checks(repository: Repository, story: UnfinishedRuns) -> list[str]:
    """Return the lines on tasks without a commit that the next record commit must include."""
    if not story.checked:
        return []
    checked = find_checked_in(repository, story.checked_since)
    return [line for line in story.checked if line not in checked]


class _Left(Struct, frozen=True):
    """A lock of the runner's own, and the commit that its index belongs to."""

    lock: LockFile
    base: str
    commit: str


def finish_left_index(folders: Folders, recorded: Callable[[], TaskLanding | None]) -> str:
    """Finish or remove the lock that a killed command of the runner left; gives a line to show.

    Where the branch has its commit, the files come first and then the index: as long as the lock is
    there, no commit of another git takes them back. `recorded` is the journal's open landing, where
    no run goes on. Any other lock stays, and the line is empty. Raises RunnerError where a file
    cannot be written: the lock stays.
    """
    left = _find_left(folders, recorded)
    index_lock.free_dead_locks(folders.git)  # those of refs; that of the index is held by now
    if left is None:
        return ""
    try:
        # The whole repository: the command may run in another of its projects.
        with Repository.open(folders.top) as repository:
            return _finish(repository, left)
    finally:
        left.lock.leave()


def _find_left(folders: Folders, recorded: Callable[[], TaskLanding | None]) -> _Left | None:
    index = folders.git / index_lock.INDEX
    if not os.path.lexists(f"{index}.lock"):
        return None
    if (found := index_lock.take_left_index(folders.git, index)) is not None:
        base, _, commit = found[1].partition("@")
        return _Left(found[0], base, commit)
    # If a file cannot have two names, or a power failure removed the second.
    event = recorded()
    if event is None or not event.lock_digest:
        return None
    lock = index_lock.take_recorded_index(index, event.lock_inode, event.lock_digest)
    return _Left(lock, event.parent, event.commit) if lock else None


def _finish(repository: Repository, left: _Left) -> str:
    head = repository.find_head().commit
    if not head or not repository.is_ancestor(left.commit, head):
        left.lock.__exit__()
        return "removed the index.lock of a killed run: its commit is not on the branch"
    changes = changes_between(repository, left.base or None, left.commit)
    for change in changes:
        sweep_below(repository.root, change.path)
    converts = repository.configuration().is_true("core.autocrlf")
    # Files that a person changed meanwhile stay theirs; the next run stages the task's.
    safe_io.place(repository.root, changes, converts=converts)
    index_lock.place_index(left.lock)
    return f"finished commit {left.commit[:12]} of a killed run: wrote its files and git's index"
