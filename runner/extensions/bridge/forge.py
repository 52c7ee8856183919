"""A forge as the bridge needs it: its nouns, and the calls that an adapter carries out.

`github` is the one adapter; a second one is another class with these calls. All texts are a
stranger's. Calls that write may have arrived where they raise: who calls looks again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from runner.errors import ExitCode, RunnerError

if TYPE_CHECKING:
    from collections.abc import Sequence


UNFIT = 422
"""Status of a change that the forge understood, and refuses as things are."""


_UNKNOWN = 401


class ForgeError(RunnerError):
    """The forge refused a call, or gave no answer that could be read."""

    def __init__(self, message: str, *, hint: str = "", status: int = 0) -> None:
        super().__init__(message, hint=hint, code=ExitCode.USAGE)
        self.status = status
        """Of HTTP; 0 where there was none."""

    @property
    def is_of_all(self) -> bool:
        """Whether any other call would meet the same: it is away, or knows the token no more."""
        return self.status in (0, _UNKNOWN)


class ForgeBusyError(ForgeError):
    """The forge wants to be left alone for some time."""

    def __init__(self, message: str, seconds: float) -> None:
        super().__init__(message, hint=f"retrying in {seconds:.0f} s")
        self.seconds = seconds


@dataclass(frozen=True, slots=True)
class Issue:
    """An issue as it is now."""

    number: int
    title: str
    body: str
    author: str
    labels: frozenset[str]
    """In small letters."""
    is_open: bool
    assignees: tuple[str, ...]
    updated: str
    """RFC 3339 in UTC by the forge's clock, as all times here."""
    url: str
    id: int = 0
    """Of all issues of the forge; `number` is of this repository's."""
    blocked_by: int = 0
    """Open issues that it waits for."""
    parts: int = 0
    """Issues below it."""
    parent: int = 0
    """The issue of this repository that it is a part of; 0 for none."""


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment of an issue or of a pull request's conversation."""

    id: int
    author: str
    body: str
    created: str
    updated: str

    @property
    def is_edited(self) -> bool:
        """Return whether the text may differ from the author's first text."""
        return self.created != self.updated


@dataclass(frozen=True, slots=True)
class LabelEvent:
    """That somebody put a label on an issue; without a label, that its title or parts changed."""

    id: int
    label: str
    actor: str
    time: str
    title: str = ""
    """What the title was until then, where it changed."""


@dataclass(frozen=True, slots=True)
class TextEdit:
    """A text that an issue had from then on; by nobody known where `editor` is empty."""

    editor: str
    time: str
    text: str | None = None
    """None where the forge does not tell it (any more)."""


@dataclass(frozen=True, slots=True)
class Review:
    """A person's review of a whole pull request."""

    id: int
    author: str
    wants_changes: bool
    """Whether they asked for changes, and still do."""
    body: str


@dataclass(frozen=True, slots=True)
class LineComment:
    """What a review says of a line of a file; line 0 where it is gone."""

    path: str
    line: int
    body: str


@dataclass(frozen=True, slots=True)
class PullRequest:
    """A pull request as it is now."""

    number: int
    url: str
    body: str
    is_open: bool
    is_merged: bool
    head: str
    """The commit that it proposes."""
    author: str = ""
    home: str = ""
    """The repository that its branch is in; empty where that is gone."""
    is_draft: bool = False
    """Whether nobody is asked to review it yet, and nobody can merge it."""
    node: str = ""
    """How the forge's other interface calls it."""


class Forge(Protocol):
    """One repository of a forge, with the rights of one login."""

    def find_login(self) -> str:
        """Who writes with this token."""

    def find_default_branch(self) -> str:
        """The branch that pull requests go into."""

    def list_issues(self, label: str) -> Sequence[Issue]:
        """Open issues with a label; no pull requests."""

    def load_issue(self, number: int) -> Issue:
        """One issue."""

    def list_comments(self, number: int) -> Sequence[Comment]:
        """All comments of an issue or a pull request, the oldest first."""

    def list_label_events(self, number: int) -> Sequence[LabelEvent]:
        """Who labelled it and who renamed it, the oldest first."""

    def list_blockers(self, number: int) -> Sequence[int]:
        """Open issues that have to be closed before this one."""

    def list_parts(self, number: int) -> Sequence[Issue]:
        """Issues of this repository below an issue, open or not."""

    def list_own_issues(self, label: str, login: str) -> Sequence[Issue]:
        """What this login opened and labelled so, open or not."""

    def list_reviews(self, number: int) -> Sequence[Review]:
        """Reviews of a pull request, the oldest first."""

    def list_line_comments(self, number: int, review: int) -> Sequence[LineComment]:
        """What one review says of lines."""

    def list_text_edits(self, number: int) -> Sequence[TextEdit]:
        """Return its former texts, newest last; none if it was never edited."""

    def may_write(self, login: str) -> bool:
        """Whether somebody may push to the repository."""

    def create_comment(self, number: int, body: str) -> Comment:
        """Say something."""

    def edit_comment(self, id_: int, body: str) -> None:
        """Put another text into a comment of our own."""

    def delete_comment(self, id_: int) -> None:
        """Take a comment of our own away."""

    def add_label(self, number: int, label: str) -> None:
        """Put a label on; one that is there already stays."""

    def remove_label(self, number: int, label: str) -> None:
        """Take a label off; one that is not there is no mistake."""

    def assign(self, number: int, login: str) -> None:
        """Say whose turn it is; who cannot be assigned is not."""

    def unassign(self, number: int, login: str) -> None:
        """It is not their turn any more; who is not assigned is no mistake."""

    def create_issue(self, title: str, body: str, label: str) -> Issue:
        """Open an issue of our own."""

    def add_part(self, number: int, part: Issue) -> None:
        """Put an issue below another one."""

    def edit_issue(self, number: int, *, title: str, is_open: bool) -> None:
        """Have an issue of our own say this, open or not."""

    def find_pull_request(self, branch: str, base: str, login: str) -> PullRequest | None:
        """The newest that this login opened of a branch into another one, open or not."""

    def create_pull_request(
        self, branch: str, base: str, title: str, body: str, *, is_draft: bool
    ) -> PullRequest:
        """Open one. Raises ForgeError; UNFIT: there is one, no commit is new, drafts are none."""

    def set_draft(self, pull: PullRequest, *, is_draft: bool) -> None:
        """Take it back into drafts, or mark it as ready. Raises ForgeError, UNFIT: not allowed."""

    def edit_pull_request(self, number: int, body: str) -> None:
        """Put another text into it."""

    def list_statuses(self, commit: str) -> Sequence[tuple[str, str]]:
        """Contexts and states of a commit, the newest first."""

    def set_status(self, commit: str, context: str, text: str) -> None:
        """Say of a commit that a check of it passed."""
