"""`runner cancel`: ends one task's attempt in a run that is going on, and keeps its work."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from runner.errors import ExitCode, RunnerError
from runner.model import Status
from runner.text.display import display

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from runner.journal.task_state import TaskState
    from runner.project import Project

_EPILOG = """\
What the attempt has written so far is kept on a branch draft/TASK-…, without what the secret scan
or the path rules refuse. The task is BLOCKED until `runner approve` lets it begin anew; the run
goes on with the others.

examples:
  runner cancel TASK-003
"""
_PATIENCE = 15.0
"""Seconds in which a run that lives has ended an attempt and said so."""
_SETTLING = 2.0
"""Seconds between an attempt's end and the word on its task."""
_PAUSE = 0.1


def arguments(parser: argparse.ArgumentParser, name: str) -> None:
    """What `runner cancel` takes."""
    del name
    parser.epilog = _EPILOG
    parser.add_argument("id", metavar="ID", help="the task: TASK-003, or 3")


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Ask the run, and wait until it has done so; exit 1 where it has not."""
    from runner.project import Project
    from runner.run.cancellation import ask_to_cancel
    from runner.run.selection import find_id

    project = Project.open(Path.cwd(), environ)
    id_ = find_id(given.id, {task.id: task for task in project.outline().tasks})
    _require_run(project)
    known = project.state().task(id_)
    if not (known.open_attempt or _may_be_tried_again(known)):
        raise _not_in_hand(known)
    request = ask_to_cancel(project.cache, id_)
    ended = _wait_for_end(project, id_, known.last_attempt)
    request.unlink(missing_ok=True)
    if ended.status is Status.PENDING and known.open_attempt is None:
        raise _not_in_hand(ended)
    print(_format_status(ended))
    return ExitCode.FAILED if ended.open_attempt else ExitCode.OK


def _may_be_tried_again(known: TaskState) -> bool:
    """Whether it failed and nobody said that this was the last time: it may wait between tries."""
    return known.status in (Status.PENDING, Status.IN_PROGRESS) and bool(known.tries)


def _not_in_hand(known: TaskState) -> RunnerError:
    id_ = display(known.id)
    return RunnerError(
        f"{id_} is not being worked on: it is {known.status}", hint=f"runner why {id_}"
    )


def _require_run(project: Project) -> None:
    from runner.journal.lock import RunLock
    from runner.project import BUILD

    if RunLock(project.root / BUILD).holder() is None:
        raise RunnerError("no run is going on here", hint="runner status")


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


def _format_status(known: TaskState) -> str:
    if known.open_attempt:
        return f"{display(known.id)} was asked to end, and has not ended yet: runner status"
    note = f": {display(known.note)}" if known.note else ""
    return f"{display(known.id)} is {known.status}{note}"
