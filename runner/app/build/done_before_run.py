"""Check before a run whether every task is DONE and whether landed work was removed.

What was shipped stays as it is until a person says otherwise.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runner.errors import RunnerError
from runner.lazy_module import lazy_module
from runner.lazy_pattern import regex
from runner.model import Status
from runner.repo.git import text
from runner.repo.trailers import parse_message
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Collection

    from runner.journal.state import RunState
    from runner.project import Project
    from runner.repo import read
else:
    read = lazy_module("runner.repo.read")


_LINE = regex(rb"^[ \t]*!(?:change|replay)\b", re.MULTILINE)


def all_done(project: Project, state: RunState) -> bool:
    """Return whether every task is certainly DONE, without opening the repository.

    Every task is DONE in the file, DONE by the journal for exactly this specification, and HEAD is
    the commit that the last run ended on.
    """
    head = project.head().commit or ""
    if not state.seq or state.run_open or state.landing is not None or head != state.ended_head:
        return False
    outline = project.outline()
    return (
        bool(outline.tasks)
        and not outline.errors
        and all(
            task.status is Status.DONE
            and (known := state.tasks.get(task.id)) is not None
            and known.status is Status.DONE
            and known.spec in (None, task.spec)
            for task in outline.tasks
        )
    )


def may_hold_commands(plan: bytes) -> bool:
    """Return whether the plan's bytes may contain command lines; code blocks count, too."""
    return _LINE.search(plan) is not None


def find_missing(state: RunState, ids: Collection[str]) -> tuple[str, ...]:
    """Return the built tasks of the journal that are not among `ids`."""
    built = (Status.DONE, Status.STALE)
    return tuple(
        id_
        for id_, known in state.tasks.items()
        if id_ not in ids and known.status in built and known.spec is not None
    )


# --- reopen ---------------------------------------------------------------------------


SHIP = "Ship"
"""Trailer of a ship's record commit: every clone can read it."""


def require_open(project: Project, *, reopen: bool) -> str:
    """Return the tag of a ship that this run reopens; empty if there is none.

    Raises RunnerError for a plan that was shipped, without `reopen`.
    """
    tag = last_ship_tag(project, project.state())
    if tag and not reopen:
        raise RunnerError(
            f"this plan was shipped as {display(tag)}; nothing has run",
            hint="to continue it: runner run --reopen",
        )
    return tag


def last_ship_tag(project: Project, state: RunState) -> str:
    """Return the tag of the last ship, from the journal or, in a new clone, from the commits."""
    if state.seq or not project.head().commit:
        return state.shipped
    with read.Repository.open(project.root) as repository:
        log = repository.git.run(
            # The user's display settings (log.showSignature, notes.displayRef: git-config(1)) would
            # put lines between the trailers.
            *("log", "-z", "--no-color", "--no-show-signature", "--no-notes", "--format=%B"),
            *("--fixed-strings", f"--grep={SHIP}: ", "HEAD", "--"),
        )
    # --grep matches anywhere in a message (git-log(1)); only a trailer declares a ship.
    tags = (parse_message(one).trailers.get(SHIP, ()) for one in text(log).split("\0"))
    return next((found[-1] for found in tags if found), "")
