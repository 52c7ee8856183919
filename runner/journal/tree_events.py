"""Events about the whole of what was built: proven together, shipped, reopened, taken back.

A person's word that a task needs no proof, as the journal holds it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from runner.model import Coverage, Digest


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


class LeaseMoved(NamedTuple):
    """The lease under which one clone at a time builds a branch went from one holder to another.

    Holders are told by their own words; an empty one is nobody.
    """

    branch: str
    old: str
    new: str
    reason: str = ""
    by: str = ""
    """`person` where one took it; empty where it was not renewed for a whole ttl, or was lost."""
