"""Write statuses into the plan and rows into the ownership map, never over a person's save.

A status has a note: why a task waits, or what its DONE is worth. Upkeep that may wait is done
only while it takes a small share of the run's time.
"""

from __future__ import annotations

import time
from contextlib import contextmanager, suppress
from itertools import islice
from typing import TYPE_CHECKING

from msgspec import Struct, field

from runner import effects
from runner.errors import ExitCode, RunnerError
from runner.journal.events import StatusesPublished
from runner.journal.grading import grade_one, grades_of
from runner.model import Grade, Status, digest_of, grade_of
from runner.model.grades import is_grade, without_proof
from runner.plan.edit import edit_statuses, find_spans
from runner.plan.ownership import add_owners
from runner.plan.status import one_line, read_status
from runner.repo.head import OWNERSHIP_MAP

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from runner.journal.state import RunState
    from runner.journal.task_state import TaskState
    from runner.model import Change, Digest, Proof, Task
    from runner.plan.status import SpansByTask, StatusSpan
    from runner.run.journal_writer import JournalWriter


_LONGEST_REST, _TIMES_AS_LONG = 5.0, 10.0
"""Seconds, and multiple of the last duration, after which it runs whatever its cost."""


class TimeQuota(Struct):
    """Keeps what is written again and again (statuses, map, checkpoint) from growing with the plan.

    The first time is always affordable; then what was spent so far must stay below the share. One
    time that took long, on a disk that stood still, keeps nobody waiting for minutes: after ten
    times as long as the last took, and a few seconds, it is affordable again.
    """

    most: float
    """Maximum share of the run's time, from 0 to 1."""
    _began: float = field(default_factory=effects.monotonic)
    _spent: float = 0.0
    _last: float = 0.0
    _ended: float = 0.0

    @property
    def affordable(self) -> bool:
        """Whether it may be done now."""
        return self.affordable_at <= effects.monotonic()

    @property
    def affordable_at(self) -> float:
        """From when on it may be done, on the clock of `effects`."""
        rested = self._ended + max(_LONGEST_REST, _TIMES_AS_LONG * self._last)
        return min(rested, self._began + self._spent / self.most)

    @contextmanager
    def spend(self) -> Iterator[None]:
        """Count the time that is spent inside."""
        began = effects.monotonic()
        try:
            yield
        finally:
            self._ended = effects.monotonic()
            self._last = self._ended - began
            self._spent += self._last


_NOTED = (Status.BLOCKED, Status.STALE)
"""Statuses followed by their own note."""


def format_note(known: TaskState, there: str = "") -> str:
    """Return the note of a task for the plan; `there` is its present note.

    A DONE of an older journal has no grade written down: its line stays as it is.
    """
    if known.status in _NOTED:
        return known.note
    if known.status is not Status.DONE:
        return ""
    if known.waived is not None:
        return f"{Grade.WAIVED}: {known.waived.reason}"
    if grade_one(known).is_proven:
        return ""
    if known.unproven:
        return f"{Grade.UNPROVEN}: {known.unproven}"
    return there if is_grade(there) else ""


def statuses_of(tasks: Iterable[Task], journal: JournalWriter) -> dict[str, tuple[Status, str]]:
    """Return the status and note of each task for the plan, from the journal."""
    planned = {task.id: task for task in tasks}
    each: dict[tuple[Status, str], tuple[Status, str]] = {}  # of many tasks one says the same
    rows = ((id_, (journal.state.task(id_).status, note_in(planned, id_, journal.state)))
            for id_ in planned)  # fmt: skip
    return {id_: each.setdefault(one, one) for id_, one in rows}


def note_in(tasks: Mapping[str, Task], id_: str, state: RunState) -> str:
    """Return the note of a task; for a milestone, from its dependencies' current grades."""
    task, known = tasks[id_], state.task(id_)
    if not (task.is_milestone and known.status is Status.DONE and known.unproven) or known.waived:
        return format_note(known, task.note)
    near: dict[str, Task] = {}
    front = [id_]
    while front:
        one = tasks.get(front.pop())
        if one is not None and one.id not in near:
            near[one.id] = one
            front += one.depends_on if one.is_milestone else ()
    graded = grades_of(near.values(), {one: state.task(one) for one in near}).get(id_)
    return format_note(known, task.note) if graded is None else graded.note


def find_differing(tasks: Sequence[Task], journal: JournalWriter) -> dict[str, tuple[Status, str]]:
    """Return the statuses and notes that differ from the plan, by task."""
    planned = {task.id: task for task in tasks}
    return {id_: row for id_, row in statuses_of(tasks, journal).items()
            if needs_write(planned[id_], *row)}  # fmt: skip


