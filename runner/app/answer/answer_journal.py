"""The journal as it is opened to write down what a person said, and from where they said it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.journal.log import Journal
from runner.run.landing.lease_standing import person_name

if TYPE_CHECKING:
    from runner.project import Project


def open_journal(project: Project, via: str = "") -> Journal:
    """The journal, to write answers down that came this way; empty from a terminal.

    Records tell it as producer: `runner/2.1 via page by ada`, the person on this machine where
    `via` names nobody.
    """
    said = via or "terminal"
    if " by " not in said:
        said += f" by {person_name(project.environ)}"
    return Journal.open(project.journal_path, via=said)
