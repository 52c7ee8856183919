"""Statuses that an older text of the plan took back: told at first, put right at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.run import recovery
from runner.run.landing.status_notes import format_note
from runner.text.display import display
from runner.text.wording import join_few

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from runner.app.build.session import Session
    from runner.model import Task
    from runner.run.landing.status_writer import StatusWriter
    from runner.run.reconcile import Facts


def tell_of_older(
    session: Session, tasks: Sequence[Task], facts: Facts, say: Callable[[str], None]
) -> None:
    """Say whose status in the file is an older text's, and how to ask for what it says."""
    older = recovery.put_back(tasks, session.ledger.state, facts)
    if not older:
        return
    known = session.ledger.state.task(older[0])
    whose = (
        f"{older[0]} is {known.status} as it was" if len(older) == 1 else "they stay as they were"
    )
    say(
        f"note: an older text of {session.project.plan_path} was put back (git stash, checkout, "
        f"reset, an undo), with the statuses of {display(join_few(older))}: {whose}; a status that "
        "you commit is a request"
    )


def restore(session: Session, board: StatusWriter) -> None:
    """Write the statuses again that an older text took back while a run went on."""
    project, state = session.project, session.ledger.state
    file = project.root / project.plan_path
    if not file.is_file() or board.is_ours(file.read_bytes()):
        return
    tasks = project.outline().tasks
    facts = recovery.gather_facts(session.repository, state, tasks, project.plan_file)
    for id_ in recovery.put_back(tasks, state, facts):
        known = state.task(id_)
        board.say(id_, known.status, format_note(known))
    if board.due(now=True):
        board.publish(session.ledger.note, head=session.head().commit or "")
