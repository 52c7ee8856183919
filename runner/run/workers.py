"""The workers: job slots with a scratch tree each, and the one queue they report to."""

from __future__ import annotations

from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from threading import Event
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from runner import effects
from runner.gates.regression import Suspects
from runner.lazy_dataclass import dataclass
from runner.run.attempt import attempt, stand
from runner.run.check_lane import CheckLane, opens_here
from runner.run.review import Answer, Ruling
from runner.run.spare_slots import SpareSlots

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from runner.journal.events import Event as Happening
    from runner.journal.session_events import PermissionAnswered, PermissionAsked
    from runner.model import Outcome
    from runner.run.assignment import Assignment, WorkerContext
    from runner.run.check_lane import PlainCheck
    from runner.writes.sast import SastScan

A = TypeVar("A")
_PATIENCE = 1.0
"""Seconds between two looks whether what is asked about still goes on, or was ended."""


@dataclass(frozen=True, slots=True)
class Happened:
    """A worker has something for the journal."""

    task: str
    attempt: int
    event: Happening


@dataclass(frozen=True, slots=True)
class Scanning:
    """A static analysis of an attempt's files goes on behind."""

    task: str
    attempt: int
    scan: SastScan


@dataclass(frozen=True, slots=True)
class Finished:
    """A worker came back; `result()` gives the outcome or raises the bug it met."""

    task: str
    result: Callable[[], Outcome]


@dataclass(frozen=True, slots=True)
class Asking:
    """A worker waits for a person's word about its writes; `answer` lets it go on."""

    outcome: Outcome
    answer: Callable[[Ruling], None]


@dataclass(frozen=True, slots=True)
class Permitting:
    """A worker waits for a person's word about one call of a tool."""

    task: str
    attempt: int
    question: PermissionAsked
    answer: Callable[[PermissionAnswered | None], None]


@dataclass(frozen=True, slots=True)
class Tracing:
    """A worker waits to hear which tests of other tasks its proven change may break."""

    assignment: Assignment
    outcome: Outcome
    answer: Callable[[Suspects], None]


@dataclass(frozen=True, slots=True)
class Cancelling:
    """A person wants a task ended that nobody works on: it may wait for its next try."""

    task: str


@dataclass(frozen=True, slots=True)
class Interrupted:
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


