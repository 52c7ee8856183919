"""A job as both sides hold it: whether it is still wanted, and who waits for its answer.

The worker's half runs inside a Dask worker; outside of one (in a test) nobody cancels and nobody
hears. At home each job that waits has one ticket, honoured once.
"""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager, suppress
from dataclasses import field
from typing import TYPE_CHECKING, Any

from runner import effects
from runner.lazy_dataclass import dataclass
from runner.lazy_module import lazy_module
from runner.secrets.redact import redact
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import distributed
else:
    distributed = lazy_module("distributed")


_LOOK = 0.1
"""Seconds between two looks whether the job is still wanted."""
_UNWANTED = frozenset({"cancelled", "released", "forgotten", "resumed"})
"""States of a task that the scheduler took back while it runs (distributed's worker states)."""
_LONGEST_TEXT = 20_000
"""Characters of what is told at once: the last ones of very many."""

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
"""What is told of a job: that it began, a line of output, that its answer comes too late."""


@dataclass(slots=True)
class Lease:
    """One job in this process."""

    ticket: str
    topic: str
    worker: Any  # distributed.Worker ships no types; None outside of one
    key: str

    @classmethod
    def of(cls, ticket: str, topic: str) -> Lease:
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

    def tell(self, kind: str, text: str = "") -> None:
        """Let the coordinator hear something; strings only, and it may be lost."""
        if self.worker is not None:
            with suppress(RuntimeError, OSError):  # the worker is closing
                said = json.dumps([self.ticket, kind, text[-_LONGEST_TEXT:]])
                self.worker.log_event(self.topic, said)

    @contextmanager
    def watch(self, end: Callable[[], None], end_alone: Callable[[], None]) -> Iterator[None]:
        """While entered, `end` is called as soon as the job is over, `end_alone` when asked to."""
        left = threading.Event()
        _ENDS[self.ticket] = end_alone

        def watch() -> None:
            while not left.wait(_LOOK):
                if self.is_over():
                    end()
                    return

        thread = threading.Thread(target=watch, name="duty", daemon=True)
        thread.start()
        try:
            yield
        finally:
            _ENDS.pop(self.ticket, None)
            left.set()
            thread.join()


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
                ticket.show(redact(text, ticket.known))
        elif late is not None:
            self._tell_late(late)

    def _note_over(self, ticket: PendingResult) -> None:
        self._over[ticket.name] = ticket
        while len(self._over) > _REMEMBERED:
            del self._over[next(iter(self._over))]

    def _tell_late(self, ticket: PendingResult | None) -> None:
        if ticket is not None:
            self.say(
                f"{display(ticket.task)}: an answer to attempt {ticket.attempt} came late, "
                "after it was given up; it was dropped"
            )
