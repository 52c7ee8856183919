"""Fold a build's events into its state.

A build's own events say who has it and how it ended; while a run goes on in its clone, that run's
journal says how far it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from runner.secrets.redact import redact
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

PENDING = "PENDING"
ANALYZING = "ANALYZING"
PLANNING = "PLANNING"
EXECUTING = "EXECUTING"
VERIFYING = "VERIFYING"
ENDS = ("COMPLETED", "FAILED", "CANCELLED")
"""Final states: only a retry follows them."""
_BY_OWN = {
    "build.queued": PENDING,
    "build.retried": PENDING,
    "build.released": PENDING,
    "build.put-off": PENDING,
    "build.waits": PENDING,
    "build.answered": PENDING,
    "build.claimed": ANALYZING,
    "clone.started": ANALYZING,
    "clone.completed": ANALYZING,
    "branch.created": PLANNING,
    "verification.started": VERIFYING,
    "build.completed": "COMPLETED",
    "build.failed": "FAILED",
    "build.cancelled": "CANCELLED",
}
"""New state of a build by its own event; other events don't change it."""
_WORKS = frozenset({"attempt.started", "task.landing", "task.landed", "task.done"})
LONGEST_NOTE = 2000
"""Characters of a note."""


def fold_own(types: Iterable[str], state: str = PENDING) -> str:
    """Return the state that follows from the build's own events."""
    for one in types:
        state = _BY_OWN.get(one, state)
    return state


def refine(state: str, types: Iterable[str]) -> str:
    """Return the state after the run's events since the build's branch was ready."""
    if state == PLANNING and not _WORKS.isdisjoint(types):
        return EXECUTING
    return state


def was_retried(own: Sequence[str]) -> bool:
    """Return whether a person retried the build since its previous claim."""
    claims = [at for at, kind in enumerate(own) if kind == "build.claimed"]
    return len(claims) > 1 and "build.retried" in own[claims[-2] :]


def count_since_retry(own: Sequence[str], kind: str) -> int:
    """Count the events of a kind since the last retry."""
    last = max((at for at, one in enumerate(own) if one == "build.retried"), default=0)
    return own[last:].count(kind)


class WorkEnd(Struct, frozen=True):
    """The end of a worker's work on a build: finished, or the reason to hand it on."""

    state: str
    """COMPLETED, FAILED, CANCELLED, or PENDING for handing it on; empty: others have it."""
    note: str = ""
    waits: str = ""
    after: float = 0.0
    """Seconds in which it must not be claimed."""
    head: str = ""
    ending: str = "stopped"
    """Ending as in `notify.on`."""


class CommandEnd(Struct, frozen=True):
    """The exit of a command of the runner."""

    code: int
    stderr: str
    document: Mapping[str, object]


def shorten(text: str) -> str:
    """Return a text on one line, as long as a list of builds has room for."""
    return join_lines(text)[:LONGEST_NOTE]


def join_lines(text: str) -> str:
    """Return the lines of a text as one, redacted, for a list of builds."""
    lines = (display(line).strip() for line in redact(text).splitlines())
    return "; ".join(filter(None, lines))


def describe_blocked(ran: CommandEnd) -> str:
    """Describe which tasks are BLOCKED and why, from the command's JSON output."""
    rows: Any = ran.document.get("blocked") or ()
    lines = [f"{row['id']}: {row['note']}" for row in rows]
    return shorten("; ".join(lines) or ran.stderr)