def needs_write(task: Task, status: Status, note: str) -> bool:
    """Return whether the plan must be written to show this status and note.

    Who writes a plain DONE over one that says what it is worth proves nothing by it: a record
    commit says the worth, so the file must, too, or it would seem edited ever after.
    """
    if status is not task.status:
        return True
    if status is not Status.DONE:
        return False
    return one_line(note) != task.note if note else is_grade(task.note)


def why_unproven(
    task: Task,
    proofs: Iterable[Proof],
    changes: Iterable[Change] = (),
    states: Mapping[str, TaskState] | None = None,
) -> str:
    """Return why a task that becomes DONE now is unproven; empty if it is proven.

    A milestone is as good as what it depends on.
    """
    if task.is_milestone:
        return _of_needs(task, states or {})
    paths = [change.path for change in changes] or list(task.outputs)
    return grade_of(proofs, none=without_proof(task.no_proof, paths)).why


def _of_needs(task: Task, states: Mapping[str, TaskState]) -> str:
    """Return the weakest dependency of a milestone, unproven before waived; else empty."""
    needs = {need: states[need] for need in task.depends_on if need in states}
    # A proven milestone has no proof of its own.
    lacking = [
        one
        for one, known in needs.items()
        if (known.unproven or not known.verified) and not grade_one(known).is_proven
    ]
    for grade in (Grade.UNPROVEN, Grade.WAIVED):
        for one in lacking:
            if (needs[one].waived is not None) is (grade is Grade.WAIVED):
                return f"{one} is {grade}"
    return ""


SHARE_OF_RUN_TIME = 0.02
"""Maximum share of a run's time for writing statuses."""
_REMEMBERED = 4
"""Plan texts whose spans are cached: the committed one, the one on disk, and their edits."""
TRIES = 20
"""How often a person's save just before ours may make us start again."""
_PAUSE = 0.05
"""Seconds between checks for a missing plan, as often as TRIES."""


class StatusWriter:
    """Publishes what the journal says of each task into the plan."""

    def __init__(
        self,
        path: Path,
        prefixes: tuple[str, ...],
        known: Mapping[bytes, SpansByTask] | None = None,
    ) -> None:
        """`known` says where the statuses stand in a text that was read before."""
        self._path = path
        self._prefixes = prefixes
        # By digest: the text of a large plan takes megabytes, and the caller has it.
        self._known = {digest_of(text): spans for text, spans in (known or {}).items()}
        self._ours = next(iter(self._known), None)
        self._pending: dict[str, tuple[Status, str]] = {}
        self._share = TimeQuota(SHARE_OF_RUN_TIME)

    def say(self, id_: str, status: Status, note: str = "") -> None:
        """Queue a status for the next publication."""
        self._pending[id_] = (status, note)

    def is_ours(self, text: bytes) -> bool:
        """Return whether a text equals the first one read, except for the runner's statuses."""
        return digest_of(text) == self._ours

    def due(self, *, now: bool) -> bool:
        """Return whether to write now: changes are pending, and `now` is set or time permits."""
        return bool(self._pending) and (now or self._share.affordable)

    @property
    def due_at(self) -> float | None:
        """When what is to be written is worth its time; None where there is nothing."""
        return self._share.affordable_at if self._pending else None

    def publish(self, journal_it: Callable[[StatusesPublished], object], *, head: str) -> None:
        """Write what is new.

        The file is written before the journal says so: a crash between the two leaves a status that
        equals the journal's own picture, which nobody takes for a person's hand.
        """
        with self._share.spend():
            plan = self._write()
            published = {id_: status for id_, (status, _) in self._pending.items()}
            journal_it(StatusesPublished(statuses=published, head=head, plan=plan))
            self._pending.clear()

    def edit(self, text: bytes, statuses: Mapping[str, tuple[Status, str]]) -> bytes:
        """Return the plan's text with these statuses; unknown tasks are ignored.

        What says the same already stays as a person wrote it (`DONE ✅`). A text that was seen
        before is not parsed again.
        """
        return b"".join(self._edit(text, digest_of(text), statuses)[0])

    def _edit(
        self, text: bytes, digest: Digest, statuses: Mapping[str, tuple[Status, str]]
    ) -> tuple[Sequence[bytes | memoryview], Digest]:
        """Write statuses into a text; return its pieces, to save memory, and their digest."""
        spans = self._known.get(digest)
        if spans is None:
            spans = find_spans(text, self._prefixes)
        there = {
            id_: row
            for id_, row in statuses.items()
            if id_ in spans and not _says(text, spans[id_], *row)
        }
        made = edit_statuses(text, there, spans)
        edited = digest_of(*made.pieces)
        self._known[edited] = made.spans
        while len(self._known) > _REMEMBERED:
            # the first stays: HEAD most likely has it, and it is edited again at the end
            del self._known[next(islice(self._known, 1, None))]
        return made.pieces, edited

    def _write(self) -> Digest:
        """Edit and replace; when a person saved in between, their text is edited."""
        for _ in range(TRIES):
            old = self._read()
            before = digest_of(old)
            pieces, digest = self._edit(old, before, self._pending)
            if digest == before:
                return digest
            mode = effects.mode_of(self._path)
            if effects.write_file(self._path, pieces, mode=mode, expected=old):
                # Once a person has saved another text, later writes on top of it are no longer only
                # ours.
                self._ours = digest if before == self._ours else self._ours
                return digest
        raise RunnerError(
            f"{self._path.name} keeps changing: another program is saving it",
            where=str(self._path),
            hint="stop that program, then run again; the journal is intact",
            code=ExitCode.CONFLICT,
        )

    def _read(self) -> bytes:
        # Editors that save by two renames (Vim's 'backupcopy') briefly leave no file.
        for _ in range(TRIES):
            with suppress(FileNotFoundError):
                return self._path.read_bytes()
            time.sleep(_PAUSE)
        raise RunnerError(
            f"{self._path.name} is missing",
            where=str(self._path),
            hint="restore it, then run again; the journal is intact",
            code=ExitCode.CONFLICT,
        )


