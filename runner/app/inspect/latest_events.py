"""The end of the journal, read from its end: what happened last, however long all of it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.journal.codec import BadRecordError, NewerRecordError, UnfitRecordError, decode

if TYPE_CHECKING:
    from runner.journal.events import Record
    from runner.project import Project

_MOST_BYTES = 256 << 10


def read_latest(project: Project, number: int) -> tuple[Record, ...]:
    """At most so many records, the newest last; a line that is not whole is left out."""
    try:
        with project.journal_path.open("rb") as file:
            size = file.seek(0, 2)
            start = max(0, size - _MOST_BYTES)
            file.seek(start)
            lines = file.read(_MOST_BYTES).splitlines()
    except OSError:
        return ()
    if start:
        lines = lines[1:]
    found: list[Record] = []
    for line in lines[-number:]:
        try:
            found.append(decode(line))
        except (BadRecordError, UnfitRecordError, NewerRecordError):
            continue
    return tuple(found)
