"""Events other than those of tasks.

They tell of an implementer's session (its plan and tool calls), drafts of a plan, the whole tree
(proven, shipped, reopened, undone), a person's waiver of a proof, artifacts, pruning, and leased
secrets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from runner.model import Usage

if TYPE_CHECKING:
    from runner.model import Coverage, Digest, TaskPlan

# --- sessions -------------------------------------------------------------------------


class PlanProposed(NamedTuple):
    """A plan for a task; `digest` is that of the kept file, `what` that of what is to be built."""

    plan: TaskPlan
    path: str
    digest: Digest
    usage: Usage | None = None
    """Of a session that was no attempt; an attempt's usage is in the event of its end."""
    what: Digest = ""


class PlanReviewed(NamedTuple):
    """A plan was approved or sent back; `review` is `applied`, `auto` or `off`."""

    digest: Digest
    approved: bool
    review: str = ""
    reason: str = ""
    by: str = ""


class ReviewSwitched(NamedTuple):
    """A person at the terminal gave reviews to `review`, of a `task` or for the rest of the `run`.

    It approves nothing by itself: what lands by it says so in its own `write.reviewed`.
    """

    review: str
    scope: str
    by: str = ""


class PermissionAsked(NamedTuple):
    """A rule wants a person asked about this call, and nobody could be: the question waits."""

    tool: str
    subject: str
    rule: str = ""


class PermissionAnswered(NamedTuple):
    """A person's answer to exactly this call; `once` is not remembered for later attempts."""

    tool: str
    subject: str
    allowed: bool
    reason: str = ""
    by: str = ""
    once: bool = False


class ToolCalled(NamedTuple):
    """An implementer called a tool."""

    name: str
    arguments: Digest
    usage: Usage | None = None
    """What its session had used by then, this call included, where it tells."""
    path: str = ""
    """The file that it names, without secrets; empty where it names none."""


class ToolReturned(NamedTuple):
    """A tool came back."""

    name: str
    arguments: Digest
    seconds: float = 0.0
    """How long it took, as the runner saw it."""
    outcome: str = ""
    """`ok`, `failed` or `refused`; empty where that is unknown."""


# --- drafts ---------------------------------------------------------------------------


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
EDIT = "edit"
"""Who reopens work that did not land, since its section was edited while a run built it."""


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


Draft: TypeAlias = "DraftProposed | DraftReviewed | DraftLanded"

DRAFTS: dict[str, type[Draft]] = {
    "draft.proposed": DraftProposed,
    "draft.reviewed": DraftReviewed,
    "draft.landed": DraftLanded,
}


# --- the whole ------------------------------------------------------------------------


class TreeVerified(NamedTuple):
    """Every check of every task that is DONE was proven on one tree, together."""

    tree: Digest
    """Of all files but the runner's own documents, and of what proves them."""
    head: str
    passed: bool
    coverage: Coverage | None = None
    """Of all that the tasks built."""
    tasks: int = 0
    ran: int = 0
    """Commands that ran for it; the others had run on this very tree before."""
    reused: int = 0
    """Tasks whose own proof ran on an earlier tree, and that nothing landed since can change."""
    seconds: float = 0.0
    """How long it took; 0 in records of older runners."""


class ShipDeclared(NamedTuple):
    """The plan is built, verified whole and tagged: a run goes on only where it is reopened."""

    tag: str
    commit: str
    tasks: int = 0


class ShipReopened(NamedTuple):
    """A person lets runs go on after a ship."""

    by: str = ""


class HistoryMoving(NamedTuple):
    """The next thing to happen is this commit, which takes work back; written before any of it.

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


class HistoryMoved(NamedTuple):
    """That commit is on the branch, its files are in the real tree, its tasks are PENDING."""

    kind: str
    commit: str
    tasks: tuple[str, ...] = ()


# --- waivers --------------------------------------------------------------------------


class TaskWaived(NamedTuple):
    """A person takes the task as DONE without a proof, as it is asked for and as it is."""

    reason: str
    by: str
    what: Digest
    files: dict[str, str]
    """Its files and their bytes; the waiver ends where either is another one."""


class AuthorFinished(NamedTuple):
    """A separate author wrote tests of the task, or tried to; names stay in the store."""

    by: str
    files: int = 0
    """0 where its work was refused, or it had no test to add."""
    tests: int = 0
    held_before: int = 0
    """Tests that pass on the base already."""
    repairs: int = 0
    prompt: Digest = ""
    """The digest of the prompt that it answered."""
    usage: Usage | None = None


class LeaseMoved(NamedTuple):
    """The lease under which one clone at a time builds a branch went from one holder to another.

    Holders are named by their own words; an empty one is nobody.
    """

    branch: str
    old: str
    new: str
    reason: str = ""
    by: str = ""
    """`person` where one took it; empty where it was not renewed for a whole ttl, or was lost."""


# --- leftovers ------------------------------------------------------------------------


class ArtifactStored(NamedTuple):
    """One file of a run lies in the artifact store, under the run of this record."""

    path: str
    """Below the run's folder there, such as `patches/TASK-001.patch`."""
    sha256: str
    bytes: int
    store: str = ""
    """Which store, as settings name it."""


class Pruned(NamedTuple):
    """Old leftovers were taken away: how many of each kind, and their bytes."""

    before: str
    """What was older than this."""
    logs: int = 0
    """Folders of attempts."""
    drafts: tuple[str, ...] = ()
    """Branches."""
    slots: int = 0
    packs: int = 0
    """Folders in which workers of a cluster kept objects."""
    bytes: int = 0


class SecretLeased(NamedTuple):
    """A task's attempt has a secret from here on: never its value, nor a digest of it."""

    name: str
    source: str
    """Where it came from, such as `command op`."""
    until: str
    """When another one is asked for, where the attempt goes on for so long."""


class SecretReturned(NamedTuple):
    """The attempt is over, or the secret's time was, and the value is forgotten."""

    name: str


Operation: TypeAlias = "ArtifactStored | Pruned | SecretLeased | SecretReturned"

OPERATIONS: dict[str, type[Operation]] = {
    "artifact.stored": ArtifactStored,
    "pruned": Pruned,
    "secret.leased": SecretLeased,
    "secret.returned": SecretReturned,
}
