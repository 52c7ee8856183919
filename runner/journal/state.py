"""The state of a run and its tasks: a frozen value, and the fold that computes it.

A map that is never changed: setting a key makes a new map and shares what it can.

Two levels: a tuple of small dicts. One key is set by copying one small dict and the tuple, which
costs about 2 µs at 10,000 keys where copying one dict of them costs 60.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias, TypeVar, overload
from zlib import crc32

from msgspec import Struct
from msgspec.structs import replace

from runner.journal import events, session_events
from runner.journal.events import NAMES
from runner.journal.session_events import (
    DraftLanded,
    DraftProposed,
    DraftReviewed,
    TaskWaived,
    find_usage,
)
from runner.journal.task_fold import TASK_FOLDS, fold_named_in_change
from runner.journal.task_state import TaskState
from runner.model import Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from runner.journal.events import Record, WriteRejected, WriteReviewed
    from runner.model import Digest

    Review: TypeAlias = WriteReviewed | WriteRejected


K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
T = TypeVar("T")
_BUCKETS = 256


def _bucket(key: Hashable) -> int:
    # Not hash(): string hashes differ between processes, and so would the order.
    return crc32((key if isinstance(key, str) else repr(key)).encode("utf-8", "replace")) % _BUCKETS


class PersistentMap(Mapping[K, V]):
    """A frozen mapping; its order is the same for the same keys, and otherwise unspecified."""

    __slots__ = ("_buckets", "_length")

    def __init__(self, items: Iterable[tuple[K, V]] = ()) -> None:
        # One shared empty dict: the first write to a bucket copies it.
        self._begin(({},) * _BUCKETS, 0, dict(items))

    def with_items(self, items: Mapping[K, V]) -> PersistentMap[K, V]:
        """Return the map with these items added."""
        if not items:
            return self
        made = PersistentMap[K, V]()
        made._begin(self._buckets, self._length, items)  # its own kind
        return made

    def _begin(self, buckets: tuple[dict[K, V], ...], length: int, items: Mapping[K, V]) -> None:
        """Set what it holds, once: these, and what was there before."""
        own, copied = list(buckets), set[int]()
        for key, value in items.items():
            number = _bucket(key)
            if number not in copied:
                copied.add(number)
                own[number] = own[number].copy()
            length += key not in own[number]
            own[number][key] = value
        self._buckets, self._length = tuple(own), length

    def __getitem__(self, key: K) -> V:
        return self._buckets[_bucket(key)][key]

    @overload
    def get(self, key: K, default: None = None, /) -> V | None: ...
    @overload
    def get(self, key: K, default: V | T, /) -> V | T: ...

    def get(self, key: K, default: V | T | None = None, /) -> V | T | None:
        """Return the value of `key`, or the default, without raising an exception inside."""
        return self._buckets[_bucket(key)].get(key, default) if self._length else default

    def __iter__(self) -> Iterator[K]:
        for bucket in self._buckets:
            yield from bucket

    def __len__(self) -> int:
        return self._length

    def __repr__(self) -> str:
        return f"PersistentMap({dict(self)!r})"


class Building(Mapping[K, V]):
    """A map that is being made from a frozen one: what was set lies beside it until the end."""

    __slots__ = ("_set", "_start")

    def __init__(self, start: PersistentMap[K, V] | None = None) -> None:
        self._start = PersistentMap[K, V]() if start is None else start
        self._set: dict[K, V] = {}

    def __getitem__(self, key: K) -> V:
        return self._set[key] if key in self._set else self._start[key]

    @overload
    def get(self, key: K, default: None = None, /) -> V | None: ...
    @overload
    def get(self, key: K, default: V | T, /) -> V | T: ...

    def get(self, key: K, default: V | T | None = None, /) -> V | T | None:
        """Return the value of `key`, or the default, without raising an exception inside."""
        return self._set[key] if key in self._set else self._start.get(key, default)

    def __setitem__(self, key: K, value: V) -> None:
        self._set[key] = value

    def __iter__(self) -> Iterator[K]:
        yield from self._start
        yield from (key for key in self._set if key not in self._start)

    def __len__(self) -> int:
        return len(self._start) + sum(key not in self._start for key in self._set)

    def finish(self) -> PersistentMap[K, V]:
        """Return the frozen map; the original one if nothing was set."""
        self._start, self._set = self._start.with_items(self._set), {}
        return self._start


class ReviewKey(NamedTuple):
    """The key of a person's decision about one write; it survives attempts."""

    task: str
    path: str
    before: Digest | None
    after: Digest | None


