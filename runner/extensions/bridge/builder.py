"""Who drafts, builds and proves for one issue, as the bridge needs it, and what it says.

`issue_clone` is the one that does; a test has one that builds at once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from runner.model import Status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runner.app.draft.draft_review import DraftVerdict
    from runner.journal.session_events import DraftProposed


@dataclass(frozen=True, slots=True)
class IssueTask:
    """One task of the issue, as it stands."""

    id: str
    title: str
    status: Status
    note: str
    worth: str = ""
    """What a DONE is worth, in words: proven by what, unproven, waived."""
    commit: str = ""
    proofs: str = ""
    """Such as `3 of 3 pass`."""
    outputs: tuple[str, ...] = ()
    """Files that it may write, as the plan names them, from the repository's top on."""


@dataclass(frozen=True, slots=True)
class BuildFacts:
    """All that is known of an issue's build, from its clone and its branch in the remote."""

    draft: DraftProposed | None = None
    """The plan that waits."""
    drafts: int = 0
    tasks: tuple[IssueTask, ...] = ()
    head: str = ""
    tip: str = ""
    """The remote's commit of the branch."""
    is_cut_off: bool = False
    """Whether that is a landing of ours, which a crash kept from the clone: a run takes it in."""
    is_busy: bool = False
    """Whether somebody's run goes on in its folder."""
    proven: str = ""
    """The commit that everything was proven on together, by the clone's own journal."""
    plan: str = ""
    """The plan's path in the repository."""
    is_planned: bool = True
    """Whether the newest plan that was drafted is of the wish as it is kept now."""
    artifacts: str = ""
    """Where the last run that is stored whole lies in the artifact store."""

    @property
    def is_done(self) -> bool:
        """Whether everything that was planned is DONE."""
        return bool(self.tasks) and all(one.status is Status.DONE for one in self.tasks)


@dataclass(frozen=True, slots=True)
class CommandExit:
    """How a command of ours ended, and the last part of its error output."""

    code: int
    stderr: str
    document: Mapping[str, object] = field(default_factory=dict)


class Builder(Protocol):
    """What the bridge has done for one issue."""

    branch: str
    """Where it is built; empty until that is known."""

    def find_branch(self, number: int) -> str:
        """The branch that the remote has of an issue already; empty for none."""

    def keep_wish(self, text: str) -> None:
        """Remember what is wished for, as it was when it was asked for."""

    def read_wish(self) -> str:
        """What is remembered; empty for nothing."""

    def prepare(self, base: str) -> None:
        """Have a clone on the issue's branch."""

    def look(self) -> BuildFacts:
        """How it stands."""

    def draft(self) -> CommandExit:
        """Turn the wish into a plan that waits."""

    def approve(self, draft: DraftProposed, by: str) -> None:
        """Put the plan that waits into the plan of the repository."""

    def reject(self, draft: DraftProposed, reason: str, place: str = "") -> CommandExit:
        """Reject the plan and draft again; repeat nothing for a known `place`."""

    def withdraw(self, draft: DraftProposed, reason: str) -> None:
        """Refuse it, and draft nothing."""

    def find_unknown_commands(self, draft: DraftProposed) -> tuple[str, ...]:
        """Commands of a plan that nobody has let run here yet."""

    def review(self, draft: DraftProposed) -> DraftVerdict:
        """Have somebody read the plan who did not write it."""

    def build(self, *, is_retried: bool) -> CommandExit:
        """Build what was planned."""

    def change(self, task: str, text: str) -> CommandExit:
        """Ask something new of a task."""

    def verify(self) -> CommandExit:
        """Prove everything together, on the commit as it is."""

    def clear_branch(self) -> str:
        """Take the branch away where it is as it was left; why it stays, empty where it is gone."""

    def retire(self) -> None:
        """Keep all that is remembered under another name: the next wish begins anew."""
