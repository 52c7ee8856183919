"""A journal that forgets: what a run would read and note, without writing a byte."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.journal.events import NAMES, Record
from runner.run.journal_writer import JournalWriter

if TYPE_CHECKING:
    from runner.journal.events import Event
    from runner.journal.state import RunState


@dataclass(slots=True)
class MemoryJournal:
    """Makes records of events and keeps none."""

    seq: int
    run: str = "rehearsal"

    def append(
        self,
        event: Event,
        *,
        task: str = "",
        attempt: int = 0,
        cause: str = "",
        durable: bool = False,
    ) -> Record:
        """The record that the journal would hold."""
        del durable
        self.seq += 1
        id_ = f"rehearsal-{self.seq}"
        return Record(
            id=id_,
            seq=self.seq,
            time="",
            run=self.run,
            type=NAMES[type(event)],
            task=task,
            attempt=attempt,
            cause=cause,
            origin=cause or id_,
            producer="rehearsal",
            event=event,
        )

    def sync(self) -> None:
        """Nothing is kept, so nothing has to be durable."""


def rehearse(state: RunState) -> JournalWriter:
    """A ledger over `state` that writes nowhere."""
    return JournalWriter(MemoryJournal(state.seq), state)
