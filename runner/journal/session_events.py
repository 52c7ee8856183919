"""Events of runs and sessions, not of single tasks.

They tell of an implementer's session (its plan and tool calls), drafts of a plan, the whole tree
(proven, shipped, reopened, undone), a person's waiver of a proof, artifacts, pruning, and leased
secrets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from runner.model import Usage

if TYPE_CHECKING:
    from runner.model import Coverage, Digest, TaskPlan


class PlanProposed(Struct, frozen=True):
    """A plan for a task; `digest` is that of its file, `what` that of the task's specification."""

    plan: TaskPlan
    path: str
    digest: Digest
    usage: Usage | None = None
    """Usage of a session outside of attempts; an attempt's is in its final event."""
    what: Digest = ""


class PlanReviewed(Struct, frozen=True):
    """A plan was approved or rejected; `review` is `applied`, `auto` or `off`."""

    digest: Digest
    approved: bool
    review: str = ""
    reason: str = ""
    by: str = ""


class ReviewSwitched(Struct, frozen=True):
    """A person switched reviews to mode `review`, for a `task` or the rest of the `run`.

    It approves nothing by itself: what lands by it says so in its own `write.reviewed`.
    """

    review: str
    scope: str
    by: str = ""


class PermissionAsked(Struct, frozen=True):
    """A rule requires a person's answer about this call, and nobody was there: it waits."""

    tool: str
    subject: str
    rule: str = ""


class PermissionAnswered(Struct, frozen=True):
    """A person's answer about exactly this call; `once` does not hold for later attempts."""

    tool: str
    subject: str
    allowed: bool
    reason: str = ""
    by: str = ""
    once: bool = False


class ToolCalled(Struct, frozen=True):
    """An implementer called a tool."""

    name: str
    arguments: Digest
    usage: Usage | None = None
    """Usage of its session so far, including this call, if reported."""
    path: str = ""
    """File that it names, without secrets; empty if none."""


class ToolReturned(Struct, frozen=True):
    """A tool call ended."""

    name: str
    arguments: Digest
    seconds: float = 0.0
    """Duration as measured by the runner."""
    outcome: str = ""
    """`ok`, `failed` or `refused`; empty if unknown."""


class DraftProposed(Struct, frozen=True):
    """A draft of plan sections is complete and waits; after an edit, with the same number."""

    number: int
    plan: str
    """Plan of the sections, relative to the project."""
    text: str
    """Sections, with LF line ends."""
    digest: Digest
    """Digest of the text, which a person approves."""
    tasks: tuple[str, ...]
    wish: str
    """Original request, for a new draft."""
    source: str = ""
    """Source of the request: a file, an issue; empty for typed text."""
    asked: tuple[str, ...] = ()
    """Items of the request, in order."""
    covered_by: tuple[str, ...] = ()
    """For each item, the tasks that build it; empty if none."""
    taken_out: tuple[str, ...] = ()
    """Parts removed from the answer because they are not allowed, with their lines."""
    notes: tuple[str, ...] = ()
    """Notes for a person: warnings, and an estimate."""
    mistakes: tuple[str, ...] = ()
    """Why it cannot be approved without an edit."""
    rounds: int = 1
    by: str = ""
    """Author: an implementer's name, or `person`."""
    usage: Usage | None = None
    """Usage of its session: see `find_usage`."""
    imported: str = ""
    """Format of the other tool's file with these tasks; their source names the file."""


PERSON = "person"
"""Author of a draft that a person edited."""
EDIT = "edit"
"""Reason for reopening unlanded work whose section was edited while a run built it."""


def find_usage(event: DraftProposed) -> Usage:
    """Return the usage of a draft; zero for one that a person edited."""
    # The first versions copied the usage of the edited draft into the new record.
    return Usage() if event.by == PERSON else event.usage or Usage()


class DraftReviewed(Struct, frozen=True):
    """A person's answer to exactly this text of a draft."""

    number: int
    digest: Digest
    approved: bool
    reason: str = ""
    by: str = ""


class DraftLanded(Struct, frozen=True):
    """The sections are in their plan."""

    number: int
    plan: str
    tasks: tuple[str, ...]


Draft: TypeAlias = "DraftProposed | DraftReviewed | DraftLanded"

