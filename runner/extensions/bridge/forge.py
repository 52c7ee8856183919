"""The forge interface of the bridge: its nouns, and the calls that an adapter implements.

`github` is the one adapter; a second one is another class with these calls. All texts are a
stranger's. Calls that write may have arrived where they raise: who calls looks again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from runner.errors import ExitCode, RunnerError

if TYPE_CHECKING:
    from collections.abc import Sequence


UNFIT = 422
"""HTTP status of a change that the forge understood but currently refuses."""


_UNKNOWN = 401


class ForgeError(RunnerError):
    """The forge refused a call, or gave no answer that could be read."""

    def __init__(self, message: str, *, hint: str = "", status: int = 0) -> None:
        super().__init__(message, hint=hint, code=ExitCode.USAGE)
        self.status = status
        """HTTP status; 0 if there was none."""

    @property
    def is_of_all(self) -> bool:
        """Whether any other call would meet the same: it is away, or knows the token no more."""
        return self.status in (0, _UNKNOWN)


class ForgeBusyError(ForgeError):
    """The forge wants to be left alone for some time."""

    def __init__(self, message: str, seconds: float) -> None:
        super().__init__(message, hint=f"retrying in {seconds:.0f} s")
        self.seconds = seconds


class Issue(Struct, frozen=True):
    """An issue as it is now."""

    number: int
    title: str
    body: str
    author: str
    labels: frozenset[str]
    """Labels in lower case."""
    is_open: bool
    assignees: tuple[str, ...]
    updated: str
    """RFC 3339 in UTC by the forge's clock, as all times here."""
    url: str
    id: int = 0
    """ID unique in the forge; `number` is unique in this repository."""
    blocked_by: int = 0
    """Number of open issues that block it."""
    parts: int = 0
    """Number of its sub-issues."""
    parent: int = 0
    """Parent issue in this repository; 0 for none."""


class Comment(Struct, frozen=True):
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


class LabelEvent(Struct, frozen=True):
    """A label was added to an issue; without a label, its title or parts changed."""

    id: int
    label: str
    actor: str
    time: str
    title: str = ""
    """Previous title, if it changed."""


class TextEdit(Struct, frozen=True):
    """A text that an issue had from then on; by nobody known where `editor` is empty."""

    editor: str
    time: str
    text: str | None = None
    """None if the forge does not (or no longer) provide it."""


class Review(Struct, frozen=True):
    """A person's review of a whole pull request."""

    id: int
    author: str
    wants_changes: bool
    """Whether they requested changes and still do."""
    body: str


class LineComment(Struct, frozen=True):
    """A review's comment on a line of a file; line 0 where the line no longer exists."""

    path: str
    line: int
    body: str


class PullRequest(Struct, frozen=True):
    """A pull request as it is now."""

    number: int
    url: str
    body: str
    is_open: bool
    is_merged: bool
    head: str
    """Commit that it proposes."""
    author: str = ""
    home: str = ""
    """Repository of its branch; empty if that is deleted."""
    is_draft: bool = False
    """Whether it is a draft: not open for review, and cannot be merged."""
    node: str = ""
    """Its ID in the forge's GraphQL API."""


class Forge(Protocol):
    """One repository of a forge, with the rights of one login."""

    def find_login(self) -> str:
        """Return the login that the token belongs to."""

    def find_default_branch(self) -> str:
        """Return the default branch, the target of pull requests."""

    def list_issues(self, label: str) -> Sequence[Issue]:
        """Open issues with a label; no pull requests."""

    def load_issue(self, number: int) -> Issue:
        """Load an issue."""

    def list_comments(self, number: int) -> Sequence[Comment]:
        """Return all comments of an issue or pull request, oldest first."""

    def list_label_events(self, number: int) -> Sequence[LabelEvent]:
        """Return label and rename events of an issue, oldest first."""

    def list_blockers(self, number: int) -> Sequence[int]:
        """Open issues that have to be closed before this one."""

    def list_parts(self, number: int) -> Sequence[Issue]:
        """Return the sub-issues of an issue in this repository, open or not."""

    def list_own_issues(self, label: str, login: str) -> Sequence[Issue]:
        """Return the issues that this login opened with this label, open or not."""

    def list_reviews(self, number: int) -> Sequence[Review]:
        """Return the reviews of a pull request, oldest first."""

    def list_line_comments(self, number: int, review: int) -> Sequence[LineComment]:
        """Return the line comments of one review."""

    def list_text_edits(self, number: int) -> Sequence[TextEdit]:
        """Return its former texts, newest last; none if it was never edited."""

    def may_write(self, login: str) -> bool:
        """Return whether a user may push to the repository."""

    def create_comment(self, number: int, body: str) -> Comment:
        """Create a comment."""

    def edit_comment(self, id_: int, body: str) -> None:
        """Replace the text of a comment written by this login."""

    def delete_comment(self, id_: int) -> None:
        """Delete a comment written by this login."""

    def add_label(self, number: int, label: str) -> None:
        """Add a label; one that the issue already has stays."""

    def remove_label(self, number: int, label: str) -> None:
        """Remove a label; a missing one is no error."""

    def assign(self, number: int, login: str) -> None:
        """Assign a login; one that cannot be assigned is skipped."""

    def unassign(self, number: int, login: str) -> None:
        """Unassign a login; one that is not assigned is no error."""

    def create_issue(self, title: str, body: str, label: str) -> Issue:
        """Open an issue of our own."""

    def add_part(self, number: int, part: Issue) -> None:
        """Add an issue as a sub-issue of another."""

    def edit_issue(self, number: int, *, title: str, is_open: bool) -> None:
        """Set title and state of an issue that this login opened."""

    def find_pull_request(self, branch: str, base: str, login: str) -> PullRequest | None:
        """Return the user's newest pull request between two branches in any state, or None."""

    def create_pull_request(
        self, branch: str, base: str, title: str, body: str, *, is_draft: bool
    ) -> PullRequest:
        """Open one. Raises ForgeError; UNFIT: there is one, no commit is new, drafts are none."""

    def set_draft(self, pull: PullRequest, *, is_draft: bool) -> None:
        """Turn a pull request into a draft or mark it ready. Raises ForgeError if not allowed."""

    def edit_pull_request(self, number: int, body: str) -> None:
        """Replace the text of a pull request."""

    def list_statuses(self, commit: str) -> Sequence[tuple[str, str]]:
        """Return contexts and states of a commit, newest first."""

    def set_status(self, commit: str, context: str, text: str) -> None:
        """Set a successful status on a commit."""
