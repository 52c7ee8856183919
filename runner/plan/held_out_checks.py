"""What `validate` says of held-out tests; also which files a command runs, by its words."""

from __future__ import annotations

import shlex
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from runner.lazy_pattern import regex
from runner.model import Network, Severity, Status
from runner.plan.shell.shell_commands import tests_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from runner.model import Task, TestContract

_INLINE = regex(
    r"(?:\S*/)?(?:python[\d.]*|pypy3?)\s+(?:-\w+\s+)*-\w*c\b"
    r"|(?:\S*/)?(?:node|deno|bun|ruby|perl|php)\s+(?:-\S+\s+)*(?:-[epr]|--eval|--print|eval)\b"
)
"""A program that is given its text on the command line."""
_PATH = regex(r"(?:\.{0,2}/|[\w@.\[\]-]+/|[\w.-]+\.[a-z]{1,4}\Z)\S*")
_MOST_NESTED = 3


class HeldOutProblem(NamedTuple):
    """A fault in the fields of held-out tests; `line` is that of a contract, 0 for the heading."""

    task: Task
    message: str
    hint: str
    line: int = 0
    severity: Severity = Severity.ERROR


def find_problems(
    tasks: Sequence[Task], is_agent: Callable[[Task], bool]
) -> Iterator[HeldOutProblem]:
    """Yield what is wrong with held-out tests, and one note for what agents could read."""
    for task in tasks:
        if task.test_author and not task.acceptance:
            yield HeldOutProblem(
                task,
                f"{task.id} has a Test author but no Acceptance",
                "add Acceptance with items such as A1: an end before its start is refused",
            )
        if task.held_out_files and not task.held_out_contracts and not task.test_author:
            yield HeldOutProblem(
                task,
                f"{task.id} has held-out files but no held-out test contract",
                f"mark the contract that runs them: TC-001 (unit, held out): `{_suggest(task)}`",
            )
        for test in task.held_out_contracts:
            if fault := _fault(task, test):
                yield HeldOutProblem(task, *fault, test.line)
    yield from _find_open(tasks, is_agent)


def _fault(task: Task, test: TestContract) -> tuple[str, str] | None:
    name = f"{test.id} of {task.id}"
    if _INLINE.search(test.command):
        return (
            f"{name} is held out, but its command contains the test itself",
            "move the test into a file and hold it out: runner hold-out TASK FILE",
        )
    if task.network in (Network.YES, Network.REGISTRIES):
        return (
            f"{name} is held out and runs without a network, but Network is {task.network}",
            "remove Network from the task, or `held out` from the contract",
        )
    if not task.held_out_files:
        return (
            f"{name} is held out, but the task has no Held-out files",
            f"move its files out of reach and add the lines: runner hold-out {task.id} FILE",
        )
    if not any(runs_file(test.command, one.path) for one in task.held_out_files):
        return (
            f"{name} is held out, but runs none of the Held-out files",
            f"name one of them in the command, such as {task.held_out_files[0].path}",
        )
    return None


def _find_open(tasks: Sequence[Task], is_agent: Callable[[Task], bool]) -> Iterator[HeldOutProblem]:
    """One note for all tasks of agents that have nothing held out."""
    found = [
        task
        for task in tasks
        if task.status is not Status.DONE
        and task.writes_anything
        and not (task.held_out_contracts or task.test_author)
        and is_agent(task)
    ]
    if found:
        rest = len(found) - 1
        yield HeldOutProblem(
            found[0],
            f"agents build {found[0].id} and {rest} more tasks, and can read all of their tests"
            if rest
            else f"an agent builds {found[0].id} and can read all of its tests",
            "hold tests out: runner hold-out TASK FILE, or name a Test author",
            severity=Severity.NOTE,
        )


def _suggest(task: Task) -> str:
    return f"COMMAND {task.held_out_files[0].path}"


# --- words of a command -------------------------------------------------------------------


def names_file(command: str, path: str) -> bool:
    """Return whether a command names a file, with or without the id of a test in it."""
    return any(word == path for word in paths_in(command))


def runs_file(command: str, path: str) -> bool:
    """Return whether a command runs a test file, as far as its words say so.

    It names the file, a folder above it or its stem, or it is a test program that names no path.
    """
    words = tuple(_split(command))
    named = paths_in(command)
    parents = {str(folder) for folder in PurePosixPath(path).parents}
    if any(word == path or word in parents for word in named):
        return True
    return PurePosixPath(path).stem in words or (not named and tests_in(command))


def paths_in(command: str) -> tuple[str, ...]:
    """Return the words of a command that are written as paths; `./a/...` is `a`."""
    found = (word for word in _split(command) if not word.startswith("-") and _PATH.match(word))
    return tuple(_plain(word) for word in found)


def _plain(word: str) -> str:
    path = word.partition("::")[0].removesuffix("...").rstrip("/") or "."
    return str(PurePosixPath(path))


def _split(command: str, depth: int = 0) -> Iterable[str]:
    """Words; those of a quoted command line within it too (`sh -c '…'`)."""
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    for word in words:
        if " " in word and depth < _MOST_NESTED:
            yield from _split(word, depth + 1)
        else:
            yield word.strip(";&|()")
