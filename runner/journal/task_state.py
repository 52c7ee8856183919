"""The journal's facts about one task: status, attempts, and the evidence of its DONE."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from runner.model import Status, Usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runner.journal.events import AttemptFinished
    from runner.journal.session_events import PermissionAnswered, PermissionAsked
    from runner.model import (
        Coverage,
        Digest,
        Failure,
        Finding,
        Proof,
        ProvenBy,
        Reason,
        Spec,
        TaskPlan,
    )


class Open(Struct, frozen=True):
    """An attempt that began and has not come back."""

    attempt: int
    run: str
    base: str
    slot: int
    time: str
    spec: Spec
    mode: str = "build"
    implementer: str = ""
    patterns: tuple[str, ...] = ()
    was: Status = Status.PENDING
    """Previous status of the task."""
    note: str = ""
    reason: Reason | None = None
    """Reason of that status."""


class Try(Struct, frozen=True):
    """A failed attempt, by what loops are seen by."""

    attempt: int
    tree: str
    checks: tuple[str, ...]
    """Checks that rejected it, sorted and unique."""
    seconds: float = 0.0
    failure: Failure | None = None
    """Kind of failure, if it was not ended by a check."""


class HeldWork(Struct, frozen=True):
    """Work that passed its proof and may not land yet: `review`, `in-the-way` or `conflict`."""

    kind: str
    ref: str
    base: str
    tree: str
    spec: Spec | None
    attempt: int = 0


class UnfinishedLanding(Struct, frozen=True):
    """A commit that is on the branch while the task is not yet DONE."""

    commit: str
    tree: str
    attempt: int
    paths: tuple[str, ...] = ()
    late: tuple[str, ...] = ()


class Planned(Struct, frozen=True):
    """An implementer's plan for the task: proposed, or approved by its digest."""

    plan: TaskPlan
    path: str
    digest: Digest
    what: Digest
    """Specification for which it was made; it is invalid for any other."""
    approved: bool = False
    review: str = ""
    """`applied`, `edited`, `auto` or `off`, once approved."""


class BuiltPhases(Struct, frozen=True):
    """The phases of a plan that are built so far, as the commit under a ref has them."""

    phases: int
    ref: str
    base: str
    tree: str
    digest: Digest
    """Digest of the plan with these phases."""


class Waived(Struct, frozen=True):
    """A person's word that the task needs no proof, for these bytes and what it asks for."""

    reason: str
    by: str
    time: str
    what: Digest
    files: dict[str, str]


class TaskState(Struct, frozen=True, omit_defaults=True):
    """One task as the journal knows it. Times are RFC 3339, durations seconds."""

    id: str
    status: Status = Status.PENDING
    note: str = ""
    spec: Spec | None = None
    """Digests under which it was DONE: its evidence. None without evidence."""
    commit: str = ""
    tree: str = ""
    verified: bool = False
    tried: Spec | None = None
    """Digests of the last attempt."""
    last_attempt: int = 0
    """Highest attempt number so far."""
    plan_sessions: int = 0
    """Number of planning-only sessions: numbered below zero, they are no attempts."""
    base: str = ""
    """Commit on which the last attempt was based."""
    last_tree: str = ""
    """Tree of the last completed attempt."""
    coverage: Coverage | None = None
    patterns: tuple[str, ...] = ()
    durations: tuple[float, ...] = ()
    """Seconds of the last five passed attempts, the latest last."""
    draft: str = ""
    published: Status | None = None
    """Status last written to the plan."""
    done_at: str = ""
    cause: str = ""
    """ID of the last record that changed the status."""
    origin: str = ""
    proven: ProvenBy | None = None
    """Kind of its proof; None without any."""
    usage: Usage = Usage()
    """Total usage of all its attempts."""
    spent: Usage = Usage()
    """Usage that counts for its budget: since it was DONE, or a person let it continue."""
    proofs: Sequence[Proof] = ()
    findings: Sequence[Finding] = ()
    """Findings of the last failed attempt."""
    reason: Reason | None = None
    tries: tuple[Try, ...] = ()
    """Failed attempts since the last success, approval, reopening or change of the task."""
    open_attempt: Open | None = None
    passed: AttemptFinished | None = None
    """Attempt that passed its proof and is not DONE yet."""
    held: HeldWork | None = None
    landed: UnfinishedLanding | None = None
    changed: tuple[str, ...] = ()
    """Fields whose change made it STALE."""
    culprit: str = ""
    """Task whose held change breaks this one."""
    approved: bool = False
    """Whether a person approved rebuilding it on that change."""
    reuse: bool = False
    """Whether to only re-test the existing code, without an implementer."""
    via: str = ""
    """The only task that makes or made it STALE; empty if it has its own reason."""
    cut_off: str = ""
    """Why it is re-tested without approval: none of its dependencies changed."""
    planned: Planned | None = None
    """Plan that an implementer made for it; None once it is DONE."""
    plans_refused: int = 0
    """Consecutive plans that were rejected or sent back."""
    kept: BuiltPhases | None = None
    """Phases of that plan that are built but have not landed."""
    asks: tuple[PermissionAsked, ...] = ()
    """Unanswered permission questions of its last attempt."""
    answers: tuple[PermissionAnswered, ...] = ()
    """A person's answers to such questions, for the current version of the task."""
    aside: float = 0.0
    """Seconds of its planning and of built phases, in addition to failed attempts."""
    unproven: str = ""
    """Why it has no proof, as recorded when it became DONE."""
    waived: Waived | None = None
    gaps: tuple[str, ...] = ()
    """Parts of its proof that could not be measured."""
    held_out_rounds: int = 0
    """Failed held-out proofs since a person's last answer."""
    mutants_returned: bool = False
    """Whether surviving mutants were returned to the author of its tests."""
    held_out: tuple[tuple[str, str, Digest], ...] = ()
    """Contract, path and digest of the held-out files that its proof ran with."""

    def as_published(self, status: Status) -> TaskState:
        """Return the same once this status was written into the plan: of every task at once."""
        return self if self.published is status else replace(self, published=status)

    @property
    def attempts_in_row(self) -> int:
        """Failed attempts since the last success, approval, reopening or change of the task."""
        return len(self.tries)

    @property
    def seconds_in_row(self) -> float:
        """Seconds of these failed attempts, including planning and kept phases in between."""
        return sum((attempt.seconds for attempt in self.tries), self.aside)

    @property
    def seconds(self) -> float:
        """Seconds of the last attempt that passed; 0 if none did."""
        return self.durations[-1] if self.durations else 0.0

    @property
    def typical_seconds(self) -> float:
        """The median of the last five attempts that passed; 0 when none did."""
        return sorted(self.durations)[len(self.durations) // 2] if self.durations else 0.0
