"""A job as the worker process sees it: whether it is still wanted, and who hears of it.

Runs inside a Dask worker; outside of one (in a test) nobody cancels and nobody hears.
"""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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
        from distributed import get_worker

        try:
            worker = get_worker()
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
