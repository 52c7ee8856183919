"""Undelivered events behind cursors: of a folder's journal, or of a team's store."""

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
"""Version of the envelope around an event."""


class Outgoing(NamedTuple):
    """One event on its way out; (journal, seq) names it everywhere and for ever."""

    journal: str
    seq: int
    type: str
    repository: str
    build: str
    line: str
    """Record as in the journal."""
    offset: int = 0
    """Offset of the next record in the journal file; 0 without a file."""

    @property
    def key(self) -> str:
        """Key by which a receiver recognizes a repeated message."""
        return f"{self.journal}:{self.seq}"

    def text(self, most: int = 0) -> str:
        """Return the message as JSON; above `most` bytes without the event's own fields."""
        found = redact(self._around(self.line))
        if not most or len(found.encode("utf-8", "backslashreplace")) <= most:
            return found
        # Shortened, not rejected: an event that no receiver accepts would block all that follow it.
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
        """Return the last acknowledged event's number and the offset of the next one."""


class Outbox(Protocol):
    """The source of messages."""

    def read(self, cursors: Cursors) -> Iterator[Outgoing]:
        """Yield all events after the cursors, in order for each journal."""

    def look_again(self) -> None:
        """Read again: not every message was delivered."""


class Positions:
    """Cursors of somebody who keeps them elsewhere: they only move while this process lives."""

    def __init__(self, after: dict[str, int]) -> None:
        self._after = dict(after)
        self._offsets: dict[str, int] = {}

    def place(self, journal: str) -> tuple[int, int]:
        """Return the last read number and the offset of the next event."""
        return self._after.get(journal, 0), self._offsets.get(journal, 0)

    def move(self, message: Outgoing) -> None:
        """Record that this message was delivered."""
        self._after[message.journal] = message.seq
        self._offsets[message.journal] = message.offset


def read_on(
    outbox: Outbox, after: dict[str, int], pause: float, away: tuple[type[RunnerError], ...] = ()
) -> Iterator[Outgoing]:
    """Yield all events after these numbers; with a `pause` in seconds, follow without an end.

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
        """Yield the events after the cursors. Raises RunnerError if the journal is damaged."""
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
        """Do nothing: this outbox has no state."""

    def _fits(self, place: Mark) -> bool:
        """Return whether a valid record starts at this position."""
        try:
            if self._path.stat().st_size < place.offset:
                return False
            next(read_lines(self._path, place, wanted=()), None)
        except (RunnerError, OSError):
            return False
        return True


def find_journal(path: Path) -> str:
    """Return a journal's ID, which is its first record's; empty if it has no records."""
    first = next(read_lines(path, wanted=()), None)
    return first[1].id if first else ""


class StoreOutbox:
    """All events of a team's store, or those of one build."""

    def __init__(self, stored: StoredEvents) -> None:
        self._stored = stored

    def read(self, cursors: Cursors) -> Iterator[Outgoing]:
        """Build by build, the oldest first. Raises StoreDownError."""
        for build, repository in self._stored.list_unsettled(lambda one: cursors.place(one)[0]):
            # Asked before reading the clones' journals: a receiver of an end then has all events
            # before it; events written meanwhile come with the next read.
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
