"""Events to deliver behind cursors: of a folder's journal, or of a team's store."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, NamedTuple, Protocol

from runner.errors import RunnerError
from runner.journal.records import ENVELOPE, Mark, read_lines, to_text
from runner.secrets.redact import redact

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from runner.extensions.team.event_rows import StoredEvents
    from runner.project import Project

VERSION = 1
"""Of what is sent around an event."""


class Outgoing(NamedTuple):
    """One event on its way out; (journal, seq) names it everywhere and for ever."""

    journal: str
    seq: int
    type: str
    repository: str
    build: str
    line: str
    """The record as the journal has it."""
    offset: int = 0
    """Where the next one begins in the journal's file; 0 where there is no file."""

    @property
    def key(self) -> str:
        """What a receiver knows a repeated one by."""
        return f"{self.journal}:{self.seq}"

    def text(self, most: int = 0) -> str:
        """The JSON line of it; one of more than `most` bytes is sent without the event's fields."""
        found = redact(self._around(self.line))
        if not most or len(found.encode("utf-8", "backslashreplace")) <= most:
            return found
        # Shortened and not refused: an event that no receiver takes would hold up all that follow
        # it.
        fields = {name: value for name, value in json.loads(self.line).items() if name in ENVELOPE}
        return redact(self._around(to_text({**fields, "shortened": True})))

    def _around(self, line: str) -> str:
        head = to_text(
            {
                "v": VERSION,
                "key": self.key,
                "journal": self.journal,
                "seq": self.seq,
                "repository": self.repository,
                "build": self.build,
            }
        )
        return f'{head[:-1]},"event":{line}}}'


class Cursors(Protocol):
    """The last acknowledged event of each journal."""

    def place(self, journal: str) -> tuple[int, int]:
        """The number of the last event that was acknowledged, and where the next one begins."""


class Outbox(Protocol):
    """Where messages come from."""

    def read(self, cursors: Cursors) -> Iterator[Outgoing]:
        """All that stands behind the cursors, in order for each journal."""

    def look_again(self) -> None:
        """Read again: not every message was delivered."""


class Positions:
    """Cursors of somebody who keeps them elsewhere: they only move while this process lives."""

    def __init__(self, after: dict[str, int]) -> None:
        self._after = dict(after)
        self._offsets: dict[str, int] = {}

    def place(self, journal: str) -> tuple[int, int]:
        """The number behind which to go on."""
        return self._after.get(journal, 0), self._offsets.get(journal, 0)

    def move(self, message: Outgoing) -> None:
        """Note that this message was delivered."""
        self._after[message.journal] = message.seq
        self._offsets[message.journal] = message.offset


def read_on(
    outbox: Outbox, after: dict[str, int], pause: float, away: tuple[type[RunnerError], ...] = ()
) -> Iterator[Outgoing]:
    """All that stands behind those numbers; with a `pause`, in seconds, what comes, without an end.

    An error of `away` is waited out by who follows and has read before; it is raised otherwise.
    """
    positions, seen = Positions(after), False
    while True:
        try:
            for message in outbox.read(positions):
                yield message
                positions.move(message)
            seen = True
        except away:
            if not (pause and seen):
                raise
            outbox.look_again()
        if not pause:
            return
        time.sleep(pause)


class FolderOutbox:
    """The journal of one folder."""

    def __init__(self, project: Project) -> None:
        self._path: Path = project.journal_path
        self._name = project.name

    def read(self, cursors: Cursors) -> Iterator[Outgoing]:
        """Raises RunnerError where the journal is damaged, in the middle or before the cursor."""
        journal = find_journal(self._path)
        if not journal:
            return
        seq, offset = cursors.place(journal)
        start = Mark(offset, -1, seq) if offset and self._fits(Mark(offset, -1, seq)) else Mark()
        for line, record, place in read_lines(self._path, start, wanted=()):
            if record.seq > seq:
                text = line.decode("utf-8", "replace").rstrip("\n")
                names = (record.type, self._name, journal)
                yield Outgoing(journal, record.seq, *names, text, place.offset)

    def look_again(self) -> None:
        """Nothing is remembered here."""

    def _fits(self, place: Mark) -> bool:
        """Whether a record begins there that follows; the file may have been put back."""
        try:
            if self._path.stat().st_size < place.offset:
                return False
            next(read_lines(self._path, place, wanted=()), None)
        except (RunnerError, OSError):
            return False
        return True


def find_journal(path: Path) -> str:
    """The id of a journal: that of its first record; empty for one that has none."""
    first = next(read_lines(path, wanted=()), None)
    return first[1].id if first else ""


class StoreOutbox:
    """All events of a team's store, or those of one build."""

    def __init__(self, stored: StoredEvents) -> None:
        self._stored = stored

    def read(self, cursors: Cursors) -> Iterator[Outgoing]:
        """Build by build, the oldest first. Raises StoreAwayError."""
        for build, repository in self._stored.list_unsettled(lambda one: cursors.place(one)[0]):
            # Asked before the clones' journals are read: who gets an end has all before it, and
            # what is written while a slow receiver gets the rest comes with the next look.
            self._stored.require_turn()
            last = self._stored.find_last(build)
            for journal in self._stored.list_journals(build):
                after = cursors.place(journal)[0]
                for seq, kind, line in self._stored.read_behind(journal, after):
                    if journal == build and seq > last:
                        break
                    yield Outgoing(journal, seq, kind, repository, build, line)

    def look_again(self) -> None:
        """Read again: not every message was delivered."""
        self._stored.look_again()
