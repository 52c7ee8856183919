"""What CHECKPOINT.md and the tag say of a ship."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.text.display import display

if TYPE_CHECKING:
    from runner.journal.whole import TreeVerified


def ship_text(tag: str, date: str, verified: TreeVerified) -> str:
    """The text to append to CHECKPOINT.md, with an empty line before and after it."""
    lines = [f"=== SHIP — {display(date)}", f"Tag: {display(tag)}", *proof_lines(verified)]
    return "\n" + "\n".join(lines) + "\n\n"


def tag_message(title: str, verified: TreeVerified) -> str:
    """The annotated tag's message."""
    heading = f"Ship {display(title)}".strip()
    return f"{heading}\n\n" + "\n".join(proof_lines(verified)) + "\n"


def proof_lines(verified: TreeVerified) -> list[str]:
    """What was proven of all of it together."""
    many = "1 task" if verified.tasks == 1 else f"{verified.tasks} tasks"
    cover = verified.coverage
    said = "—"
    if cover is not None:
        said = f"{cover.shown} (threshold {cover.threshold:g}%)"
    return [
        f"Verified: {many} DONE, proven together",
        f"Coverage: {said}",
        f"Tree: {verified.tree}",
    ]
