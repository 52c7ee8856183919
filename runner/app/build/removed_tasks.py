"""Tasks that were DONE and whose section is gone from the plan: a person says that it is meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.app.build.run_status import find_missing
from runner.errors import ExitCode, RunnerError
from runner.journal.events import TaskReopened

if TYPE_CHECKING:
    from collections.abc import Collection

    from runner.app.build.session import Session
    from runner.journal.state import RunState
    from runner.project import Project
    from runner.repo.read import Repository
    from runner.run.review import Asker


def require_meant(
    session: Session, ids: Collection[str], *, yes: bool, asker: Asker | None
) -> None:
    """Ask about DONE tasks that were taken out of the plan; a yes is kept, and asked once.

    Their code stays. Raises RunnerError (exit 3) where nobody says yes.
    """
    gone = find_missing(session.ledger.state, ids)
    if gone:
        gone = tuple(_were_there(session.project, session.repository, session.ledger.state, gone))
    if not gone:
        return
    named = ", ".join(gone)
    question = f"{named} was DONE and is gone from the plan. Is that meant? (its code stays) [y/N] "
    if not (yes or (asker is not None and asker.choose("", question) in ("y", "yes"))):
        raise RunnerError(
            f"{named} was DONE and is gone from the plan; nothing has run",
            hint="bring the section back, or runner run --yes; runner undo takes its code back",
            code=ExitCode.PERSON,
        )
    for id_ in gone:
        known = session.ledger.state.task(id_)
        event = TaskReopened(note="taken out of the plan", by="plan")
        session.ledger.note(event, task=id_, attempt=known.last_attempt, durable=True)


def _were_there(
    project: Project, repository: Repository, state: RunState, ids: Collection[str]
) -> list[str]:
    """Those that this very plan had when the last run ended; another plan's are not meant.

    Nor are those of another branch: there the last run's end is no ancestor.
    """
    last, head = state.ended_head, repository.head().commit or ""
    if not last or not repository.is_ancestor(last, head):
        return []
    data = repository.blob(last, project.plan_path)
    had = {task.id for task in project.plan(data).tasks} if data else set()
    return [id_ for id_ in ids if id_ in had]
