"""A job as both sides hold it: whether it is still wanted, and who waits for its answer.

The worker's half runs inside a Dask worker; outside of one (in a test) nobody cancels and nobody
hears. At home each job that waits has one ticket, honoured once.
"""

from __future__ import annotations

import json
import threading
from collections import deque
from contextlib import contextmanager, suppress
from dataclasses import field
from time import sleep
from typing import TYPE_CHECKING, Any

from runner import effects
from runner.lazy_dataclass import dataclass
from runner.lazy_module import lazy_module
from runner.secrets.redact import redact
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import distributed
else:
    distributed = lazy_module("distributed")


_LOOK = 0.1
"""Seconds between two looks whether the job is still wanted."""
_UNWANTED = frozenset({"cancelled", "released", "forgotten", "resumed"})
"""States of a task that the scheduler took back while it runs (distributed's worker states)."""
_LONGEST_TEXT = 20_000
"""Most characters of one message; the end of a longer text is kept."""

END = "runner-end-job"
"""The message by which the coordinator has one job end, and answer with what there is by then."""
_ENDS: dict[str, Callable[[], None]] = {}
"""By ticket what ends a job of this process."""


def _end_job(ticket: str = "") -> str:
    """Hear `END`, in the worker's event loop: plain words come in and go out, and no pickle."""
    if end := _ENDS.get(ticket):
        end()
    return ""


STARTED, LINE, LATE = "started", "line", "late"
"""Kinds of messages about a job: it began, a line of output, its answer comes too late."""
_MOST_LINES = 1_000
"""Lines of output that a job keeps until it sends them, or adds them to its answer."""
_IDLE = 50
"""Looks without a job after which nobody looks any more."""


