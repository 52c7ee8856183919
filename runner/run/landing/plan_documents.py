"""Write into the person's documents: the plan's statuses and the ownership map."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field

from runner import effects
from runner.plan.ownership import add_owners
from runner.repo.head import OWNERSHIP_MAP
from runner.run.landing.status_writer import TimeQuota

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from runner.model import Status


class PlanDocument(Struct, frozen=True):
    """TASK-GRAPH.md: of it the statuses are ours."""

    path: str
    statuses: Callable[[], Mapping[str, tuple[Status, str]]]
    edited: Callable[[bytes, Mapping[str, tuple[Status, str]]], bytes]
    ours: bool = False

    def content_to_commit(self, committed: bytes, working: Callable[[], bytes]) -> bytes:
        """Return the committed plan with current statuses, without uncommitted tasks."""
        del working
        return self.edited(committed, self.statuses())


class OwnershipDocument(Struct):
    """FILE_OWNERSHIP_MAP.md: of it the rows of files that tasks wrote are ours."""

    root: Path
    landed: Callable[[], Iterable[tuple[str, Iterable[str]]]] = tuple
    """Every landed task with the paths it wrote; called only if needed."""
    path: str = OWNERSHIP_MAP
    _rows: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _written: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _share: TimeQuota = field(default_factory=lambda: TimeQuota(0.03))

    @property
    def ours(self) -> bool:
        """Whether the file holds nothing but rows of what landed: no person has written in it.

        Asked of the file, since the run that made it may have been killed before it was recorded.
        """
        rows: dict[str, tuple[str, ...]] = {}
        for task, paths in self.landed():
            _add(rows, task, paths)
        lines = frozenset(add_owners(b"", rows).splitlines())
        file = self.root / self.path
        return file.exists() and lines.issuperset(file.read_bytes().splitlines())

    def add(self, task: str, paths: Iterable[str]) -> None:
        """Record that a task wrote these files."""
        _add(self._rows, task, paths)

    def keep_up(self) -> None:
        """Write what is new, where that is affordable now."""
        if self._share.affordable:
            with self._share.spend():
                self.write()

    def write(self) -> None:
        """Add the remembered rows to the file; a file that nobody had is made.

        Where a person saves it at the same moment theirs stays, and the next call adds our rows.
        """
        if self._written == self._rows:
            return
        file = self.root / self.path
        old = file.read_bytes() if file.exists() else b""
        new = add_owners(old, self._rows)
        mode = effects.mode_of(file)
        if new != old and not effects.write_file(file, new, mode=mode, expected=old):
            return
        self._written = dict(self._rows)

    def content_to_commit(self, committed: bytes, working: Callable[[], bytes]) -> bytes:
        """Return the committed map with the runner's rows added."""
        del working
        return add_owners(committed, self._rows) if self._rows else committed


def _add(rows: dict[str, tuple[str, ...]], task: str, paths: Iterable[str]) -> None:
    for path in paths:
        rows[path] = tuple(dict.fromkeys((*rows.get(path, ()), task)))
