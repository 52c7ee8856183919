"""Draft pull requests for work that did not pass, where a person's own settings ask for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.app.prove.publish import Publisher, publisher
from runner.errors import RunnerError
from runner.model import Reason, Status

if TYPE_CHECKING:
    from collections.abc import Callable

    from runner.app.build.session import Session

LABEL = "needs-manual-fix"
_NOT_PASSED = (Reason.CHECKS, Reason.STUCK, Reason.BUDGET)
"""Reasons for which what there is may be worth a person's hands."""


def open_draft_requests(session: Session, say: Callable[[str], None]) -> None:
    """Push each draft of this run and open its pull request; what fails is only said."""
    drafts = _drafts(session)
    if not drafts or not session.project.settings.draft_pr:
        return
    there = publisher(session.project.root, session.repository, session.project.environ)
    if isinstance(there, str):
        say(f"note: no draft pull request is opened: {there}")
        return
    for task, branch in drafts.items():
        try:
            address = _open(there, session, task, branch)
        except RunnerError as error:
            say(f"note: no draft pull request for {task}: {error.message}: {error.detail}")
        else:
            say(f"{task}: draft pull request {address}")


def _drafts(session: Session) -> dict[str, str]:
    """Tasks that this run left with work a person may finish, and where it is."""
    found = {}
    for id_ in session.reports.written:
        known = session.ledger.state.task(id_)
        if known.status is Status.BLOCKED and known.reason in _NOT_PASSED and known.draft:
            found[id_] = known.draft
    return found


def _open(there: Publisher, session: Session, task: str, branch: str) -> str:
    there.push(f"refs/heads/{branch}")
    if known := there.request_of(branch):
        return known
    titles = {one.id: one.title for one in session.tasks}
    title, body = f"draft({task}): {titles.get(task, '')}", session.reports.written[task]
    try:
        return there.open_request(branch, title, body, "--draft", "--label", LABEL)
    except RunnerError as error:
        if "label" not in error.detail:
            raise
        return there.open_request(branch, title, body, "--draft")  # no such label: no matter
