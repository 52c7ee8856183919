"""The held-out part of a task: files that have not landed, and the contracts that run them.

The files belong to all held-out contracts of a task. Those of a task without such a contract are
visible tests of its author.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from runner.model import Finding

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from runner.model import Change, HeldOutFile, Task, TestContract


class AuthorTests(NamedTuple):
    """Visible tests of a separate author: the implementer reads them and may not change them."""

    files: tuple[tuple[str, bytes], ...] = ()
    """Path and bytes of each file."""
    items: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Acceptance IDs with the test IDs that the author names for them."""

    def find_altered(
        self, changes: Iterable[Change], before: Callable[[str], bytes | None]
    ) -> Iterator[Finding]:
        """Yield a finding for each file that is not as its author wrote it."""
        made = {one.path: one.content for one in changes}
        for path, content in self.files:
            if (made[path] if path in made else before(path)) != content:
                message = f"{path}, written by a separate test author, was changed or removed"
                hint = "restore the file; write tests of your own into another one"
                yield Finding(check="scope", message=message, path=path, hint=hint)


def list_visible(task: Task) -> tuple[HeldOutFile, ...]:
    """Return the files of a task's author that its implementer reads."""
    return () if task.held_out_contracts else task.held_out_files


def needs_author(task: Task) -> bool:
    """Return whether a task waits for tests that a separate author has to write."""
    return bool(task.test_author) and not task.held_out_files


class HeldOutPart(Struct, frozen=True):
    """The held-out part of one task, as its next attempt has it."""

    contracts: tuple[TestContract, ...] = ()
    files: tuple[HeldOutFile, ...] = ()
    """Files that are not in the tree from which the attempt starts."""

    def __bool__(self) -> bool:
        """Return whether anything is held out."""
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
