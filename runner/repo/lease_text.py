"""What a lease says: the message of the commit that its ref in the remote is on.

Who builds a branch, where and since when, as one JSON object below a first line. It comes from a
remote, so anybody who may push there may have written it: bounded, and shown through `display`.
Its times are words for people; nothing is ever decided by them.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import NamedTuple

from runner.text.display import display

BOUND = 8192
"""Bytes of a message that are read."""
_FIRST = "chore(runner): lease [skip ci]"
"""Where a lease is a branch, its pushes start no builds."""
_WIDTH = 200
"""Characters of one value that are kept."""
_LONGEST = 3600.0
"""Seconds beyond which no holder is waited for, whatever it says of itself."""


def refs_of(branch: str) -> tuple[str, str]:
    """Where the lease of a branch is, and where it is for a forge that refuses such a name."""
    return f"refs/runner/lease/{branch}", f"refs/heads/runner-lease/{branch}"


class LeaseHolder(NamedTuple):
    """What the holder of a branch says of itself."""

    holder: str = ""
    host: str = ""
    run: str = ""
    token: str = ""
    """By which a clone knows its own lease again after a crash."""
    since: str = ""
    """RFC 3339 in UTC by the holder's clock, as all times here."""
    renewed: str = ""
    beat: int = 0
    """Counts the renewals, so that no two values are ever the same."""
    seconds: float = 0.0
    """For how long it asks to be left alone without a renewal."""
    doing: str = ""
    """Such as `TASK-004 of 12`."""
    reason: str = ""
    """Why a person took it from somebody else."""

    @property
    def who(self) -> str:
        """`dev@laptop`, made safe to be shown."""
        return f"{display(self.holder) or 'somebody'}@{display(self.host) or 'some host'}"

    @property
    def patience(self) -> float:
        """Seconds without a renewal that it asks for, within bounds."""
        return min(max(self.seconds, 0.0), _LONGEST)

    def __str__(self) -> str:
        """By whom, since when and what, made safe to be shown."""
        text = f"by {self.who}"
        if since := _clock(self.since):
            text += f" since {since}"
        return text + (f", {display(self.doing)}" if self.doing else "")


def write_lease(lease: LeaseHolder) -> str:
    """The message of a lease's commit."""
    return f"{_FIRST}\n\n{json.dumps(lease._asdict())}\n"


def read_lease(message: str) -> LeaseHolder:
    """What a message says; an empty lease for what is none, a value left out for what is odd."""
    try:
        fields = json.loads(message.partition("\n\n")[2])
    except (ValueError, RecursionError):
        return LeaseHolder()
    if not isinstance(fields, dict):
        return LeaseHolder()
    found: dict[str, object] = {}
    for name, default in LeaseHolder()._asdict().items():
        value = fields.get(name, default)
        if isinstance(default, str) and isinstance(value, str):
            found[name] = value[:_WIDTH]
        elif name == "beat" and isinstance(value, int) and 0 <= value < 1 << 62:
            found[name] = value
        elif name == "seconds" and isinstance(value, int | float) and 0 <= value <= _LONGEST:
            found[name] = float(value)
    return LeaseHolder(**found)  # type: ignore[arg-type]  # each is of its default's type


def _clock(time: str) -> str:
    """A holder's time as a person's clock shows it here; empty for what is none."""
    try:
        there = datetime.fromisoformat(time).astimezone()
    except (ValueError, OverflowError):
        return ""
    today = datetime.now(there.tzinfo).date()
    return f"{there:%H:%M}" if there.date() == today else f"{there:%Y-%m-%d %H:%M}"
