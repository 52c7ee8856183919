"""`runner edit ID`: held proposals in a person's own editor, before they may land."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from runner.errors import ExitCode, RunnerError
from runner.journal.events import WriteReviewed
from runner.model import digest_of
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runner.app.answer.waiting import Waiting
    from runner.journal.state import RunState
    from runner.model import Change
    from runner.project import Project
    from runner.repo.read import Repository

_AGAIN = "[e]dit it again, or leave it as it [w]as? "


def edit_held(
    project: Project, repository: Repository, state: RunState, chosen: tuple[Waiting, ...]
) -> ExitCode:
    """Let a person change held proposals; the next run takes them through pipeline and proof.

    Raises RunnerError where an editor says no, or a secret is left in what it leaves.
    """
    from runner.commands.answer.approval import note_what_follows

    for one in chosen:
        _require_editable(state, one)
        made = [_edit_change(change, project.environ) for change in one.changes]
        if made == list(one.changes):
            print(f"{display(one.task)} is as it was")
            continue
        _keep(project, repository, state, one, made)
        note_what_follows(project, (replace(one, changes=tuple(made)),))
        print(f"{display(one.task)} edited; next: runner")
    return ExitCode.OK


def _require_editable(state: RunState, one: Waiting) -> None:
    if state.task(one.task).held is None:
        raise RunnerError(f"{one.task} has no writes to edit", hint=f"runner why {one.task}")
    if one.kind == "regression":
        raise RunnerError(
            f"{one.task} breaks other tasks: what it changes cannot be edited while it is held",
            hint=f"runner reject {one.task} --reason …, or approve what it breaks",
        )


def _edit_change(change: Change, environ: Mapping[str, str]) -> Change:
    """A change as the person leaves it."""
    if change.content is None:
        return change
    content = _edit_content(change.path, change.content, environ)
    return replace(change, content=content, after=digest_of(content))


def _edit_content(path: str, content: bytes, environ: Mapping[str, str]) -> bytes:
    """The text they leave; one with a secret in it is refused, and at a terminal opened again."""
    from runner.commands.running.terminal_review import (
        REFUSED,
        edit_content,
        format_findings,
        read_answer,
        secrets_in,
    )

    text = content
    while True:
        text = edit_content(path, text, environ)
        found = secrets_in(text, path, environ)
        if not found:
            return text
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise RunnerError(
                f"the edited file holds a secret: {REFUSED}",
                detail="\n".join(format_findings(found)),
                hint=found[0].hint,
            )
        print(*format_findings(found), REFUSED, sep="\n", file=sys.stderr)
        if (read_answer(_AGAIN) or "w").lower()[:1] != "e":
            return content


def _keep(
    project: Project, repository: Repository, state: RunState, one: Waiting, made: list[Change]
) -> None:
    """Put the edited proposal in the place of the held one, and write down whose it is."""
    from runner.journal.log import Journal
    from runner.repo.commit import commit_tree
    from runner.repo.refs import keep_ref

    known = state.task(one.task)
    assert known.held is not None
    message = f"held({one.task}): edited by a person\n"
    commit = commit_tree(repository, known.held.base or None, made, message, sign=False)
    keep_ref(repository, known.held.ref, commit.sha)
    with Journal.open(project.journal_path) as journal:
        for old, new in zip(one.changes, made, strict=True):
            # who edits a proposal has seen all of it: what they left as it was is approved, too
            how = "edited" if old != new else "applied"
            event = WriteReviewed(new.path, new.before, new.after, how, "person")
            journal.append(event, task=one.task, attempt=known.last_attempt, durable=True)
