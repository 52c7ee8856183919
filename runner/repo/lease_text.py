"""The text of a lease: the message of the commit that its remote ref points to.

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
"""Maximum bytes of a message that are read."""
_FIRST = "chore(runner): lease [skip ci]"
"""If a lease is a branch, its pushes start no CI builds."""
_WIDTH = 200
"""Maximum characters of one value."""
_LONGEST = 3600.0
"""Seconds after which any holder's lease expires, whatever it requests."""


def refs_of(branch: str) -> tuple[str, str]:
    """Return the ref of a branch's lease, and the one for a forge that rejects such names."""
    return f"refs/runner/lease/{branch}", f"refs/heads/runner-lease/{branch}"


class LeaseHolder(NamedTuple):
    """The data of a branch's lease holder."""

    holder: str = ""
    host: str = ""
    run: str = ""
    token: str = ""
    """Identifies a clone's own lease after a crash."""
    since: str = ""
    """RFC 3339 in UTC by the holder's clock, as all times here."""
    renewed: str = ""
    beat: int = 0
    """Number of renewals, so that no two values are equal."""
    seconds: float = 0.0
    """Requested seconds until it expires without a renewal."""
    doing: str = ""
    """Current work, such as `TASK-004 of 12`."""
    reason: str = ""
    """Why a person took it over."""

    @property
    def who(self) -> str:
        """`dev@laptop`, made safe to be shown."""
        return f"{display(self.holder) or 'somebody'}@{display(self.host) or 'some host'}"

    @property
    def patience(self) -> float:
        """Seconds without a renewal that it asks for, within bounds."""
        return min(max(self.seconds, 0.0), _LONGEST)

    def __str__(self) -> str:
        """Return holder, start and purpose as text that is safe to show."""
        text = f"by {self.who}"
        if since := _clock(self.since):
            text += f" since {since}"
        return text + (f", {display(self.doing)}" if self.doing else "")


def write_lease(lease: LeaseHolder) -> str:
    """Format the message of a lease's commit."""
    return f"{_FIRST}\n\n{json.dumps(lease._asdict())}\n"


def read_lease(message: str) -> LeaseHolder:
    """Parse a lease message; empty for an invalid one, without values of the wrong type."""
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
    """Return a timestamp in local time, with the date unless it is today; "" if invalid."""
    try:
        there = datetime.fromisoformat(time).astimezone()
    except (ValueError, OverflowError):
        return ""
    today = datetime.now(there.tzinfo).date()
    return f"{there:%H:%M}" if there.date() == today else f"{there:%Y-%m-%d %H:%M}"
