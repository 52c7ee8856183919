"""How a worker's work on a build ended, and how a list of builds says it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from runner.secrets.redact import redact
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Mapping

LONGEST_NOTE = 2000
"""Letters."""


@dataclass(frozen=True, slots=True)
class WorkEnd:
    """How a worker's work on a build ended: its end, or why it is handed on."""

    state: str
    """COMPLETED, FAILED, CANCELLED, or PENDING: it is handed on; empty: others have it."""
    note: str = ""
    waits: str = ""
    after: float = 0.0
    """Seconds for which nobody is to claim it."""
    head: str = ""
    ending: str = "stopped"
    """As `notify.on` has it."""


@dataclass(frozen=True, slots=True)
class CommandEnd:
    """How a command of ours ended."""

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
    """Which tasks are BLOCKED and why, as our own command wrote it."""
    rows: Any = ran.document.get("blocked") or ()
    lines = [f"{row['id']}: {row['note']}" for row in rows]
    return shorten("; ".join(lines) or ran.stderr)
