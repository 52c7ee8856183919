"""What was shipped stays as it is until a person says otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.errors import RunnerError
from runner.text.display import display

if TYPE_CHECKING:
    from runner.journal.state import RunState
    from runner.project import Project

SHIP = "Ship"
"""The trailer of the record commit of a ship: it tells every clone."""


def require_open(project: Project, *, reopen: bool) -> str:
    """The tag of a ship that is reopened by this run; empty where there is none.

    Raises RunnerError for a plan that was shipped, without `reopen`.
    """
    tag = last_ship_tag(project, project.state())
    if tag and not reopen:
        raise RunnerError(
            f"this plan was shipped as {display(tag)}; nothing has run",
            hint="to go on with it: runner run --reopen",
        )
    return tag


def last_ship_tag(project: Project, state: RunState) -> str:
    """The tag of the last ship that nobody reopened: by the journal, in a clone by the commits."""
    if state.seq or not project.head().commit:
        return state.shipped
    from runner.repo.git import text
    from runner.repo.read import Repository
    from runner.repo.trailers import parse_message

    with Repository.open(project.root) as repository:
        said = repository.git.run(
            *("log", "-1", "--no-color", "--no-show-signature", "--no-notes", "--format=%B"),
            *("--fixed-strings", f"--grep={SHIP}: ", "HEAD", "--"),
        )
    return parse_message(text(said)).trailers.get(SHIP, ("",))[-1]
