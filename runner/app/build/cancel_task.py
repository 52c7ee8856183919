"""One attempt of a run that is going on is ended on a person's word, and its work is kept."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from runner.errors import RunnerError
from runner.journal.lock import RunLock
from runner.model import Status
from runner.project import BUILD
from runner.run.interruption import ask_to_cancel
from runner.run.selection import find_id
from runner.text.display import display

if TYPE_CHECKING:
    from runner.journal.task_state import TaskState
    from runner.project import Project

_PATIENCE = 15.0
"""Seconds in which a run that lives has ended an attempt and said so."""
_SETTLING = 2.0
"""Seconds between an attempt's end and the word on its task."""
_PAUSE = 0.1


def cancel(project: Project, typed: str) -> TaskState:
    """Ask the run, and wait until it has done so; how the task stands then.

    Its attempt is still open where the run has not ended it in time. Raises RunnerError without a
    run, and for a task that it does not work on.
    """
    id_ = find_id(typed, {task.id: task for task in project.outline().tasks})
    if RunLock(project.root / BUILD).holder() is None:
        raise RunnerError("no run is going on here", hint="runner status")
    known = project.state().task(id_)
    if not (known.open_attempt or _may_be_tried_again(known)):
        raise _not_in_hand(known)
    request = ask_to_cancel(project.cache, id_)
    ended = _wait_for_end(project, id_, known.last_attempt)
    request.unlink(missing_ok=True)
    if ended.status is Status.PENDING and known.open_attempt is None:
        raise _not_in_hand(ended)
    return ended


def _may_be_tried_again(known: TaskState) -> bool:
    """Whether it failed and nobody said that this was the last time: it may wait between tries."""
    return known.status in (Status.PENDING, Status.IN_PROGRESS) and bool(known.tries)


def _not_in_hand(known: TaskState) -> RunnerError:
    id_ = display(known.id)
    return RunnerError(
        f"{id_} is not being worked on: it is {known.status}", hint=f"runner why {id_}"
    )


def _wait_for_end(project: Project, id_: str, attempt: int) -> TaskState:
    """The task once this attempt is over and settled, or when patience is."""
    until = time.monotonic() + _PATIENCE
    while True:
        known = project.state().task(id_)
        now = known.open_attempt
        settled = known.status in (Status.BLOCKED, Status.DONE, Status.STALE)
        if settled or (now and now.attempt != attempt) or time.monotonic() > until:
            return known
        if now is None:  # it came back: what it means is written down next
            until = min(until, time.monotonic() + _SETTLING)
        time.sleep(_PAUSE)
