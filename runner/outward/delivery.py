"""Delivering events: each receiver in a thread of its own, behind a cursor that is on disk.

A cursor moves after the receiver's acknowledgement: a process that dies between the two tells the
last ones once more, under the same keys. What is not acknowledged is tried again, without an end
where one follows, and holds up the later events of this receiver and nobody else's.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Protocol

from runner.errors import RunnerError
from runner.lazy_dataclass import dataclass
from runner.outward.door import Backoff, DoorAwayError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from runner.outward.door import Door
    from runner.outward.outbox import Message, Outbox
    from runner.outward.told_cursors import DoorCursors, ToldFile

_AT_ONCE = 100
"""Messages from one move of a cursor to the next."""
POLL = 0.2


class Work(Protocol):
    """What is done for one receiver, again and again."""

    name: str
    shown: str

    def go_on(self, cursors: DoorCursors) -> int:
        """Tell what is there; how many events. Raises DoorAwayError and RunnerError."""

    def close(self) -> None:
        """Let go of what is open."""


class DoorWork:
    """Events of an outbox to one door."""

    def __init__(self, door: Door, outbox: Outbox) -> None:
        self.name, self.shown = door.name, door.shown
        self._door, self._outbox = door, outbox

    def go_on(self, cursors: DoorCursors) -> int:
        """Tell what stands behind the cursors, in its order."""
        number = 0
        try:
            for some in _group(self._outbox.read(cursors)):
                self._send(some, cursors)
                number += len(some)
        except DoorAwayError:
            self._outbox.look_again()
            raise
        return number

    def _send(self, some: Sequence[Message], cursors: DoorCursors) -> None:
        try:
            self._door.send(some)
        except DoorAwayError as away:
            if away.acknowledged:
                cursors.move(some[away.acknowledged - 1])
            raise
        cursors.move(some[-1])

    def close(self) -> None:
        """Let go of the door."""
        self._door.close()


def _group(messages: Iterable[Message]) -> Iterator[list[Message]]:
    """Some messages of one journal at a time."""
    some: list[Message] = []
    for message in messages:
        if some and (some[0].journal != message.journal or len(some) == _AT_ONCE):
            yield some
            some = []
        some.append(message)
    if some:
        yield some


@dataclass(frozen=True, slots=True)
class Patience:
    """When a delivery ends: see `deliver`."""

    stop: threading.Event
    is_over: Callable[[], bool]
    """Whether nothing more is to come."""
    seconds: float
    """For how long a receiver that is away is tried once nothing more is to come."""


def deliver(
    works: Sequence[Work], told: ToldFile, patience: Patience, tell: Callable[[str], None]
) -> tuple[str, ...]:
    """Tell every receiver, until nothing more is to come and all is told, or patience ends.

    Gives the names of those that did not get all. `tell` hears when one falls silent and is back.
    """
    behind: list[str] = []
    threads = [
        threading.Thread(target=_serve, args=(work, told, patience, tell, behind), name=work.name)
        for work in works
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        # In turns: the kernel may give a signal to any thread, and only the main one hears it in
        # Python, once it runs again (signal(7); CPython's `signal`, "Signals and threads").
        while thread.is_alive():
            thread.join(POLL)
    return tuple(sorted(behind))


def _serve(
    work: Work, told: ToldFile, patience: Patience, tell: Callable[[str], None], behind: list[str]
) -> None:
    is_told = False
    try:
        with told.door(work.name) as cursors:
            is_told = _follow(work, cursors, patience, tell)
    except RunnerError as error:
        tell(f"{work.name}: {error.message}")
    finally:
        if not is_told:  # whatever it was that ended this thread
            behind.append(work.name)
        work.close()


def _follow(
    work: Work, cursors: DoorCursors, patience: Patience, tell: Callable[[str], None]
) -> bool:
    """Whether all was told in the end."""
    backoff, fault, silent, is_known = Backoff(), "", 0.0, False
    while True:
        is_over = patience.is_over()  # asked before: what comes after it is told by the next
        try:
            work.go_on(cursors)
        except (DoorAwayError, RunnerError) as error:
            why, asked = _reason(error)
            if why != fault:
                tell(f"{work.name} ({work.shown}): {why}")
            cursors.note_fault(why)
            fault, pause = why, backoff.pause(asked)
            silent += pause if is_over else 0.0
            if silent > patience.seconds or patience.stop.wait(pause):
                return False
            continue
        if fault:
            tell(f"{work.name} ({work.shown}): it answers again")
        if fault or not is_known:  # what another process noted is over, too
            cursors.note_fault("")
        fault, silent, is_known = "", 0.0, True
        backoff.reset()
        if is_over:
            return True
        if patience.stop.wait(POLL):
            return True


def _reason(error: DoorAwayError | RunnerError) -> tuple[str, float]:
    if isinstance(error, DoorAwayError):
        return error.why, error.wait
    return error.message, 0.0
