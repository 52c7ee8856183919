"""Tasks of blocks that a held change breaks, and that would only take it back again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.model import BlockKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from runner.model import Change, Task


def find_taken_back(task: Task, changes: Iterable[Change]) -> str:
    """A file of a change that the task's own blocks write otherwise; empty for none.

    Blocks say the same whenever they are built: such a task cannot be built on the change.
    """
    if task.implementer.casefold() not in ("", "blocks"):
        return ""
    wrote = {one.path: one.content for one in changes}
    for block in task.blocks:
        whole = block.kind is BlockKind.FILE and _differs(block.text, wrote.get(block.path))
        gone = block.kind is BlockKind.DELETE and wrote.get(block.path) is not None
        if block.path in wrote and (whole or gone):
            return block.path
    return ""


def _differs(text: str, content: bytes | None) -> bool:
    return content is None or text.rstrip("\n") != content.decode("utf-8", "replace").rstrip("\n")


def which_to_edit(culprit: str, paths: Mapping[str, str]) -> str:
    """What to do where victims (with the file of each) cannot be built on a held change."""
    victim, path = next(iter(paths.items()))
    return (
        f"{victim} cannot be built on it: its own blocks write {path}; edit the blocks of {victim} "
        f"or of {culprit}"
    )
