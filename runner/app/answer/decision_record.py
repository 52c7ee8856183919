"""A person's decision, written into DECISIONS.md and into the journal, beside a run, too."""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager
from dataclasses import astuple
from typing import TYPE_CHECKING

from runner import effects
from runner.errors import RunnerError
from runner.journal.events import DecisionMade
from runner.journal.folder import make_plain_folder
from runner.journal.log import Journal
from runner.model import Decision
from runner.report.decisions_file import DecisionsDocument, IgnoreDocument
from runner.run.selection import find_id
from runner.secrets.redact import redact

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from runner.project import Project


def decide(project: Project, decision: Decision, task: str = "") -> int:
    """Append the decision, and give its number; it takes no lock of the run's.

    `task` is the id it was made for, as a person types it. Raises RunnerError without a title.
    """
    if not decision.title.strip():
        raise RunnerError("a decision needs a title", hint='runner decide "What was chosen"')
    id_ = _find_task(project, task) if task else ""
    # without a secret that came with it: the file is committed
    clean = Decision(*(redact(said.strip()) for said in astuple(decision)))
    return _append(project, clean, id_)


def _find_task(project: Project, typed: str) -> str:
    return find_id(typed, dict.fromkeys(task.id for task in project.outline().tasks))


def _append(project: Project, decision: Decision, task: str) -> int:
    IgnoreDocument(project.root).write()
    document = DecisionsDocument(project.root)
    with _alone(project.root / document.path), Journal.open(project.journal_path) as journal:
        state = project.state()
        number = document.next_number(state.decisions)
        event = DecisionMade(number=number, decision=decision)
        record = journal.append(event, task=task, durable=True)
        document.hear(record, state.after(record))
    return number


@contextmanager
def _alone(file: Path) -> Iterator[None]:
    """While this is open no other `decide` takes a number."""
    make_plain_folder(file.parent)
    effects.step("open", file)
    try:
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
    except OSError as error:
        raise RunnerError(
            f"the decisions cannot be written: {error.strerror}",
            where=str(file),
            hint="it must be a plain file; the runner does not write through links",
        ) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
