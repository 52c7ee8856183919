"""The builder interface of the bridge: draft, build and prove the work of one issue.

`issue_clone` is the one that does; a test has one that builds at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from msgspec import Struct, field

from runner.model import Status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runner.app.draft.drafting import DraftVerdict
    from runner.journal.session_events import DraftProposed


class IssueTask(Struct, frozen=True):
    """One task of the issue, as it stands."""

    id: str
    title: str
    status: Status
    note: str
    worth: str = ""
    """Description of a DONE task's grade: its proof, unproven, waived."""
    commit: str = ""
    proofs: str = ""
    """Text such as `3 of 3 pass`."""
    outputs: tuple[str, ...] = ()
    """Files it may write, as named in the plan, relative to the repository root."""


class BuildFacts(Struct, frozen=True):
    """All that is known of an issue's build, from its clone and its branch in the remote."""

    draft: DraftProposed | None = None
    """The pending plan."""
    drafts: int = 0
    tasks: tuple[IssueTask, ...] = ()
    head: str = ""
    tip: str = ""
    """The remote's commit of the branch."""
    is_cut_off: bool = False
    """Whether a crash kept our landing from the clone: the next run adopts it."""
    is_busy: bool = False
    """Whether a run is active in its folder."""
    proven: str = ""
    """Commit on which everything was proven together, from the clone's journal."""
    plan: str = ""
    """Path of the plan in the repository."""
    is_planned: bool = True
    """Whether the newest drafted plan matches the current request."""
    artifacts: str = ""
    """Artifact store path of the last run that is completely stored."""

    @property
    def is_done(self) -> bool:
        """Whether everything that was planned is DONE."""
        return bool(self.tasks) and all(one.status is Status.DONE for one in self.tasks)


class CommandExit(Struct, frozen=True):
    """The exit of a command, and the end of its error output."""

    code: int
    stderr: str
    document: Mapping[str, object] = field(default_factory=dict)


class Builder(Protocol):
    """The interface that builds the work of one issue for the bridge."""

    branch: str
    """Branch of the build; empty until known."""

    def find_branch(self, number: int) -> str:
        """Return the existing remote branch of an issue; empty if there is none."""

    def save_request_text(self, text: str) -> None:
        """Save the request text as it was when the issue was labelled."""

    def read_request_text(self) -> str:
        """Return the saved request text; empty if there is none."""

    def prepare(self, base: str) -> None:
        """Create or update a clone on the issue's branch."""

    def look(self) -> BuildFacts:
        """Return the current state of the build."""

    def draft(self) -> CommandExit:
        """Turn the wish into a plan that waits."""

    def approve(self, draft: DraftProposed, by: str) -> None:
        """Add the waiting draft to the repository's plan."""

    def reject(self, draft: DraftProposed, reason: str, place: str = "") -> CommandExit:
        """Reject the plan and draft again; repeat nothing for a known `place`."""

    def withdraw(self, draft: DraftProposed, reason: str) -> None:
        """Refuse it, and draft nothing."""

    def find_unknown_commands(self, draft: DraftProposed) -> tuple[str, ...]:
        """Return the commands of a draft that have not been trusted on this machine."""

    def review(self, draft: DraftProposed) -> DraftVerdict:
        """Have a reviewer other than the author review the draft."""

    def build(self, *, is_retried: bool) -> CommandExit:
        """Build what was planned."""

    def change(self, task: str, text: str) -> CommandExit:
        """Ask something new of a task."""

    def verify(self) -> CommandExit:
        """Prove everything together, on the commit as it is."""

    def clear_branch(self) -> str:
        """Delete the branch if it is unchanged; return why it stays, or empty if it is gone."""

    def retire(self) -> None:
        """Rename the folder to keep its state, so that the next request starts from scratch."""
