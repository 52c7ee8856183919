"""What CHECKPOINT.md and the tag say of a ship."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.report.grades import grade_lines
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runner.journal.tree_events import TreeVerified
    from runner.model import Graded


def ship_text(tag: str, date: str, verified: TreeVerified, grades: Mapping[str, Graded]) -> str:
    """The text to append to CHECKPOINT.md, with an empty line before and after it."""
    lines = [f"=== SHIP — {display(date)}", f"Tag: {display(tag)}", *proof_lines(verified, grades)]
    return "\n" + "\n".join(lines) + "\n\n"


def tag_message(title: str, verified: TreeVerified, grades: Mapping[str, Graded]) -> str:
    """The annotated tag's message."""
    heading = f"Ship {display(title)}".strip()
    return f"{heading}\n\n" + "\n".join(proof_lines(verified, grades)) + "\n"


def proof_lines(verified: TreeVerified, grades: Mapping[str, Graded] | None = None) -> list[str]:
    """What was proven of all of it together."""
    many = "1 task" if verified.tasks == 1 else f"{verified.tasks} tasks"
    cover = verified.coverage
    said = "—"
    if cover is not None:
        said = f"{cover.shown} (threshold {cover.threshold:g}%)"
    return [
        f"Verified: {many} DONE, proven together",
        *grade_lines(grades or {}),
        f"Coverage: {said}",
        f"Tree: {verified.tree}",
    ]