class RunState(Struct, frozen=True):
    """Everything a command needs to know of what happened before."""

    seq: int = 0
    """Number of the last record."""
    last_id: str = ""
    run: str = ""
    run_pid: int = 0
    run_started: str = ""
    run_open: bool = False
    """Whether the last run has recorded no end; the lock shows whether it is alive."""
    head: str = ""
    """Commit on which that run started."""
    branch: str = ""
    unrecorded: bool = False
    """Whether work proven without a commit still lacks a record commit after a run's end."""
    ended_head: str = ""
    """Last commit of the last run that ended by itself."""
    ended_exit: int = 0
    recorded_head: str = ""
    """Last record commit made here."""
    plan: Digest = ""
    mode: str = ""
    stuck: tuple[str, ...] = ()
    last_landing_head: str = ""
    """Commit that landed last."""
    published_head: str = ""
    """Head at which statuses were last written to the plan."""
    published_plan: Digest = ""
    landing: Record | None = None
    """A task.landing without a successor: check its trailer before anything else."""
    decisions: int = 0
    """Number of the last decision; likewise changes and checkpoints."""
    changes: int = 0
    checkpoints: int = 0
    since_checkpoint: tuple[str, ...] = ()
    """Tasks finished since the last full checkpoint, in that order."""
    awaiting_line: tuple[str, ...] = ()
    """Finished tasks whose status line is not yet in CHECKPOINT.md."""
    verified_tree: Digest = ""
    """Tree that last passed a complete proof."""
    failed_tree: Digest = ""
    """Tree of the last such proof, if it failed."""
    whole_head: str = ""
    """Commit of the last such proof; after that of a run, the run's last commit."""
    whole_run: str = ""
    shipped: str = ""
    """Tag of a ship that was not reopened."""
    drafts: int = 0
    """Number of the last draft of a plan."""
    open_drafts: tuple[DraftProposed, ...] = ()
    """Drafts that wait for a person, or were approved but are not in their plan yet."""
    approved_drafts: tuple[Digest, ...] = ()
    """Digests of open drafts that a person approved."""
    drafted: Usage = Usage()
    """Total usage of drafts, whatever their outcome."""
    tasks: Mapping[str, TaskState] = PersistentMap()
    reviews: Mapping[ReviewKey, Review] = PersistentMap()
    """People's decisions on single writes; `auto` and `off` are not a person's."""

    @classmethod
    def empty(cls) -> RunState:
        """Return the state before the first record."""
        return cls()

    def after(self, record: Record) -> RunState:
        """Return the state after one more record."""
        kind = type(record.event)
        if kind not in TASK_FOLDS and kind not in Folding.FOLDS:
            newest = record.seq > self.seq  # what another process wrote may come late
            return replace(self, seq=record.seq, last_id=record.id) if newest else self
        folding = Folding(self)
        folding.take(record)
        return folding.finish()

    def task(self, task: str) -> TaskState:
        """Return the state of a task; an initial one if the journal has none."""
        return self.tasks.get(task) or TaskState(task)

    @property
    def open_landing(self) -> events.TaskLanding | None:
        """The landing that nothing followed, or None."""
        event = self.landing.event if self.landing else None
        return event if isinstance(event, events.TaskLanding) else None

    def states_of(self, tasks: Iterable[str]) -> dict[str, TaskState]:
        """Return the known states of these tasks; unknown tasks are omitted."""
        found = ((task, self.tasks.get(task)) for task in tasks)
        return {task: known for task, known in found if known is not None}

    def review(
        self, task: str, path: str, before: Digest | None, after: Digest | None
    ) -> Review | None:
        """Return a person's decision about exactly these bytes, or None."""
        return self.reviews.get(ReviewKey(task, path, before, after))


def fold(records: Iterable[Record], start: RunState | None = None) -> RunState:
    """Return the state after these records, which must be in order."""
    folding = Folding(start or RunState())
    take = folding.take
    for record in records:
        take(record)
    return folding.finish()


