"""Small wordings that several commands share: counts, times, places, lists."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runner.model import Finding

_LISTED = 3
_SHORT = 12
_DETAIL_LINES = 8


def plural(number: int, noun: str) -> str:
    """`1 task`, `2 tasks`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def join_few(names: Sequence[str], most: int = _LISTED) -> str:
    """`TASK-001, TASK-002`; of many only the first, and how many more there are."""
    more = len(names) - most
    shown = ", ".join(names[:most])
    return f"{shown} and {more} more" if more > 0 else shown


def moment(time: str) -> str:
    """A time of the journal (RFC 3339) on the person's own clock; what is no time as it stands."""
    try:
        return f"{datetime.fromisoformat(time).astimezone():%Y-%m-%d %H:%M:%S}"
    except ValueError:
        return display(time)


def short(commit: str) -> str:
    """A commit as a person writes it."""
    return display(commit[:_SHORT])


def finding_lines(finding: Finding) -> list[str]:
    """A finding as it is shown: check, place and message, the end of its detail, its hint."""
    place = f"{finding.path}:{finding.line}: " if finding.line else ""
    place = place or (f"{finding.path}: " if finding.path else "")
    lines = [f"{display(finding.check)}: {display(place + finding.message)}"]
    lines += [f"  {display(line)}" for line in finding.detail.splitlines()[-_DETAIL_LINES:]]
    if finding.hint:
        lines.append(f"  hint: {display(finding.hint)}")
    return lines
