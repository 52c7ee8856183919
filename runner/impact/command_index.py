"""The commands of all test contracts, looked up by the files, folders and modules they name.

Who names a path: paths, folders and globs looked up by the file they may mean.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.impact.reasons import Proven
from runner.impact.targets import target_of
from runner.plan.globs import Claims, folders_of, is_glob

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from runner.impact.reverse_imports import References
    from runner.impact.targets import Target
    from runner.model import Task


class Commands:
    """Follows the tree: what a command names is looked at again when a file comes or goes."""

    def __init__(self, tasks: Iterable[Task], references: References) -> None:
        self._references = references
        self._users: dict[str, list[Proven]] = {}
        for task in tasks:
            for contract in task.test_contracts:
                proven = Proven(task.id, contract.id)
                self._users.setdefault(contract.command, []).append(proven)
        self._targets: dict[Proven, Target] = {}
        self._by_name: dict[str, dict[Proven, None]] = {}
        self._whole: dict[Proven, None] = {}
        references.news()
        for command in self._users:
            self._look(command)

    def targets(self) -> Mapping[Proven, Target]:
        """What each test contract's command names."""
        self._follow()
        return self._targets

    def whole(self) -> tuple[Proven, ...]:
        """Test contracts that may be about any file."""
        self._follow()
        return tuple(self._whole)

    def find_beginning_at(self, path: str) -> Iterator[Proven]:
        """Test contracts whose command names a file, a folder of it, or its module."""
        self._follow()
        for name in (
            path,
            *folders_of(path),
            *(f"key {one}" for one in self._references.keys(path)),
        ):
            yield from self._by_name.get(name, ())

    def _follow(self) -> None:
        news = self._references.news()
        if not news:
            return
        for command in self._users:
            # By mere containment: a look too many is cheap, one too few a test that does not run.
            if any(name in command for name in news):
                self._look(command)

    def _look(self, command: str) -> None:
        target = target_of(command, self._references)
        for proven in self._users[command]:
            old = self._targets.get(proven)
            if old == target:
                return
            for name in _names(old) if old else ():
                self._by_name[name].pop(proven, None)
            for name in _names(target):
                self._by_name.setdefault(name, {})[proven] = None
            self._targets[proven] = target
            self._whole.pop(proven, None)
            if target.is_whole:
                self._whole[proven] = None


def _names(target: Target) -> Iterator[str]:
    yield from target.files
    yield from target.folders
    yield from (f"key {key}" for key in target.keys)


# --- path index -----------------------------------------------------------------------


class Named:
    """Rows of a path or glob and who names it. A path that is a folder names all below it."""

    def __init__(self, rows: Iterable[tuple[str, str]]) -> None:
        """`rows` are pairs of the one who names and what is named."""
        kept = [(who, path.removeprefix("./")) for who, path in rows]
        self._globs = Claims((who, path) for who, path in kept if is_glob(path))
        self._exact: dict[str, list[str]] = {}
        for who, path in kept:
            if not is_glob(path):
                self._exact.setdefault(path.rstrip("/"), []).append(who)

    def of(self, path: str) -> tuple[str, ...]:
        """Everyone who names a file or a folder of it, each once."""
        return tuple(dict.fromkeys(self._all(path)))

    def _all(self, path: str) -> Iterator[str]:
        for place in (path, *folders_of(path)):
            yield from self._exact.get(place, ())
        yield from self._globs.of(path)
