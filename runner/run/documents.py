"""The person's documents that the runner writes into: the plan's statuses and the ownership map."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from runner import effects
from runner.plan.ownership import add_owners

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from runner.model import Status

MAP = "FILE_OWNERSHIP_MAP.md"


@dataclass(frozen=True, slots=True)
class PlanDocument:
    """TASK-GRAPH.md: of it the statuses are ours."""

    path: str
    statuses: Callable[[], Mapping[str, tuple[Status, str]]]
    edited: Callable[[bytes, Mapping[str, tuple[Status, str]]], bytes]
    ours: bool = False

    def recorded(self, committed: bytes, working: bytes) -> bytes:
        """The committed plan with today's statuses; tasks that only the file has stay out."""
        del working
        return self.edited(committed, self.statuses())


@dataclass(slots=True)
class OwnershipDocument:
    """FILE_OWNERSHIP_MAP.md: of it the rows of files that tasks wrote are ours."""

    root: Path
    path: str = MAP
    ours: bool = False
    _rows: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _written: int = 0

    def add(self, task: str, paths: Iterable[str]) -> None:
        """Remember that a task wrote these files."""
        for path in paths:
            self._rows[path] = tuple(dict.fromkeys((*self._rows.get(path, ()), task)))

    def write(self) -> None:
        """Add the remembered rows to the file; a file that nobody had is made, and is ours."""
        if not self._rows or self._written == len(self._rows):
            return
        file = self.root / self.path
        self.ours = self.ours or not file.exists()
        old = file.read_bytes() if file.exists() else b""
        new = add_owners(old, self._rows)
        if new != old:
            effects.write_file(file, new)
        self._written = len(self._rows)

    def recorded(self, committed: bytes, working: bytes) -> bytes:
        """The committed map with our rows."""
        del working
        return add_owners(committed, self._rows) if self._rows else committed
