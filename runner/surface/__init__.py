"""What a change does besides its own work, as facts: public names, dependencies, settings, files.

Everything is computed from the bytes before and after the change. No code of the project runs.
`facts_of` is the only function that other rooms call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.lazy_module import lazy_module
from runner.lazy_pattern import regex
from runner.surface.facts import SCRIPTS, Fact, Trees, is_named, merge_facts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from runner.model import Change, Task
    from runner.surface import (
        checker_settings,
        dependencies,
        left_files,
        public_names,
        undeclared_imports,
    )
else:
    checker_settings = lazy_module("runner.surface.checker_settings")
    dependencies = lazy_module("runner.surface.dependencies")
    left_files = lazy_module("runner.surface.left_files")
    public_names = lazy_module("runner.surface.public_names")
    undeclared_imports = lazy_module("runner.surface.undeclared_imports")

__all__ = ["Fact", "facts_of"]

_CODE = (".py", ".go", ".rs", *SCRIPTS)
_SETTINGS = regex(r"\.(?:toml|jsonc?|cfg|ini|ya?ml|mod|txt|in|[cm]?[jt]s)\Z|rc\Z|\.flake8\Z")
"""Files that may be a manifest or have settings: for others no reader is loaded."""


def _no_test(_path: str) -> bool:
    return False


def _no_files() -> Iterable[tuple[str, bytes]]:
    return ()


def facts_of(
    task: Task,
    changes: Iterable[Change],
    before: Callable[[str], bytes | None],
    *,
    is_test: Callable[[str], bool] = _no_test,
    read_files: Callable[[], Iterable[tuple[str, bytes]]] = _no_files,
) -> tuple[Fact, ...]:
    """Return what the change alters besides the task's own work, the questions first.

    `before` returns the bytes of a path at the base, None where there is no such file. `is_test`
    tells which paths belong to tests: they are not a surface. `read_files` yields the files of
    the proposed tree; it is called only where the users of a name decide.
    """
    trees = Trees(tuple(changes), before, is_test, read_files)
    found = list(merge_facts(task, _find_facts(task, trees)))
    return tuple(sorted(found, key=lambda one: (not one.asks, one.path, one.line)))


def _find_facts(task: Task, trees: Trees) -> Iterator[Fact]:
    paths = [one.path for one in trees.changes]
    if any(path.endswith(_CODE) for path in paths):
        yield from public_names.find_changes(trees)
        yield from undeclared_imports.find_undeclared(trees)
    if any(map(_SETTINGS.search, paths)):
        yield from dependencies.find_changes(trees)
        yield from checker_settings.find_looser(trees)
    yield from left_files.find_left(trees, lambda path: is_listed(task, path))


def is_listed(task: Task, path: str) -> bool:
    """Return whether the task lists a file by its path, not by a glob, or its text names it."""
    return path in task.outputs or is_named(task, (path, path.rpartition("/")[2]))
