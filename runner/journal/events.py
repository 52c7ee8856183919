"""The events of a run: one frozen Struct per kind. Build them with keywords."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from msgspec import Struct

from runner.journal.session_events import (
    DRAFTS,
    OPERATIONS,
    AuthorFinished,
    Draft,
    HistoryMoved,
    HistoryMoving,
    LeaseMoved,
    Operation,
    PermissionAnswered,
    PermissionAsked,
    PlanProposed,
    PlanReviewed,
    ReviewSwitched,
    ShipDeclared,
    ShipReopened,
    TaskWaived,
    ToolCalled,
    ToolReturned,
    TreeVerified,
)

if TYPE_CHECKING:
    from runner.model import (
        Action,
        Coverage,
        Decision,
        Digest,
        Ending,
        Failure,
        Finding,
        Proof,
        Reason,
        Spec,
        Status,
        Usage,
    )


class RunStarted(Struct, frozen=True):
    """A run started on this HEAD and plan."""

    head: str
    branch: str
    plan: Digest
    pid: int
    settings: dict[str, str]
    included: tuple[str, ...] = ()
    """Ignored files copied into scratch trees; the user's state folder has a digest."""


class RunFinished(Struct, frozen=True):
    """A run ended in order; a killed run has no such event."""

    exit: int
    head: str
    seconds: float
    counts: dict[str, int]
    unrecorded: bool = False  # whether it proved what no commit tells yet
    record: str = ""  # the commit of the runner's own documents that it made


class RunStuck(Struct, frozen=True):
    """No task is ready or running; these tasks wait."""

    waiting: tuple[str, ...]


class ModeSwitched(Struct, frozen=True):
    """The run continues in another mode."""

    mode: str


class PlanUpdated(Struct, frozen=True):
    """The runner read a plan that differs from the one before."""

    plan: Digest


class AttemptStarted(Struct, frozen=True):
    """An attempt started; `mode` is `build`, `prove` (only the proof), `plan` or `phase`."""

    base: str
    implementer: str
    spec: Spec
    patterns: tuple[str, ...] = ()
    slot: int = 0
    mode: str = "build"
    task_type: str = ""
    """Detected task type and its source: `bugfix (title: fix)`."""
    searched: tuple[str, ...] = ()
    """Query of the pattern search before it, preceded by the number of patterns."""
    model: str = ""
    """Model of an agent, if the task or `escalate` names it."""


class AttemptFinished(Struct, frozen=True):
    """An attempt ended; nothing of it has landed yet."""

    ending: Ending
    tree: str
    seconds: float
    reason: Reason | None = None
    findings: tuple[Finding, ...] = ()
    proofs: tuple[Proof, ...] = ()
    decisions: int = 0
    """Number of decisions that the implementer reported."""
    draft: str = ""
    """Branch with the work of a rejected attempt."""
    held: str = ""
    """Why proven work may not land now: `review`, `in-the-way`, `conflict`, or empty."""
    ref: str = ""
    """Ref of the held work."""
    summary: str = ""
    coverage: Coverage | None = None
    usage: Usage | None = None
    failure: Failure | None = None
    unproven: str = ""


class WriteStaged(Struct, frozen=True):
    """A proposed change of one file is stored unchanged, and waits."""

    path: str
    action: Action
    mode: int
    before: Digest | None
    after: Digest | None
    bytes: int
    staged: str = ""


class WriteReviewed(Struct, frozen=True):
    """A change was approved; `review` is `applied`, `edited`, `auto` or `off`."""

    path: str
    before: Digest | None
    after: Digest | None
    review: str
    by: str = ""
    reason: str = ""
    """Why a person approves what a check asks about; not every question needs a reason."""


class WriteRejected(Struct, frozen=True):
    """A person rejected a change."""

    path: str
    before: Digest | None
    after: Digest | None
    reason: str
    by: str = ""


class GateStarted(Struct, frozen=True):
    """A command of the proof started."""

    gate: str
    command: str


class GateCompleted(Struct, frozen=True):
    """A command of the proof ended."""

    proof: Proof


class StageCompleted(Struct, frozen=True):
    """A part of an attempt, other than a command of its proof, took this many seconds."""

    stage: str
    seconds: float


class TaskLanding(Struct, frozen=True):
    """The runner is about to make this commit; recorded before the first effect."""

    tree: str
    parent: str
    commit: str = ""
    paths: tuple[str, ...] = ()
    review: str = ""
    lock_inode: int = 0
    lock_digest: str = ""
    """Number and SHA-256 of `index.lock` with the future index; empty: it stays."""


class TaskLanded(Struct, frozen=True):
    """The commit is on the branch; the files in `late` keep edits that somebody made meanwhile."""

    commit: str
    tree: str
    paths: tuple[str, ...] = ()
    late: tuple[str, ...] = ()


class TaskDone(Struct, frozen=True):
    """The task is DONE, with this evidence."""

    spec: Spec
    commit: str = ""
    tree: str = ""
    proofs: tuple[Proof, ...] = ()
    coverage: Coverage | None = None
    patterns: tuple[str, ...] = ()
    verified: bool = True
    note: str = ""
    tools: dict[str, str] = {}
    """Programs used in the proof, with their versions."""
    unproven: str = ""
    """Why it needs no proof: the plan says so, or it wrote only documents."""


class TaskFailed(Struct, frozen=True):
    """An attempt failed; another may follow."""

    findings: tuple[Finding, ...] = ()


class TaskBlocked(Struct, frozen=True):
    """The task cannot continue without a person."""

    reason: Reason
    note: str
    draft: str = ""
    findings: tuple[Finding, ...] = ()


