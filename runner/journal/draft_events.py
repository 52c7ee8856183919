"""Events about drafts of a plan: sections that were written from a wish, and wait."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from runner.model import Usage

if TYPE_CHECKING:
    from runner.model import Digest


class DraftProposed(NamedTuple):
    """Sections for a plan are complete, and wait; again under its number where it was edited."""

    number: int
    plan: str
    """The plan that they are for, relative to the project."""
    text: str
    """The sections, with LF."""
    digest: Digest
    """Of the text: what a person approves."""
    tasks: tuple[str, ...]
    wish: str
    """What was asked for, for a draft anew."""
    source: str = ""
    """Where the wish stands: a file, an issue; empty for one that was typed."""
    asked: tuple[str, ...] = ()
    """What the wish asks for, one thing a text, in its order."""
    covered_by: tuple[str, ...] = ()
    """For each of these the tasks that build it; empty where none does."""
    taken_out: tuple[str, ...] = ()
    """What stood in the answer and may not come from there, with its line."""
    notes: tuple[str, ...] = ()
    """What a person should know: warnings, and an estimate."""
    mistakes: tuple[str, ...] = ()
    """Why it cannot be approved as it is: only after an edit."""
    rounds: int = 1
    by: str = ""
    """Who wrote it: an implementer's name, or `person`."""
    usage: Usage | None = None
    """What it took to write it: see `find_usage`."""
    imported: str = ""
    """The form of the other tool's file whose tasks these are; their source names the file."""


PERSON = "person"
"""Who wrote a draft that a person edited."""


def find_usage(event: DraftProposed) -> Usage:
    """What a program used for a draft; nothing for one that a person edited."""
    # The first versions copied the figures of the draft that was edited into the new record.
    return Usage() if event.by == PERSON else event.usage or Usage()


class DraftReviewed(NamedTuple):
    """A person's word on these very bytes of a draft."""

    number: int
    digest: Digest
    approved: bool
    reason: str = ""
    by: str = ""


class DraftLanded(NamedTuple):
    """The sections stand in their plan."""

    number: int
    plan: str
    tasks: tuple[str, ...]


DRAFTS: dict[str, type[DraftProposed | DraftReviewed | DraftLanded]] = {
    "draft.proposed": DraftProposed,
    "draft.reviewed": DraftReviewed,
    "draft.landed": DraftLanded,
}
