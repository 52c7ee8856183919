"""What of a task is held out now: files that have not landed, and the contracts that run them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from runner.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

    from runner.model import HeldOutFile, Task, TestContract


@dataclass(frozen=True, slots=True)
class HeldOutPart:
    """The held-out part of one task, as its next attempt has it."""

    contracts: tuple[TestContract, ...] = ()
    files: tuple[HeldOutFile, ...] = ()
    """Those that are not in the tree the attempt starts from."""

    def __bool__(self) -> bool:
        """Whether anything is held out."""
        return bool(self.contracts)


def split_task(task: Task, is_there: Callable[[str], bool]) -> tuple[Task, HeldOutPart]:
    """Return the task with its visible contracts alone, and its held-out part.

    `is_there` says whether the tree has a path. A file that is there has landed: it is an ordinary
    test, and so is a contract that runs landed files alone.
    """
    if not task.held_out_contracts:
        return task, HeldOutPart()
    files = tuple(one for one in task.held_out_files if not is_there(one.path))
    landed = [one.path for one in task.held_out_files if one not in files]
    hidden = tuple(
        one
        for one in task.held_out_contracts
        if files and not _runs_only(one.command, landed, [file.path for file in files])
    )
    visible = tuple(
        replace(one, held_out=False) for one in task.test_contracts if one not in hidden
    )
    return replace(task, test_contracts=visible), HeldOutPart(hidden, files if hidden else ())


def _runs_only(command: str, landed: list[str], others: list[str]) -> bool:
    """Return whether a command names landed files and none of the others."""
    return any(path in command for path in landed) and not any(path in command for path in others)