@dataclass(slots=True)
class JobLease:
    """One job in this process; or a channel of them, which has the task of Dask that they share."""

    ticket: str
    topic: str
    worker: Any  # distributed.Worker ships no types; None outside of one
    key: str
    line_count: int = 0
    """Lines of output so far."""
    was_ended: bool = False
    """Whether it was ended because it was over: by nobody who waits for what is left of it."""
    _lines: deque[str] = field(default_factory=lambda: deque(maxlen=_MOST_LINES))
    _began: bool = False
    """Whether the coordinator has the message that it began."""
    _sent: int = 0
    """Number of lines sent to the coordinator."""
    _heard: int = 0
    """Number of lines sent by the previous look: they arrive before the answer."""
    _end: Callable[[], None] | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def of(cls, ticket: str, topic: str) -> JobLease:
        """The duty of the job that this thread works on."""
        try:
            worker = distributed.get_worker()
        except ValueError:
            return cls(ticket, topic, None, "")
        worker.handlers[END] = _end_job
        return cls(ticket, topic, worker, str(worker.get_current_task()))

    @property
    def name(self) -> str:
        """Who does it, for people."""
        return "" if self.worker is None else str(self.worker.address)

    def is_over(self) -> bool:
        """Whether nobody waits for the answer any more: taken back, or this worker is closing."""
        if self.worker is None:
            return False
        if self.worker.status.name not in {"running", "paused"}:
            return True
        task = self.worker.state.tasks.get(self.key)
        return task is None or task.state in _UNWANTED

    def is_crowded(self) -> bool:
        """Whether somebody else waits for a thread of this worker."""
        return self.worker is not None and bool(self.worker.state.ready)

    def tell(self, kind: str, text: str = "") -> None:
        """Let the coordinator hear something; strings only, and it may be lost."""
        if self.worker is not None:
            with suppress(RuntimeError, OSError):  # the worker is closing
                message = json.dumps([self.ticket, kind, text[-_LONGEST_TEXT:]])
                self.worker.log_event(self.topic, message)

    def say(self, line: str) -> None:
        """Have the coordinator hear a line of output: soon, or with the answer."""
        with self._lock:
            self._lines.append(line[-_LONGEST_TEXT:])
            self.line_count += 1
            if self.line_count - self._sent == _MOST_LINES:
                self._tell_lines()

    @property
    def lines(self) -> tuple[str, ...]:
        """The last lines, with all that the coordinator has perhaps not heard when the job ends."""
        with self._lock:
            return self._since(self._heard)

    @contextmanager
    def hold(self) -> Iterator[None]:
        """While entered, the coordinator hears that the job began, and what it says.

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
        """While entered, `end` is called when what is held is over, `end_alone` when asked to."""
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
            self._tell_lines()
        end = self._end
        if end is not None and self.is_over():
            self._end = None
            self.was_ended = True
            end()

    def _tell_lines(self) -> None:
        for line in self._since(self._sent):
            self.tell(LINE, line)
        self._sent = self.line_count

    def _since(self, number: int) -> tuple[str, ...]:
        """The lines after so many, as far as they are kept."""
        lines = tuple(self._lines)
        return lines[max(0, len(lines) - (self.line_count - number)) :]


class _Watcher:
    """Looks after the jobs of this process, in one thread: making one takes as long as a job."""

    def __init__(self) -> None:
        self._held: dict[str, JobLease] = {}
        self._is_there = False
        self._lock = threading.Lock()

    def add(self, lease: JobLease) -> None:
        """Look after a job from now on."""
        with self._lock:
            self._held[lease.ticket] = lease
            if not self._is_there:
                self._is_there = True
                threading.Thread(target=self._run, name="duty", daemon=True).start()

    def remove(self, lease: JobLease) -> None:
        """It is over."""
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


@dataclass(slots=True)
class PendingResult:
    """A job that somebody waits for."""

    name: str
    task: str
    attempt: int
    show: Callable[[str], None]
    """Shows a line of its output."""
    known: tuple[str, ...] = ()
    """Secrets that are never shown."""
    heard: float = field(default_factory=effects.monotonic)
    """When there was a last sign of it."""
    began: bool = False
    lines: int = 0
    """Lines of its output that were heard."""


@dataclass(slots=True)
class PendingResults:
    """Opened by slots, heard of from the client's thread."""

    say: Callable[[str], None]
    """Tells a person what is worth a line that stays."""
    _open: dict[str, PendingResult] = field(default_factory=dict)
    _over: dict[str, PendingResult] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def open(
        self, task: str, attempt: int, show: Callable[[str], None], known: tuple[str, ...] = ()
    ) -> PendingResult:
        """A new job."""
        ticket = PendingResult(effects.new_id(), task, attempt, show, known)
        with self._lock:
            self._open[ticket.name] = ticket
        return ticket

    def honour(self, name: str) -> bool:
        """Whether this is the first answer to a job that is still waited for; it then is over."""
        with self._lock:
            # Taken out and looked at in one step under the lock: the answer of a job that was given
            # out twice counts once.
            ticket = self._open.pop(name, None)
            if ticket is not None:
                self._note_over(ticket)
                return True
            known = self._over.pop(name, None)
        self._tell_late(known)
        return False

    def forget(self, ticket: PendingResult) -> None:
        """A person ended it, or the run is over: what still comes is no surprise to anybody."""
        with self._lock:
            self._open.pop(ticket.name, None)

    def close(self, ticket: PendingResult) -> None:
        """Nobody waits for it any more: it was lost, and runs elsewhere."""
        with self._lock:
            if self._open.pop(ticket.name, None) is not None:
                self._note_over(ticket)

    def hear(self, name: str, kind: str, text: str) -> None:
        """A worker says something of a job; of one that is over only, once, that it came late."""
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
            self._tell_late(late)

    def hear_rest(self, ticket: PendingResult, lines: Sequence[str], total: int) -> None:
        """Take the lines of an answer, except those heard before; the job printed `total` lines."""
        for line in lines[max(0, len(lines) - (total - ticket.lines)) :]:
            self.hear(ticket.name, LINE, line)

    def _note_over(self, ticket: PendingResult) -> None:
        self._over[ticket.name] = ticket
        while len(self._over) > _REMEMBERED:
            del self._over[next(iter(self._over))]

    def _tell_late(self, ticket: PendingResult | None) -> None:
        if ticket is not None:
            self.say(
                f"{display(ticket.task)}: dropped a late answer to attempt {ticket.attempt}, "
                "which was already given up"
            )
