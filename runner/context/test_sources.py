"""The text of the tests that a task is proven by: the files that its test contracts name."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from runner.context.tree import Tree
    from runner.model import Task

_MOST_OF_A_FOLDER = 6


class ProvingText(NamedTuple):
    """A file that a test contract runs, as it is at the base."""

    contract: str
    """`TC-002`."""
    path: str
    text: str


def test_texts(task: Task, tree: Tree) -> tuple[ProvingText, ...]:
    """The named files that are there, each once; of a folder its first tests."""
    from runner.impact.targets import target_of

    found: dict[str, ProvingText] = {}
    for contract in task.test_contracts:
        target = target_of(contract.command, tree)
        files = (*target.files, *(one for folder in target.folders for one in _in(folder, tree)))
        for path in files:
            text, _ = tree.text(path)
            if text.strip() and path not in found:
                found[path] = ProvingText(contract.id, path, text)
    return tuple(found.values())


def _in(folder: str, tree: Tree) -> list[str]:
    """The tests that lie in a folder, those at its top first."""
    below = [path for path in tree.files if path.startswith(f"{folder}/") and _is_test(path)]
    return sorted(below, key=lambda path: (path.count("/"), path))[:_MOST_OF_A_FOLDER]


def _is_test(path: str) -> bool:
    name = path.rpartition("/")[2]
    return "test" in name.casefold() or "spec" in name.casefold()