DRAFTS: dict[str, type[Draft]] = {
    "draft.proposed": DraftProposed,
    "draft.reviewed": DraftReviewed,
    "draft.landed": DraftLanded,
}


class TreeVerified(Struct, frozen=True):
    """The runner proved every check of every DONE task on one tree, together."""

    tree: Digest
    """Digest of all files except the runner's documents, and of what proves them."""
    head: str
    passed: bool
    coverage: Coverage | None = None
    """Coverage of everything that the tasks built."""
    tasks: int = 0
    ran: int = 0
    """Commands that ran for it; the others had already run on this tree."""
    reused: int = 0
    """Tasks proven on an earlier tree that no later landing affects."""
    seconds: float = 0.0
    """Duration; 0 in records of older versions."""


class ShipDeclared(Struct, frozen=True):
    """The plan is built, verified as a whole and tagged; no task runs until it is reopened."""

    tag: str
    commit: str
    tasks: int = 0


class ShipReopened(Struct, frozen=True):
    """A person allowed runs again after a ship."""

    by: str = ""


class HistoryMoving(Struct, frozen=True):
    """The runner is about to commit a revert of work; recorded before the first effect.

    `kind` is `undo` or `replay`; `tasks` become PENDING with the note, those in `stale` STALE with
    a reason each, and `via` the task next to it on the way; `kept` is the ref that holds the head
    of before.
    """

    kind: str
    commit: str
    parent: str
    tasks: tuple[str, ...] = ()
    note: str = ""
    kept: str = ""
    stale: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    via: tuple[str, ...] = ()


class HistoryMoved(Struct, frozen=True):
    """The commit is on the branch, its files are in the work tree, its tasks are PENDING."""

    kind: str
    commit: str
    tasks: tuple[str, ...] = ()


class TaskWaived(Struct, frozen=True):
    """A person accepted the task as DONE without a proof, for this section and these files."""

    reason: str
    by: str
    what: Digest
    files: dict[str, str]
    """Its files and their bytes; the waiver ends if either changes."""


class AuthorFinished(Struct, frozen=True):
    """A separate author wrote tests of the task, or tried to; the store has their names."""

    by: str
    files: int = 0
    """Number of files; 0 if its work was rejected, or it had no test to add."""
    tests: int = 0
    held_before: int = 0
    """Number of tests that already pass on the base."""
    repairs: int = 0
    prompt: Digest = ""
    """Digest of the prompt that it answered."""
    usage: Usage | None = None


class LeaseMoved(Struct, frozen=True):
    """The lease of a branch, which one clone at a time may build, has another holder.

    Holders are named by their own words; an empty one is nobody.
    """

    branch: str
    old: str
    new: str
    reason: str = ""
    by: str = ""
    """`person` for a takeover; empty if it was not renewed for a whole ttl, or was lost."""


class ArtifactStored(Struct, frozen=True):
    """The artifact store has this file of the record's run."""

    path: str
    """Path below the run's folder there, such as `patches/TASK-001.patch`."""
    sha256: str
    bytes: int
    store: str = ""
    """Store as named in the settings."""


class Pruned(Struct, frozen=True):
    """The runner removed old leftovers: the number of each kind, and their bytes."""

    before: str
    """Age limit: older entries were pruned."""
    logs: int = 0
    """Number of attempt folders."""
    drafts: tuple[str, ...] = ()
    """Names of branches."""
    slots: int = 0
    packs: int = 0
    """Number of folders with objects of cluster workers."""
    bytes: int = 0


class SecretLeased(Struct, frozen=True):
    """An attempt got a secret; the record has neither its value nor a digest."""

    name: str
    source: str
    """Source of the secret, such as `command op`."""
    until: str
    """When a new one is requested, if the attempt lasts that long."""


class SecretReturned(Struct, frozen=True):
    """The attempt or the secret's time ended, and the runner dropped the value."""

    name: str


Operation: TypeAlias = "ArtifactStored | Pruned | SecretLeased | SecretReturned"

OPERATIONS: dict[str, type[Operation]] = {
    "artifact.stored": ArtifactStored,
    "pruned": Pruned,
    "secret.leased": SecretLeased,
    "secret.returned": SecretReturned,
}
