"""What the journal says of one task: its status, its tries, and what its DONE rests on."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from runner.model import Status, Usage
from runner.model.columns import new_tuple

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


class Open(NamedTuple):
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
    """The task's status before."""
    note: str = ""
    reason: Reason | None = None
    """What stood behind that status."""


class Try(NamedTuple):
    """A failed attempt, by what loops are seen by."""

    attempt: int
    tree: str
    checks: tuple[str, ...]
    """The checks that refused, sorted, each once."""
    seconds: float = 0.0
    failure: Failure | None = None
    """The kind of failure, where something else than a check ended it."""


class HeldWork(NamedTuple):
    """Work that passed its proof and may not land yet: `review`, `in-the-way` or `conflict`."""

    kind: str
    ref: str
    base: str
    tree: str
    spec: Spec | None
    attempt: int = 0


class UnfinishedLanding(NamedTuple):
    """A commit that is on the branch while the task is not yet DONE."""

    commit: str
    tree: str
    attempt: int
    paths: tuple[str, ...] = ()
    late: tuple[str, ...] = ()


class Planned(NamedTuple):
    """How an implementer means to build the task: proposed, or approved by its digest."""

    plan: TaskPlan
    path: str
    digest: Digest
    what: Digest
    """What was to be built when it was made; for anything else it says nothing."""
    approved: bool = False
    review: str = ""
    """`applied`, `edited`, `auto` or `off`, once it is approved."""


class BuiltPhases(NamedTuple):
    """The phases of a plan that are built so far, as the commit under a ref has them."""

    phases: int
    ref: str
    base: str
    tree: str
    digest: Digest
    """Of the plan whose phases they are."""


class Waived(NamedTuple):
    """A person's word that the task needs no proof, for these bytes and what it asks for."""

    reason: str
    by: str
    time: str
    what: Digest
    files: dict[str, str]


class TaskState(NamedTuple):
    """One task as the journal knows it. Times are RFC 3339, durations seconds."""

    id: str
    status: Status = Status.PENDING
    note: str = ""
    spec: Spec | None = None
    """The digests under which it was DONE: its evidence. None without evidence."""
    commit: str = ""
    tree: str = ""
    verified: bool = False
    tried: Spec | None = None
    """The digests of the last attempt."""
    last_attempt: int = 0
    """The highest number an attempt ever had."""
    plan_sessions: int = 0
    """How many sessions only planned: they are numbered below zero, and are no attempts."""
    base: str = ""
    """The commit the last attempt was made from."""
    last_tree: str = ""
    """Tree of the last attempt that came back."""
    coverage: Coverage | None = None
    patterns: tuple[str, ...] = ()
    durations: tuple[float, ...] = ()
    """Seconds of the last five attempts that passed, the latest last."""
    draft: str = ""
    published: Status | None = None
    """The status last written into the plan."""
    done_at: str = ""
    cause: str = ""
    """Id of the last record that changed the status."""
    origin: str = ""
    proven: ProvenBy | None = None
    """By what its proofs show anything; None without any."""
    usage: Usage = Usage()
    """What all its attempts ever used."""
    spent: Usage = Usage()
    """What of it counts for its budget: since it was DONE, or a person let it go on."""
    proofs: Sequence[Proof] = ()
    findings: Sequence[Finding] = ()
    """Of the last failed attempt."""
    reason: Reason | None = None
    # what few tasks have stands last: a row of the snapshot ends where only defaults follow
    tries: tuple[Try, ...] = ()
    """Failed attempts since the last success, approval, reopening or change of the task."""
    open_attempt: Open | None = None
    passed: AttemptFinished | None = None
    """The attempt that passed its proof and is not DONE yet."""
    held: HeldWork | None = None
    landed: UnfinishedLanding | None = None
    changed: tuple[str, ...] = ()
    """The fields whose change made it STALE."""
    culprit: str = ""
    """The task whose held change breaks this one."""
    approved: bool = False
    """Whether a person approved that it is built anew on that change."""
    reuse: bool = False
    """Whether what is there is only to be proven again, with nobody implementing."""
    via: str = ""
    """The task through which alone it is STALE, or was; empty where it has a reason of its own."""
    cut_off: str = ""
    """Why it is only proven again without a person's word: nothing it rests on has changed."""
    planned: Planned | None = None
    """The plan that an implementer made of it; None once it is DONE."""
    plans_refused: int = 0
    """Plans in a row that were refused or sent back."""
    kept: BuiltPhases | None = None
    """Phases of that plan that are built and have not landed."""
    asks: tuple[PermissionAsked, ...] = ()
    """What its last attempt wanted to do where a rule asks, and nobody has answered."""
    answers: tuple[PermissionAnswered, ...] = ()
    """A person's answers to such questions, for the task as it is written."""
    aside: float = 0.0
    """Seconds of its planning and of the phases that are built, beside the failed attempts."""
    unproven: str = ""
    """Why nothing proves it, as far as that was recorded when it became DONE."""
    waived: Waived | None = None
    gaps: tuple[str, ...] = ()
    """What of its proof could not be measured."""
    held_out_rounds: int = 0
    """Failed held-out proofs since the last answer of a person."""
    mutants_returned: bool = False
    """Whether surviving mutants went back to the author of its tests."""
    held_out: tuple[tuple[str, str, Digest], ...] = ()
    """Contract, path and digest of the held-out files that its proof ran with."""

    def as_published(self, status: Status) -> TaskState:
        """Return the same once this status was written into the plan: of every task at once."""
        if self.published is status:
            return self
        return new_tuple(TaskState, (*self[:_PUBLISHED], status, *self[_PUBLISHED + 1 :]))

    @classmethod
    def new(cls, task: str) -> TaskState:
        """One that the journal knows nothing of yet: as by its name alone, but quicker."""
        return new_tuple(cls, (task, *_USUAL))

    @property
    def attempts_in_row(self) -> int:
        """Failed attempts since the last success, approval, reopening or change of the task."""
        return len(self.tries)

    @property
    def seconds_in_row(self) -> float:
        """What those failed attempts cost together, and what was planned and kept meanwhile."""
        return sum((attempt.seconds for attempt in self.tries), self.aside)

    @property
    def seconds(self) -> float:
        """How long the last attempt that passed took; 0 when none did."""
        return self.durations[-1] if self.durations else 0.0

    @property
    def typical_seconds(self) -> float:
        """The median of the last five attempts that passed; 0 when none did."""
        return sorted(self.durations)[len(self.durations) // 2] if self.durations else 0.0


_USUAL = tuple(TaskState(""))[1:]
_PUBLISHED = TaskState._fields.index("published")
