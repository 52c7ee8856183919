"""The lease of a job: whether it is still wanted, and who waits for its answer.

The worker's half runs inside a Dask worker; outside of one (in a test) nobody cancels and nobody
hears. At home each job that waits has one ticket, honoured once.
"""

from __future__ import annotations

import json
import threading
from collections import deque
from contextlib import contextmanager, suppress
from time import sleep
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from runner import effects
from runner.lazy_module import lazy_module
from runner.secrets.redact import redact
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import distributed
else:
    distributed = lazy_module("distributed")


_LOOK = 0.1
"""Seconds between two checks whether the job is still wanted."""
_UNWANTED = frozenset({"cancelled", "released", "forgotten", "resumed"})
"""States of a running task that the scheduler took back (distributed's worker states)."""
_LONGEST_TEXT = 20_000
"""Maximum characters of one message; the end of a longer text is kept."""

END = "runner-end-job"
"""Message with which the coordinator ends one job; it answers with its results so far."""
_ENDS: dict[str, Callable[[], None]] = {}
"""By ticket, the function that ends a job of this process."""


def _end_job(ticket: str = "") -> str:
    """Handle `END` in the worker's event loop, without pickle."""
    if end := _ENDS.get(ticket):
        end()
    return ""


STARTED, LINE, LATE = "started", "line", "late"
"""Kinds of messages about a job: it started, a line of output, its answer is too late."""
_MOST_LINES = 1_000
"""Lines of output that a job holds until it sends them or adds them to its answer."""
_IDLE = 50
"""Checks without a job after which checking stops."""


