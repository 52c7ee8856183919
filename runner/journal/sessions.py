"""Events of an implementer's session: its plan, and the tools that it calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from runner.model import Digest, TaskPlan, Usage


class PlanProposed(NamedTuple):
    """A plan for a task; `digest` is that of the kept file, `what` that of what is to be built."""

    plan: TaskPlan
    path: str
    digest: Digest
    usage: Usage | None = None
    """Of a session that was no attempt; what an attempt used is said where that ends."""
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
    """What a person said to exactly this call; `once` is not remembered for later attempts."""

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


class ToolReturned(NamedTuple):
    """A tool came back."""

    name: str
    arguments: Digest
    seconds: float = 0.0
    """How long it took, as the runner saw it."""
    outcome: str = ""
    """`ok`, `failed` or `refused`; empty where that is not told."""
