"""The worker pool: job slots with a scratch tree each, and one message queue.

Proofs may borrow the scratch trees of slots that no task needs.
"""

from __future__ import annotations

from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from threading import Event, Lock
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from msgspec import Struct, field

from runner.gates.regression import Suspects
from runner.run.attempt import attempt, stand
from runner.run.review import Answer, Ruling

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from runner.journal.events import Event as Happening
    from runner.journal.session_events import PermissionAnswered, PermissionAsked
    from runner.model import Outcome
    from runner.run.worker_assignment import Assignment, WorkerContext
    from runner.writes.sast import SastScan

A = TypeVar("A")
_PATIENCE = 1.0
"""Seconds between two checks whether the asking attempt still runs."""


class Happened(Struct, frozen=True):
    """A worker has something for the journal."""

    task: str
    attempt: int
    event: Happening


class Scanning(Struct, frozen=True):
    """A static analysis of an attempt's files goes on behind."""

    task: str
    attempt: int
    scan: SastScan


class Finished(Struct, frozen=True):
    """A worker came back; `result()` gives the outcome or raises the bug it met."""

    task: str
    result: Callable[[], Outcome]


class Asking(Struct, frozen=True):
    """A worker waits for a person's word about its writes; `answer` lets it go on."""

    outcome: Outcome
    answer: Callable[[Ruling], None]


class Permitting(Struct, frozen=True):
    """A worker waits for a person's word about one call of a tool."""

    task: str
    attempt: int
    question: PermissionAsked
    answer: Callable[[PermissionAnswered | None], None]


class Tracing(Struct, frozen=True):
    """A worker waits to hear which tests of other tasks its proven change may break."""

    assignment: Assignment
    outcome: Outcome
    answer: Callable[[Suspects], None]


class Cancelling(Struct, frozen=True):
    """A person wants a task ended that nobody works on: it may wait for its next try."""

    task: str


class Interrupted(Struct, frozen=True):
    """A person wants the run to end."""


Message: TypeAlias = (
    Happened | Scanning | Asking | Permitting | Tracing | Finished | Cancelling | Interrupted
)


class InlineExecutor(Executor):
    """Runs what is submitted at once, in this thread: one job at a time, easy to reason about."""

    def submit(  # type: ignore[override]  # the standard one is generic in ways not used here
        self,
        fn: Callable[[Assignment, WorkerContext], Outcome],
        assignment: Assignment,
        site: WorkerContext,
    ) -> Future[Outcome]:
        """Run it and give a future that is finished."""
        future: Future[Outcome] = Future()
        try:
            future.set_result(fn(assignment, site))
        except Exception as bug:  # noqa: BLE001 - raised again where the result is asked for
            future.set_exception(bug)
        return future