class JobLease(Struct):
    """One job in this process; or a channel of them, which has the task of Dask that they share."""

    ticket: str
    topic: str
    worker: Any  # distributed.Worker ships no types; None outside of one
    key: str
    line_count: int = 0
    """Lines of output so far."""
    was_ended: bool = False
    """Whether it was ended because nothing waits for its partial result any more."""
    _lines: deque[str] = field(default_factory=lambda: deque(maxlen=_MOST_LINES))
    _began: bool = False
    """Whether the coordinator has received the start message."""
    _sent: int = 0
    """Number of lines sent to the coordinator."""
    _heard: int = 0
    """Lines sent at the previous check: they arrive before the answer."""
    _end: Callable[[], None] | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def of(cls, ticket: str, topic: str) -> JobLease:
        """Create the lease of the job that runs in this thread."""
        try:
            worker = distributed.get_worker()
        except ValueError:
            return cls(ticket, topic, None, "")
        worker.handlers[END] = _end_job
        return cls(ticket, topic, worker, str(worker.get_current_task()))

    @property
    def name(self) -> str:
        """Address of the worker."""
        return "" if self.worker is None else str(self.worker.address)

    def is_over(self) -> bool:
        """Return whether the job was cancelled or its worker is closing."""
        if self.worker is None:
            return False
        if self.worker.status.name not in {"running", "paused"}:
            return True
        task = self.worker.state.tasks.get(self.key)
        return task is None or task.state in _UNWANTED

    def is_crowded(self) -> bool:
        """Return whether another job waits for a thread of this worker."""
        return self.worker is not None and bool(self.worker.state.ready)

    def tell(self, kind: str, text: str = "") -> None:
        """Send strings to the coordinator; the message may be lost."""
        if self.worker is not None:
            with suppress(RuntimeError, OSError):  # the worker is closing
                message = json.dumps([self.ticket, kind, text[-_LONGEST_TEXT:]])
                self.worker.log_event(self.topic, message)

    def say(self, line: str) -> None:
        """Queue an output line for the coordinator; it is sent soon or with the result."""
        with self._lock:
            self._lines.append(line[-_LONGEST_TEXT:])
            self.line_count += 1
            if self.line_count - self._sent == _MOST_LINES:
                self._report_lines()

    @property
    def lines(self) -> tuple[str, ...]:
        """The last lines, with all that the coordinator has perhaps not heard when the job ends."""
        with self._lock:
            return self._since(self._heard)

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Send the start and the output of the job to the coordinator during the block.

        What is over before anybody looks tells all of it by its answer: a message of its own for
        each word costs as much as the whole job of a small check.
        """
        _WATCHER.add(self)
        try:
            yield
        finally:
            _WATCHER.remove(self)

    @contextmanager
    def watch(self, end: Callable[[], None], end_alone: Callable[[], None]) -> Iterator[None]:
        """Call `end` if the lease ends during the block, and `end_alone` if the job is to end."""
        _ENDS[self.ticket], self._end = end_alone, end
        try:
            yield
        finally:
            self._end = None
            _ENDS.pop(self.ticket, None)

    def look(self) -> None:
        """Send the lines that are not sent yet, and end what is over."""
        if not self._began:
            self._began = True
            self.tell(STARTED)
        with self._lock:
            self._heard = self._sent
            self._report_lines()
        end = self._end
        if end is not None and self.is_over():
            self._end = None
            self.was_ended = True
            end()

    def _report_lines(self) -> None:
        for line in self._since(self._sent):
            self.tell(LINE, line)
        self._sent = self.line_count

    def _since(self, number: int) -> tuple[str, ...]:
        """Return the stored lines after number `number`."""
        lines = tuple(self._lines)
        return lines[max(0, len(lines) - (self.line_count - number)) :]


class _Watcher:
    """Looks after the jobs of this process, in one thread: making one takes as long as a job."""

    def __init__(self) -> None:
        self._held: dict[str, JobLease] = {}
        self._is_there = False
        self._lock = threading.Lock()

    def add(self, lease: JobLease) -> None:
        """Watch a job from now on."""
        with self._lock:
            self._held[lease.ticket] = lease
            if not self._is_there:
                self._is_there = True
                threading.Thread(target=self._run, name="duty", daemon=True).start()

    def remove(self, lease: JobLease) -> None:
        """Stop watching a job."""
        with self._lock:
            self._held.pop(lease.ticket, None)

    def _run(self) -> None:
        idle = 0
        while idle < _IDLE or not self._may_leave():
            sleep(_LOOK)
            held = tuple(self._held.values())
            idle = 0 if held else idle + 1
            for lease in held:
                lease.look()

    def _may_leave(self) -> bool:
        with self._lock:
            self._is_there = bool(self._held)
            return not self._is_there


_WATCHER = _Watcher()


_REMEMBERED = 10_000


class PendingResult(Struct):
    """A job that somebody waits for."""

    name: str
    task: str
    attempt: int
    show: Callable[[str], None]
    """Prints a line of its output."""
    known: tuple[str, ...] = ()
    """Secrets that must not be shown."""
    heard: float = field(default_factory=effects.monotonic)
    """Time of its last sign of life."""
    began: bool = False
    lines: int = 0
    """Number of its output lines received."""


class PendingResults(Struct):
    """Opened by slots, heard of from the client's thread."""

    say: Callable[[str], None]
    """Prints a permanent line for the person."""
    _open: dict[str, PendingResult] = field(default_factory=dict)
    _over: dict[str, PendingResult] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def open(
        self, task: str, attempt: int, show: Callable[[str], None], known: tuple[str, ...] = ()
    ) -> PendingResult:
        """Register a new job."""
        ticket = PendingResult(effects.new_id(), task, attempt, show, known)
        with self._lock:
            self._open[ticket.name] = ticket
        return ticket

    def honour(self, name: str) -> bool:
        """Return whether this is the first result of an open job, and close the job."""
        with self._lock:
            # Remove and check in one step under the lock: if a job was assigned twice, one answer
            # counts.
            ticket = self._open.pop(name, None)
            if ticket is not None:
                self._note_over(ticket)
                return True
            known = self._over.pop(name, None)
        self._report_late(known)
        return False

    def forget(self, ticket: PendingResult) -> None:
        """Forget a job that a person ended or whose run is over; late messages are ignored."""
        with self._lock:
            self._open.pop(ticket.name, None)

    def close(self, ticket: PendingResult) -> None:
        """Close a job that was lost and runs elsewhere."""
        with self._lock:
            if self._open.pop(ticket.name, None) is not None:
                self._note_over(ticket)

    def hear(self, name: str, kind: str, text: str) -> None:
        """Handle a worker's message; for a closed job, report a late result once."""
        with self._lock:
            ticket = self._open.get(name)
            late = self._over.pop(name, None) if kind == LATE else None
        if ticket is not None:
            ticket.began = True
            ticket.heard = effects.monotonic()
            if kind == LINE:
                ticket.lines += 1
                ticket.show(redact(text, ticket.known))
        elif late is not None:
            self._report_late(late)

    def show_remaining_lines(self, ticket: PendingResult, lines: Sequence[str], total: int) -> None:
        """Show the lines of a result that were not shown before; the job printed `total` lines."""
        for line in lines[max(0, len(lines) - (total - ticket.lines)) :]:
            self.hear(ticket.name, LINE, line)

    def _note_over(self, ticket: PendingResult) -> None:
        self._over[ticket.name] = ticket
        while len(self._over) > _REMEMBERED:
            del self._over[next(iter(self._over))]

    def _report_late(self, ticket: PendingResult | None) -> None:
        if ticket is not None:
            self.say(
                f"{display(ticket.task)}: dropped a late answer to attempt {ticket.attempt}, "
                "which was already given up"
            )
