"""Which jobs wait for an answer: one ticket each, honoured once."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from runner import effects
from runner.run.executors.lease import LATE, LINE
from runner.secrets.redact import redact
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Callable

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