class Folding:
    """A state that is being made; `done` freezes it. One path for one record and for many."""

    __slots__ = (
        *("_awaiting", "_landing", "_last", "_reviews", "_since", "_start", "_tasks", "_values"),
    )

    def __init__(self, start: RunState) -> None:
        self._start = start
        self._values: dict[str, Any] = {}  # the fields of RunState that were set
        self._tasks: Building[str, TaskState] = Building(_freeze(start.tasks))
        self._reviews: Building[ReviewKey, Review] = Building(_freeze(start.reviews))
        # Dictionaries as ordered sets: names are removed without a scan. Made by the first event
        # that needs them, since one record must not cost all names.
        self._since: dict[str, None] | None = None
        self._awaiting: dict[str, None] | None = None
        self._last: Record | None = None
        self._landing = start.landing

    def take(self, record: Record) -> None:
        """Fold one record in; an event that is unknown only moves the sequence on."""
        self._last = record
        kind = type(record.event)
        change = TASK_FOLDS.get(kind)
        if change is not None:
            name = record.task
            task = self._tasks.get(name) or TaskState(name)
            self._tasks[name] = change(task, record, record.event)
            landing = self._landing
            if landing is not None and landing.task == name and kind in _SETTLES_LANDING:
                self._landing = None
        note = self.FOLDS.get(kind)
        if note is not None:
            note(self, record, record.event)

    def finish(self) -> RunState:
        """Return the state after all records folded so far."""
        if self._last is None:
            return self._start
        values = self._values
        if self._since is not None:
            values["since_checkpoint"] = tuple(self._since)
        if self._awaiting is not None:
            values["awaiting_line"] = tuple(self._awaiting)
        newest = self._last.seq > self._start.seq  # what another process wrote may come late
        return replace(
            self._start,
            seq=self._last.seq if newest else self._start.seq,
            last_id=self._last.id if newest else self._start.last_id,
            tasks=self._tasks.finish(),
            reviews=self._reviews.finish(),
            landing=self._landing,
            **values,
        )

    def _now(self, name: str) -> Any:
        return self._values[name] if name in self._values else getattr(self._start, name)

    def _run_started(self, record: Record, event: events.RunStarted) -> None:
        self._values.update(
            run=record.run,
            run_pid=event.pid,
            run_started=record.time,
            run_open=True,
            head=event.head,
            branch=event.branch,
            plan=event.plan,
            stuck=(),
        )

    def _run_finished(self, record: Record, event: events.RunFinished) -> None:
        self._values.update(run_open=False, ended_head=event.head, ended_exit=event.exit)
        self._values["unrecorded"] = event.unrecorded
        if event.record:
            self._values["recorded_head"] = event.record
        if self._now("whole_run") == record.run:  # only its own record came after that
            self._values["whole_head"] = event.head

    def _run_stuck(self, _: Record, event: events.RunStuck) -> None:
        self._values["stuck"] = event.waiting

    def _mode_switched(self, _: Record, event: events.ModeSwitched) -> None:
        self._values["mode"] = event.mode

    def _plan_updated(self, _: Record, event: events.PlanUpdated) -> None:
        self._values["plan"] = event.plan

    def _write_reviewed(self, record: Record, event: events.WriteReviewed) -> None:
        if event.review in {"applied", "edited"}:
            self._reviews[ReviewKey(record.task, event.path, event.before, event.after)] = event

    def _write_rejected(self, record: Record, event: events.WriteRejected) -> None:
        self._reviews[ReviewKey(record.task, event.path, event.before, event.after)] = event

    def _task_landing(self, record: Record, _: events.TaskLanding) -> None:
        self._landing = record

    def _task_landed(self, _: Record, event: events.TaskLanded) -> None:
        if event.commit:
            self._values["last_landing_head"] = event.commit

    def _task_done(self, record: Record, _: events.TaskDone) -> None:
        self._since = _order(self._since, self._start.since_checkpoint)
        self._awaiting = _order(self._awaiting, self._start.awaiting_line)
        self._since[record.task] = self._awaiting[record.task] = None

    def _task_blocked(self, record: Record, _: events.TaskBlocked) -> None:
        self._awaiting = _order(self._awaiting, self._start.awaiting_line)
        self._awaiting[record.task] = None

    def _statuses_published(self, _: Record, event: events.StatusesPublished) -> None:
        tasks = self._tasks
        for name, status in event.statuses.items():
            tasks[name] = (tasks.get(name) or TaskState(name)).as_published(status)
        self._values.update(published_head=event.head, published_plan=event.plan)

    def _change_recorded(self, _: Record, event: events.ChangeRecorded) -> None:
        # The greatest, not the last: records of another process may be folded late.
        self._values["changes"] = max(self._now("changes"), event.number)
        for name in event.tasks:
            task = self._tasks.get(name)
            if task is not None and (task.via or task.changed):
                self._tasks[name] = fold_named_in_change(task, event)

    def _decision_made(self, _: Record, event: events.DecisionMade) -> None:
        self._values["decisions"] = max(self._now("decisions"), event.number)

    def _checkpoint_written(self, _: Record, event: events.CheckpointWritten) -> None:
        if event.kind == "full":
            self._since = _order(self._since, self._start.since_checkpoint)
            _leave_out(self._since, event.tasks)
            self._values["checkpoints"] = max(self._now("checkpoints"), event.number)
        else:
            self._awaiting = _order(self._awaiting, self._start.awaiting_line)
            _leave_out(self._awaiting, event.tasks)

    def _tree_verified(self, record: Record, event: session_events.TreeVerified) -> None:
        self._values.update(whole_head=event.head, whole_run=record.run)
        self._values["failed_tree"] = "" if event.passed else event.tree
        if event.passed:
            self._values["verified_tree"] = event.tree
        # The tree that passed has now failed: its pass was luck and proves nothing.
        elif self._now("verified_tree") == event.tree:
            self._values["verified_tree"] = ""

    def _ship_declared(self, _: Record, event: session_events.ShipDeclared) -> None:
        self._values["shipped"] = event.tag

    def _ship_reopened(self, _: Record, __: session_events.ShipReopened) -> None:
        self._values["shipped"] = ""

    def _draft_proposed(self, _: Record, event: DraftProposed) -> None:
        self._values["drafts"] = max(self._now("drafts"), event.number)
        others = (one for one in self._now("open_drafts") if one.number != event.number)
        self._values["open_drafts"] = (*others, event)
        self._values["drafted"] = self._now("drafted") + find_usage(event)

    def _draft_reviewed(self, _: Record, event: DraftReviewed) -> None:
        if not event.approved:
            self._close_draft(event.number)
        elif event.digest not in self._now("approved_drafts"):
            self._values["approved_drafts"] = (*self._now("approved_drafts"), event.digest)

    def _draft_landed(self, _: Record, event: DraftLanded) -> None:
        self._close_draft(event.number)

    def _close_draft(self, number: int) -> None:
        waiting = tuple(one for one in self._now("open_drafts") if one.number != number)
        known = {one.digest for one in waiting}
        approved = tuple(one for one in self._now("approved_drafts") if one in known)
        self._values.update(open_drafts=waiting, approved_drafts=approved)

    # Any: each function takes the event type that is its key.
    FOLDS: ClassVar[dict[type[events.Event], Callable[[Folding, Record, Any], None]]] = {
        events.RunStarted: _run_started,
        events.RunFinished: _run_finished,
        events.RunStuck: _run_stuck,
        events.ModeSwitched: _mode_switched,
        events.PlanUpdated: _plan_updated,
        events.WriteReviewed: _write_reviewed,
        events.WriteRejected: _write_rejected,
        events.TaskLanding: _task_landing,
        events.TaskLanded: _task_landed,
        events.TaskDone: _task_done,
        events.TaskBlocked: _task_blocked,
        events.StatusesPublished: _statuses_published,
        events.ChangeRecorded: _change_recorded,
        events.DecisionMade: _decision_made,
        events.CheckpointWritten: _checkpoint_written,
        session_events.TreeVerified: _tree_verified,
        session_events.ShipDeclared: _ship_declared,
        session_events.ShipReopened: _ship_reopened,
        DraftProposed: _draft_proposed,
        DraftReviewed: _draft_reviewed,
        DraftLanded: _draft_landed,
    }


def _freeze(mapping: Mapping[Any, Any]) -> PersistentMap[Any, Any]:
    return mapping if isinstance(mapping, PersistentMap) else PersistentMap(mapping.items())


def _order(have: dict[str, None] | None, start: tuple[str, ...]) -> dict[str, None]:
    return dict.fromkeys(start) if have is None else have


def _leave_out(names: dict[str, None], gone: tuple[str, ...]) -> None:
    """Remove the named tasks; a checkpoint without names covers all of them."""
    for name in gone or tuple(names):
        names.pop(name, None)


# Any event of a task ends its landing, except a person's answer: another process may append that
# between a landing and its end, and recovery would find nothing.
_SETTLES_LANDING = frozenset(TASK_FOLDS) - {
    *(events.TaskApproved, TaskWaived, session_events.PlanProposed, session_events.PlanReviewed),
    *(session_events.PermissionAsked, session_events.PermissionAnswered),
}
FOLDED: frozenset[str] = frozenset(NAMES[kind] for kind in (*TASK_FOLDS, *Folding.FOLDS))
"""Names of the events that change the state; a fold need not decode others."""
