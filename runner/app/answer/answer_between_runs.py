"""Record a person's answer between runs: read the plan first, update it afterwards.

Opens the journal to record a person's answer, and where they gave it.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from runner import effects
from runner.app.inspect.view import View
from runner.journal.lock import RunLock
from runner.journal.log import Journal
from runner.model import Status
from runner.project import BUILD
from runner.run import recovery
from runner.run.journal_writer import JournalWriter
from runner.run.landing.lease_state import person_name
from runner.run.landing.status_writer import StatusWriter, format_note

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.journal.state import RunState
    from runner.project import Project
    from runner.repo.read import Repository


@contextmanager
def answer_at_once(project: Project, repository: Repository) -> Iterator[None]:
    """Answer what waits as `status` shows it, and have the plan say what came of it.

    While a run is going on the run does both; after a killed one, the next run.
    """
    if _lives(project) or project.state().run_open:
        yield
        return
    before = project.state()
    _take_in(project, repository)
    try:
        yield
    finally:
        # Also after an error: earlier answers are already in the journal.
        _publish(project, before)


def _lives(project: Project) -> bool:
    return RunLock(project.root / BUILD).holder() is not None


def _take_in(project: Project, repository: Repository) -> None:
    """Record in the journal the facts of plan and git that it does not have yet, as a run does."""
    if not View.of(project).read_now:
        return
    tasks = project.plan(project.plan_bytes).tasks
    with _open_journal(project) as journal:
        writer = JournalWriter(journal, project.state())
        recovery.take_in(repository, writer, tasks, project.plan_file)


def _publish(project: Project, before: RunState) -> None:
    """Write the statuses that changed; where a run began meanwhile, it writes them."""
    after = project.state()
    changed = [
        known
        for id_, known in after.tasks.items()
        if (known.status, known.note) != (before.task(id_).status, before.task(id_).note)
        and known.status is not Status.IN_PROGRESS
    ]
    there = {task.id: task for task in project.outline().tasks}
    board = StatusWriter(project.root / project.plan_path, project.settings.build.id_prefixes)
    for known in changed:
        if known.id in there:
            board.say(known.id, known.status, format_note(known, there[known.id].note))
    if board.due(now=True) and not _lives(project):
        with _open_journal(project) as journal:
            board.publish(journal.append, head=project.head().commit or "")


@contextmanager
def _open_journal(project: Project) -> Iterator[Journal]:
    """Open the journal under the run lock. Raises RunnerError (exit 6) if a run is active."""
    with (
        RunLock(project.root / BUILD),
        Journal.open(project.journal_path, run=effects.new_id()) as journal,
    ):
        yield journal


# --- the journal ----------------------------------------------------------------------


def open_journal(project: Project, via: str = "") -> Journal:
    """Open the journal to record answers; `via` names their source and defaults to the terminal.

    Records tell it as producer: `runner/2.1 via page by ada`, the person on this machine where
    `via` names nobody.
    """
    origin = via or "terminal"
    if " by " not in origin:
        origin += f" by {person_name(project.environ)}"
    return Journal.open(project.journal_path, via=origin)
