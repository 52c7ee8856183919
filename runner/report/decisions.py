"""Entries of DECISIONS.md."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runner.report.status_line import NOT_APPLICABLE
from runner.text.display import display_markdown

if TYPE_CHECKING:
    from runner.model import Decision

HEAD = "# Decisions\n\n"
"""The beginning of a new DECISIONS.md."""
_HEADING = re.compile(r"^#{1,6}[ \t]+DECISION-(\d{1,9})\b", re.MULTILINE)


def decision_entry(number: int, decision: Decision, task: str, date: str) -> str:
    """The text to append: a heading and five or six fields, with an empty line at the end."""
    lines = [
        f"## DECISION-{number:03d}: {display_markdown(decision.title)}",
        f"Date: {display_markdown(date)}",
        f"Task: {display_markdown(task) or NOT_APPLICABLE}",
        f"Context: {display_markdown(decision.context) or NOT_APPLICABLE}",
        f"Decision: {display_markdown(decision.decision or decision.title)}",
        f"Trade-off: {display_markdown(decision.tradeoff) or NOT_APPLICABLE}",
    ]
    if decision.pattern:
        lines.append(f"Pattern: {display_markdown(decision.pattern)}")
    return "\n".join(lines) + "\n\n"


def next_number(existing_text: str, last: int = 0) -> int:
    """One more than the highest number in the file, or than `last` where that is higher."""
    return max([last, *(int(number) for number in _HEADING.findall(existing_text))]) + 1