class TaskStaled(Struct, frozen=True):
    """A DONE task became STALE; `fields` are the fields of the task that changed."""

    note: str
    fields: tuple[str, ...] = ()
    culprit: str = ""
    """Task whose held change breaks it; empty without a regression."""
    via: str = ""
    """Next task on the path from the change; empty if it has its own reason."""


REJECTION = "rejection"
"""Source of a TaskAdopted that makes a task DONE again with its evidence unchanged."""
CUT_OFF = "early cut-off"
"""Approver of a task that is only re-tested because its dependencies are unchanged."""


class TaskApproved(Struct, frozen=True):
    """A STALE or BLOCKED task may run again, or held work may land; `by` names the approver."""

    by: str = ""
    note: str = ""
    reuse: bool = False
    """Whether to only re-test the existing code, without an implementer."""


class TaskAdopted(Struct, frozen=True):
    """The task counts as DONE because a person or the trailers of commits say so."""

    spec: Spec | None
    commit: str = ""
    verified: bool = False
    source: str = "person"
    note: str = ""
    proofs: tuple[Proof, ...] = ()
    unproven: str = ""


class TaskReopened(Struct, frozen=True):
    """A person requested that the task is built again from the start."""

    note: str = ""
    by: str = ""


class StatusesPublished(Struct, frozen=True):
    """The runner wrote these statuses into the plan; other tasks keep theirs."""

    statuses: dict[str, Status]
    head: str
    plan: Digest


class ChangeRecorded(Struct, frozen=True):
    """A `!change` was recorded."""

    number: int
    text: str
    tasks: tuple[str, ...] = ()
    stale: tuple[str, ...] = ()
    """Tasks that were DONE and became STALE by it."""
    reasons: tuple[str, ...] = ()
    """Reason for each of them."""
    via: tuple[str, ...] = ()
    """Next task of each on the path from the change; empty for those named directly."""


class CheckpointWritten(Struct, frozen=True):
    """CHECKPOINT.md got a line for each of these tasks (`line`), or a full checkpoint (`full`)."""

    kind: str
    number: int
    tasks: tuple[str, ...] = ()


class DecisionMade(Struct, frozen=True):
    """A decision was recorded."""

    number: int
    decision: Decision


class Unknown(Struct, frozen=True):
    """An event of a newer runner, kept as JSON text so that the rest still folds."""

    type: str
    fields: str


Event: TypeAlias = (
    "RunStarted | RunFinished | RunStuck | ModeSwitched | PlanUpdated | AttemptStarted"
    " | AttemptFinished | PlanProposed | PlanReviewed | ToolCalled | ToolReturned | WriteStaged"
    " | WriteReviewed | WriteRejected | ReviewSwitched | PermissionAsked | PermissionAnswered"
    " | GateStarted | GateCompleted | StageCompleted | TaskLanding | TaskLanded | TaskDone"
    " | TaskFailed"
    " | TaskBlocked | TaskStaled | TaskApproved | TaskAdopted | TaskReopened | TaskWaived"
    " | AuthorFinished"
    " | StatusesPublished | ChangeRecorded | CheckpointWritten | DecisionMade"
    " | HistoryMoving | HistoryMoved | TreeVerified | ShipDeclared | ShipReopened | Unknown"
    " | Draft | LeaseMoved | Operation"
)

TYPES: dict[str, type[Event]] = {
    "run.started": RunStarted,
    "run.finished": RunFinished,
    "run.stuck": RunStuck,
    "mode.switched": ModeSwitched,
    "plan.updated": PlanUpdated,
    "attempt.started": AttemptStarted,
    "attempt.finished": AttemptFinished,
    "plan.proposed": PlanProposed,
    "plan.reviewed": PlanReviewed,
    "review.switched": ReviewSwitched,
    "permission.asked": PermissionAsked,
    "permission.answered": PermissionAnswered,
    "tool.called": ToolCalled,
    "tool.returned": ToolReturned,
    "write.staged": WriteStaged,
    "write.reviewed": WriteReviewed,
    "write.rejected": WriteRejected,
    "gate.started": GateStarted,
    "gate.completed": GateCompleted,
    "stage.completed": StageCompleted,
    "task.landing": TaskLanding,
    "task.landed": TaskLanded,
    "task.done": TaskDone,
    "task.failed": TaskFailed,
    "task.blocked": TaskBlocked,
    "task.staled": TaskStaled,
    "task.approved": TaskApproved,
    "task.adopted": TaskAdopted,
    "task.reopened": TaskReopened,
    "task.waived": TaskWaived,
    "tests.written": AuthorFinished,
    "statuses.published": StatusesPublished,
    "change.recorded": ChangeRecorded,
    "checkpoint.written": CheckpointWritten,
    "decision.made": DecisionMade,
    "tree.verified": TreeVerified,
    "ship.declared": ShipDeclared,
    "ship.reopened": ShipReopened,
    "history.moving": HistoryMoving,
    "history.moved": HistoryMoved,
    **DRAFTS,
    "lease.moved": LeaseMoved,
    **OPERATIONS,
}

NAMES: dict[type[Event], str] = {kind: name for name, kind in TYPES.items()}


class Record(NamedTuple):
    """One line of the journal: the envelope, and the event in it."""

    id: str
    """UUIDv7."""
    seq: int
    """Line number, from 1."""
    time: str
    """RFC 3339 in UTC with microseconds."""
    run: str
    type: str
    task: str
    attempt: int
    cause: str
    """ID of the record that caused this one; empty if no record did."""
    origin: str
    """ID of the first record of that chain; its own if it is the first."""
    producer: str
    event: Event
    crc: str = ""
    v: int = 1