def _says(text: bytes, span: StatusSpan, status: Status, note: str) -> bool:
    """Return whether a plan has this status of a task; a missing status means PENDING."""
    if span.before:
        return status is Status.PENDING
    there = read_status(text[span.start : span.end].decode("utf-8", "replace"))
    if there is None or there[0] is not status:
        return False
    return note == there[1] or (not note and not is_grade(there[1]))


class PlanDocument(Struct, frozen=True):
    """TASK-GRAPH.md: of it the statuses are ours."""

    path: str
    statuses: Callable[[], Mapping[str, tuple[Status, str]]]
    edited: Callable[[bytes, Mapping[str, tuple[Status, str]]], bytes]
    ours: bool = False

    def content_to_commit(self, committed: bytes, working: Callable[[], bytes]) -> bytes:
        """Return the committed plan with current statuses, without uncommitted tasks."""
        del working
        return self.edited(committed, self.statuses())


class OwnershipDocument(Struct):
    """FILE_OWNERSHIP_MAP.md: of it the rows of files that tasks wrote are ours."""

    root: Path
    landed: Callable[[], Iterable[tuple[str, Iterable[str]]]] = tuple
    """Every landed task with the paths it wrote; called only if needed."""
    path: str = OWNERSHIP_MAP
    _rows: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _written: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _share: TimeQuota = field(default_factory=lambda: TimeQuota(0.03))

    @property
    def ours(self) -> bool:
        """Whether the file holds nothing but rows of what landed: no person has written in it.

        Asked of the file, since the run that made it may have been killed before it was recorded.
        """
        rows: dict[str, tuple[str, ...]] = {}
        for task, paths in self.landed():
            _add(rows, task, paths)
        lines = frozenset(add_owners(b"", rows).splitlines())
        file = self.root / self.path
        return file.exists() and lines.issuperset(file.read_bytes().splitlines())

    def add(self, task: str, paths: Iterable[str]) -> None:
        """Record that a task wrote these files."""
        _add(self._rows, task, paths)

    def keep_up(self) -> None:
        """Write what is new, where that is affordable now."""
        if self._share.affordable:
            with self._share.spend():
                self.write()

    def write(self) -> None:
        """Add the remembered rows to the file; a file that nobody had is made.

        Where a person saves it at the same moment theirs stays, and the next call adds our rows.
        """
        if self._written == self._rows:
            return
        file = self.root / self.path
        old = file.read_bytes() if file.exists() else b""
        new = add_owners(old, self._rows)
        mode = effects.mode_of(file)
        if new != old and not effects.write_file(file, new, mode=mode, expected=old):
            return
        self._written = dict(self._rows)

    def content_to_commit(self, committed: bytes, working: Callable[[], bytes]) -> bytes:
        """Return the committed map with the runner's rows added."""
        del working
        return add_owners(committed, self._rows) if self._rows else committed


def _add(rows: dict[str, tuple[str, ...]], task: str, paths: Iterable[str]) -> None:
    for path in paths:
        rows[path] = tuple(dict.fromkeys((*rows.get(path, ()), task)))
