"""How things stand before a run: whether all is done, and whether anything was taken away.

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
    """Whether there is provably nothing to do, without opening the repository.

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
    """Whether a plan may hold such a line; seen without reading it, so a code block counts too."""
    return _LINE.search(plan) is not None


def find_missing(state: RunState, ids: Collection[str]) -> tuple[str, ...]:
    """Tasks that were built by the journal, and that are not among these."""
    built = (Status.DONE, Status.STALE)
    return tuple(
        id_
        for id_, known in state.tasks.items()
        if id_ not in ids and known.status in built and known.spec is not None
    )


# --- reopen ---------------------------------------------------------------------------


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
            hint="to continue it: runner run --reopen",
        )
    return tag


def last_ship_tag(project: Project, state: RunState) -> str:
    """The tag of the last ship that nobody reopened: by the journal, in a clone by the commits."""
    if state.seq or not project.head().commit:
        return state.shipped
    with read.Repository.open(project.root) as repository:
        log = repository.git.run(
            # What a person has set for their own eyes (log.showSignature, notes.displayRef:
            # git-config(1)) would put lines between the trailers.
            *("log", "-z", "--no-color", "--no-show-signature", "--no-notes", "--format=%B"),
            *("--fixed-strings", f"--grep={SHIP}: ", "HEAD", "--"),
        )
    # --grep finds the words anywhere in a message (git-log(1)); only a trailer declares a ship.
    tags = (parse_message(one).trailers.get(SHIP, ()) for one in text(log).split("\0"))
    return next((found[-1] for found in tags if found), "")