def _attempt_when(opened: Event, assignment: Assignment, site: WorkerContext) -> Outcome:
    """The attempt, as soon as whoever hands out work lets all of it begin."""
    opened.wait()
    return attempt(assignment, site)


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
        """Set when everything is to end."""
        self.ended: set[str] = set()
        """Tasks whose attempt a person had ended, until somebody takes note of it."""
        self._endings: dict[int, Event] = {}
        self.interrupted = False
        """Whether a person wants the run to end."""
        self.inline = inline
        self.tracer: Callable[[Assignment, Outcome], Suspects] = lambda _one, _outcome: Suspects()
        """Asked in the coordinator's thread alone; by itself it knows of no other tasks."""
        self.permitter: Callable[[str, int, PermissionAsked], PermissionAnswered | None] = (
            self._report_question
        )
        """The same; nobody is asked where no engine runs."""
        # Not a Queue: a signal's handler puts into this one, perhaps while the same thread is about
        # to take from it, which only SimpleQueue allows (Python, queue.SimpleQueue.put).
        self._inbox: SimpleQueue[Message] = SimpleQueue()
        self.noted: Callable[[Happened], object] = self._inbox.put
        """Called in the coordinator's thread with its lane's check events; else they are news."""
        self.batch_is_open: Callable[[], bool] = lambda: False
        """Whether proven tasks wait for others, to run a test suite once for all."""
        self._make_site = make_site
        self._sites: dict[int, WorkerContext] = {}
        self._free = list(range(1 if inline else slots))[::-1]
        self._busy: dict[str, int] = {}
        self._at_once: Callable[[Assignment, WorkerContext], Outcome] | None = None
        self.lanes = SpareSlots(
            len(self._free), lambda: len(self._busy), lambda number: make_site(number, self)
        )
        """What workers use beside their own slots."""
        self._executor: Executor = executor or (
            InlineExecutor()
            if inline
            else ThreadPoolExecutor(max_workers=slots, thread_name_prefix="slot")
        )
        self._used: set[int] = set()
        """Slots whose scratch tree is there."""
        # Where an executor is given, work goes elsewhere: slots have no trees here (LazySlots).
        here = executor is None and not inline and opens_here()
        self._lane = CheckLane(self._note, self._finish, self._hand_over) if here else None

    @property
    def working(self) -> tuple[str, ...]:
        """Tasks that are being worked on now."""
        return tuple(self._busy)

    @property
    def has_free_slot(self) -> bool:
        """Whether another task may start."""
        return bool(self._free)

    def has_company(self) -> bool:
        """Whether others work beside the one that asks, or wait for it; from any thread."""
        return len(self._busy) > 1 or self.batch_is_open()

    def take_slot(self) -> int:
        """The number of a free slot, kept for the assignment that is started in it next."""
        return self._free.pop()

    def give_back(self, number: int) -> None:
        """Nothing is started in a slot that was taken."""
        self._free.append(number)

    def stand(self, assignment: Assignment) -> Outcome | None:
        """What a check comes to whose whole proof passed on this very tree; None where it runs."""
        site = next(iter(self._sites.values()), None)
        return None if site is None else stand(assignment, site)

    def start(self, assignment: Assignment, number: int) -> None:
        """Give an assignment to the slot that was taken for it."""
        site = self._sites.get(number)
        if site is None:
            site = self._sites[number] = self._make_site(number, self)
        self._endings.pop(number, None)
        self._busy[assignment.task.id] = number
        if number in self._used and self._lane and self._lane.take(assignment, site):
            return
        self._submit(self._at_once or attempt, assignment, site)

    def _submit(
        self,
        work: Callable[[Assignment, WorkerContext], Outcome],
        assignment: Assignment,
        site: WorkerContext,
    ) -> None:
        future = self._executor.submit(work, assignment, site)
        future.add_done_callback(lambda done: self._put(Finished(assignment.task.id, done.result)))

    def _hand_over(self, check: PlainCheck) -> None:
        """Have a check that is not quick go on in its slot's thread."""
        self._submit(check.go_on, check.assignment, check.site)

    def _finish(self, task: str, result: Callable[[], Outcome]) -> None:
        """Called by the lane, in the coordinator's thread."""
        self._inbox.put(Finished(task, result))

    def _note(self, task: str, number: int, event: Happening) -> None:
        """The same, of something for the journal."""
        self.noted(Happened(task, number, event))

    def _put(self, message: Message) -> None:
        """Called from any thread: something for the coordinator to hear."""
        self._inbox.put(message)
        self._ring()

    def _ring(self) -> None:
        if self._lane:
            # The coordinator may be hearing the lane at this moment, where the queue wakes nobody.
            self._lane.ring()

    def start_together(self, given: Sequence[tuple[Assignment, int]]) -> None:
        """Give each assignment to the slot that was taken for it; none begins before all are given.

        Making a thread waits until it runs: beside workers that are busy, for each of them in turn.
        """
        opened = Event()
        if len(given) > 1 and isinstance(self._executor, ThreadPoolExecutor):
            self._at_once = partial(_attempt_when, opened)
        try:
            for assignment, number in given:
                self.start(assignment, number)
        finally:
            self._at_once = None
            opened.set()

    def ends(self, number: int) -> Event:
        """What is set when the work in a slot is to end: all of it, or that task alone."""
        event = self._endings.setdefault(number, Event())
        if self.cancelled.is_set():
            event.set()
        return event

    def end(self, task: str) -> bool:
        """End one task's attempt; called from any thread. False where it is not worked on."""
        number = self._busy.get(task)
        if number is None:
            return False
        self.ended.add(task)
        self.ends(number).set()
        self._ring()
        return True

    def cancel_task(self, task: str) -> None:
        """End a task on a person's word, be it worked on or not; called from any thread."""
        if not self.end(task):
            self._put(Cancelling(task))

    def cancel(self) -> None:
        """End everything that runs; the workers come back with interrupted outcomes."""
        # In this order: an event that is made while the others are set finds this one set (`ends`).
        self.cancelled.set()
        for event in tuple(self._endings.values()):
            event.set()
        self._ring()

    def report(self, task: str, number: int, event: Happening) -> None:
        """Called by workers: something for the journal."""
        self._put(Happened(task, number, event))

    def add_scan(self, task: str, number: int, scan: SastScan) -> None:
        """Called by workers: a scan to ask for its findings later."""
        self._put(Scanning(task, number, scan))

    def ask(self, outcome: Outcome) -> Ruling:
        """Called by workers: have the writes reviewed, and wait for the answer."""
        if self.inline:  # the coordinator is this very thread: it cannot be asked from here
            return Ruling(Answer.WAITS)
        answers: SimpleQueue[Ruling] = SimpleQueue()
        self._put(Asking(outcome, answers.put))
        return self._await(answers, outcome.task) or Ruling(Answer.WAITS)

    def permit(
        self, task: str, number: int, question: PermissionAsked
    ) -> PermissionAnswered | None:
        """Called by workers: a person's word about one call; None where the question waits."""
        if self.inline:  # the coordinator is this very thread
            return self.permitter(task, number, question)
        answers: SimpleQueue[PermissionAnswered | None] = SimpleQueue()
        self._put(Permitting(task, number, question, answers.put))
        return self._await(answers, task)

    def _report_question(self, task: str, number: int, question: PermissionAsked) -> None:
        self.report(task, number, question)

    def trace(self, assignment: Assignment, outcome: Outcome) -> Suspects:
        """Called by workers: the tests of other tasks that a change may break."""
        if self.inline:  # the coordinator is this very thread
            return self.tracer(assignment, outcome)
        answers: SimpleQueue[Suspects] = SimpleQueue()
        self._put(Tracing(assignment, outcome, answers.put))
        return self._await(answers, assignment.task.id) or Suspects()

    def _await(self, answers: SimpleQueue[A], task: str) -> A | None:
        """What the coordinator answers; None where the attempt is to end, and nobody will."""
        over = self.ends(self._busy[task]) if task in self._busy else self.cancelled
        while not over.is_set():
            # In pieces: nobody can wait for a queue and for an event at once.
            with suppress(Empty):
                return answers.get(timeout=_PATIENCE)
        return None

    @property
    def has_news(self) -> bool:
        """Whether `wait` would answer at once."""
        if self._lane and self._lane.is_busy:
            self._lane.hear(0.0)
        return not self._inbox.empty()

    def wait(self, seconds: float | None = None) -> Message | None:
        """The next thing a worker has to say; None when nothing came in time."""
        message = self._get(seconds)
        if isinstance(message, Finished):
            number = self._busy.pop(message.task)
            self._free.append(number)
            self._used.add(number)
        return message

    def _get(self, seconds: float | None) -> Message | None:
        """The next of the inbox, waiting for a moment at a time.

        Python calls handlers between instructions of the main thread alone (its module signal): a
        signal that comes right before a wait begins would be heard when that ends.
        """
        left = seconds
        while True:
            piece = _PATIENCE if left is None else min(left, _PATIENCE)
            with suppress(Empty):
                return self._inbox.get(timeout=self._hear_lane(piece))
            if left is not None and (left := left - piece) <= 0:
                return None

    def _hear_lane(self, seconds: float | None) -> float | None:
        """Hear the lane until there is news or the time is over; the seconds that are left."""
        until = None if seconds is None else effects.monotonic() + seconds
        left = seconds
        while self._lane and self._lane.is_busy and self._inbox.empty() and left != 0:
            self._lane.hear(left)
            left = None if until is None else max(0.0, until - effects.monotonic())
        return left

    def interrupt(self) -> None:
        """Called by a signal's handler, at any moment: wake the coordinator, who ends the run."""
        self.interrupted = True
        self._put(Interrupted())
        if self.inline:  # the coordinator is busy with the command itself
            self.cancel()

    def close(self) -> None:
        """Wait for the workers and give the slots back."""
        self.cancel()
        if self._lane:
            # As long as the executor takes work: once it is shut it refuses all
            # (concurrent.futures).
            self._lane.hand_all_over()
        self._executor.shutdown(wait=True)
        if self._lane:
            self._lane.close()
        for site in self._sites.values():
            site.close()
        self.lanes.close()
