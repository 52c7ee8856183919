"""What happened, from the journal: all of it at once, or as it comes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from runner.journal.read_journal import Place, read_journal, read_places

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.journal.events import Record
    from runner.project import Project

_POLL_SECONDS = 0.2


def read_log(project: Project, task: str = "") -> Iterator[Record]:
    """The records, of one task perhaps. Raises RunnerError where the journal is damaged."""
    id_ = _find_task(project, task) if task else ""
    return (one for one in read_journal(project.journal_path) if id_ in ("", one.task))


def follow_log(project: Project, task: str = "") -> Iterator[Record]:
    """What is there and what comes, without an end; it waits for the next event."""
    id_ = _find_task(project, task) if task else ""
    return _follow(project, id_)


def _follow(project: Project, id_: str) -> Iterator[Record]:
    journal, place = project.journal_path, Place()
    while True:
        for record, reached in read_places(journal, place):
            place = reached
            if id_ in ("", record.task):
                yield record
        time.sleep(_POLL_SECONDS)
        if journal.exists() and journal.stat().st_size < place.offset:
            place = Place()  # somebody began a new journal


def _find_task(project: Project, typed: str) -> str:
    """The id that a person means: of the plan, or of a task that only the journal knows."""
    from runner.run.selection import find_id

    known = dict.fromkeys(project.state().tasks)
    known.update(dict.fromkeys(task.id for task in project.outline().tasks))
    return find_id(typed, known)
