"""What a person staged by hand and has not decided: `runner review` lists it, too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.app.write.staged_states import BY_HAND, Standings
from runner.app.write.workplace import display_path
from runner.text.display import display

if TYPE_CHECKING:
    from runner.journal.state import RunState
    from runner.project import Project
    from runner.writes.staging import Staged


def find_staged_by_hand(project: Project, state: RunState) -> tuple[Staged, ...]:
    """The writes by hand that wait, by task and path."""
    from runner.writes.staging import Staging

    staged = Staging(project.root).list()
    standings = Standings(project.root, state, staged)
    return tuple(one for one in staged if one.attempt == BY_HAND and standings.of(one).is_open)


def format_staged(one: Staged) -> str:
    """One of them, with the command that shows it."""
    what = f"{display(one.task)} {one.action} {display_path(one.path)}"
    return f"by hand: {what} — runner staged-write show {one.id}, then apply, edit or reject"
