"""Telling a person that a run needs them: once, at its end, by a command of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.app.build.run_summary import facts_of
from runner.app.user_command import errand
from runner.errors import ExitCode
from runner.report.documents import document
from runner.report.summary import MEANING
from runner.secrets.redact import redact

if TYPE_CHECKING:
    from collections.abc import Callable

    from runner.app.build.session import Session
    from runner.report.summary import Summary

NEEDS_A_PERSON = (ExitCode.PERSON, ExitCode.REGRESSION, ExitCode.STOPPED)
_SECONDS = 30.0


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