class WorkerPool:
    """Hands assignments to free slots and brings back what the workers say."""

    def __init__(
        self,
        slots: int,
        make_site: Callable[[int, WorkerPool], WorkerContext],
        *,
        inline: bool = False,
        executor: Executor | None = None,
    ) -> None:
        self.cancelled = Event()
        """Set when everything has to end."""
        self.ended: set[str] = set()
        """Tasks whose attempt a person ended, until this is processed."""
        self._endings: dict[int, Event] = {}
        self.interrupted = False
        """Whether a person requested the end of the run."""
        self.inline = inline
        self.tracer: Callable[[Assignment, Outcome], Suspects] = lambda _one, _outcome: Suspects()
        """Called only in the coordinator's thread; by default it knows no other tasks."""
        self.permitter: Callable[[str, int, PermissionAsked], PermissionAnswered | None] = (
            self.report
        )
        """As `tracer`; without an engine no prompt is shown."""
        # Not a Queue: a signal handler puts into this one, perhaps while the same thread is about
        # to take from it, which only SimpleQueue allows (Python, queue.SimpleQueue.put).
        self._inbox: SimpleQueue[Message] = SimpleQueue()
        self.batch_is_open: Callable[[], bool] = lambda: False
        """Whether proven tasks wait for others, to run a test suite once for all."""
        self._make_site = make_site
        self._sites: dict[int, WorkerContext] = {}
        self._free = list(range(1 if inline else slots))[::-1]
        self._busy: dict[str, int] = {}
        self.lanes = SpareSlots(
            len(self._free), lambda: len(self._busy), lambda number: make_site(number, self)
        )
        """Slots that workers use in addition to their own."""
        self._executor: Executor = executor or (
            InlineExecutor()
            if inline
            else ThreadPoolExecutor(max_workers=slots, thread_name_prefix="slot")
        )

    @property
    def working(self) -> tuple[str, ...]:
        """Tasks that are being worked on now."""
        return tuple(self._busy)

    @property
    def has_free_slot(self) -> bool:
        """Whether another task may start."""
        return bool(self._free)

    def has_company(self) -> bool:
        """Return whether other attempts run or wait; thread-safe."""
        return len(self._busy) > 1 or self.batch_is_open()

    def take_slot(self) -> int:
        """Take a free slot for the next assignment and return its number."""
        return self._free.pop()

    def give_back(self, number: int) -> None:
        """Give back a slot that was taken but not used."""
        self._free.append(number)

    def stand(self, assignment: Assignment) -> Outcome | None:
        """Return the outcome of a check that has fully passed on this tree; None if it must run."""
        site = next(iter(self._sites.values()), None)
        return None if site is None else stand(assignment, site)

    def start(self, assignment: Assignment, number: int) -> None:
        """Start an assignment in the slot that was taken for it."""
        site = self._sites.get(number)
        if site is None:
            site = self._sites[number] = self._make_site(number, self)
        self._endings.pop(number, None)
        self._busy[assignment.task.id] = number
        future = self._executor.submit(attempt, assignment, site)
        task = assignment.task.id
        future.add_done_callback(lambda done: self._inbox.put(Finished(task, done.result)))

    def ends(self, number: int) -> Event:
        """Return the event that is set to stop a slot's work, by the whole run or for this task."""
        event = self._endings.setdefault(number, Event())
        if self.cancelled.is_set():
            event.set()
        return event

    def end(self, task: str) -> bool:
        """End one task's attempt, from any thread; False if it is not running."""
        number = self._busy.get(task)
        if number is None:
            return False
        self.ended.add(task)
        self.ends(number).set()
        return True

    def cancel_task(self, task: str) -> None:
        """Cancel a task at a person's request, running or not; called from any thread."""
        if not self.end(task):
            self._inbox.put(Cancelling(task))

    def cancel(self) -> None:
        """Stop all work; the workers return interrupted outcomes."""
        # Order matters: an event created while the others are set finds this one set (`ends`).
        self.cancelled.set()
        for event in tuple(self._endings.values()):
            event.set()

    def report(self, task: str, number: int, event: Happening) -> None:
        """Send an event to the journal; called by workers."""
        self._inbox.put(Happened(task, number, event))

    def add_scan(self, task: str, number: int, scan: SastScan) -> None:
        """Register a scan whose findings are read later; called by workers."""
        self._inbox.put(Scanning(task, number, scan))

    def ask(self, outcome: Outcome) -> Ruling:
        """Request a review of the writes and wait for the ruling; called by workers."""
        if self.inline:  # the coordinator is this very thread: it cannot be asked from here
            return Ruling(Answer.WAITS)
        answers: SimpleQueue[Ruling] = SimpleQueue()
        self._inbox.put(Asking(outcome, answers.put))
        return self._await(answers, outcome.task) or Ruling(Answer.WAITS)

    def permit(
        self, task: str, number: int, question: PermissionAsked
    ) -> PermissionAnswered | None:
        """Request a person's permission for one call; None if it stays open; called by workers."""
        if self.inline:  # the coordinator is this very thread
            return self.permitter(task, number, question)
        answers: SimpleQueue[PermissionAnswered | None] = SimpleQueue()
        self._inbox.put(Permitting(task, number, question, answers.put))
        return self._await(answers, task)

    def trace(self, assignment: Assignment, outcome: Outcome) -> Suspects:
        """Request the tests of other tasks that a change may break; called by workers."""
        if self.inline:  # the coordinator is this very thread
            return self.tracer(assignment, outcome)
        answers: SimpleQueue[Suspects] = SimpleQueue()
        self._inbox.put(Tracing(assignment, outcome, answers.put))
        return self._await(answers, assignment.task.id) or Suspects()

    def _await(self, answers: SimpleQueue[A], task: str) -> A | None:
        """Wait for the coordinator's answer; None if the attempt is stopped before."""
        over = self.ends(self._busy[task]) if task in self._busy else self.cancelled
        while not over.is_set():
            # In slices: it is not possible to wait for a queue and an event at once.
            with suppress(Empty):
                return answers.get(timeout=_PATIENCE)
        return None

    @property
    def has_news(self) -> bool:
        """Whether `wait` would answer at once."""
        return not self._inbox.empty()

    def wait(self, seconds: float | None = None) -> Message | None:
        """Return the next message of a worker, or None after `seconds`."""
        message = self._get(seconds)
        if isinstance(message, Finished):
            self._free.append(self._busy.pop(message.task))
        return message

    def _get(self, seconds: float | None) -> Message | None:
        """Return the next message, polling in short intervals, or None.

        Python calls handlers between instructions of the main thread alone (its module signal): a
        signal that comes right before a wait begins would be heard when that ends.
        """
        left = seconds
        while True:
            piece = _PATIENCE if left is None else min(left, _PATIENCE)
            with suppress(Empty):
                return self._inbox.get(timeout=piece)
            if left is not None and (left := left - piece) <= 0:
                return None

    def interrupt(self) -> None:
        """Wake the coordinator to end the run; may be called by a signal handler at any time."""
        self.interrupted = True
        self._inbox.put(Interrupted())
        if self.inline:  # the coordinator is busy with the command itself
            self.cancel()

    def close(self) -> None:
        """Wait for the workers and give the slots back."""
        self.cancel()
        self._executor.shutdown(wait=True)
        for site in self._sites.values():
            site.close()
        self.lanes.close()


