"""What follows a run outside the repository: draft pull requests, and a word to the person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.app.build.run_summary import facts_of
from runner.app.prove.publish import Publisher, publisher
from runner.app.user_command import errand
from runner.errors import ExitCode, RunnerError
from runner.model import Reason, Status
from runner.report.documents import document
from runner.report.summary import MEANING
from runner.secrets.redact import redact

if TYPE_CHECKING:
    from collections.abc import Callable

    from runner.app.build.session import Session
    from runner.report.summary import Summary

LABEL = "needs-manual-fix"
_NOT_PASSED = (Reason.CHECKS, Reason.STUCK, Reason.BUDGET)
"""Reasons for which what there is may be worth a person's hands."""
NEEDS_A_PERSON = (ExitCode.PERSON, ExitCode.REGRESSION, ExitCode.STOPPED)
_SECONDS = 30.0


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


def notify(session: Session, summary: Summary, say: Callable[[str], None]) -> None:
    """Hand `notify_command` one JSON object on standard input; that it fails is only said."""
    line, code = session.project.settings.notify_command, summary.exit
    if not line or code not in NEEDS_A_PERSON:
        return
    root = session.project.root
    text = document(
        "attention",
        project=root.name,
        folder=root,
        run=session.ledger.run,
        branch=session.branch.shown,
        meaning=MEANING[code],
        **facts_of(summary, session.manifest.usage),
    )
    ran = errand(line, root, session.project.environ, stdin=redact(text).encode(), seconds=_SECONDS)
    if not ran.passed:
        why = f"exit {ran.exit}" if ran.ended == "exited" else ran.ended
        say(f"warning: notify_command failed ({why}): {ran.tail.strip()[-200:]}")