class SpareSlots(Struct):
    """Lends scratch trees to workers, from any thread; they are kept for the next who asks."""

    slots: int
    busy: Callable[[], int]
    """Returns the number of tasks in progress."""
    make_site: Callable[[int], WorkerContext]
    _lent: int = 0
    _made: int = 0
    _idle: list[WorkerContext] = field(default_factory=list)
    _lock: Lock = field(default_factory=Lock)

    @contextmanager
    def claim(self) -> Iterator[bool]:
        """Reserve a slot for the duration of the block, if one is free, and yield whether it was.

        No scratch tree is made: what is claimed works elsewhere.
        """
        with self._lock:
            free = self.busy() + self._lent < self.slots
            self._lent += free
        try:
            yield free
        finally:
            with self._lock:
                self._lent -= free

    @contextmanager
    def lend(self) -> Iterator[WorkerContext | None]:
        """Lend a site for the duration of the block; None if every slot is busy."""
        with self.claim() as free:
            if not free:
                yield None
                return
            with self._lock:
                site, number = self._idle.pop() if self._idle else None, self.slots + self._made
                self._made += site is None
            try:
                # Without the lock, since making a scratch tree is slow; the number is already
                # reserved.
                site = site or self.make_site(number)
                yield site
            finally:
                with self._lock:
                    self._idle += [site] if site else []

    @property
    def may_go_on(self) -> bool:
        """Whether what is lent is still nobody's: no task has started in its place."""
        with self._lock:
            return self.busy() + self._lent <= self.slots

    def close(self) -> None:
        """Close the idle scratch trees."""
        for site in self._idle:
            site.close()
        self._idle.clear()
