"""Static analysis that runs behind the tasks: its findings are kept when they come."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Literal

from runner.lazy_dataclass import dataclass
from runner.writes.sast import record_findings

if TYPE_CHECKING:
    from pathlib import Path

    from runner.writes.sast import SastScan


@dataclass(slots=True)
class Scans:
    """The scans of one run, by task and attempt."""

    root: Path
    _open: dict[tuple[str, int], SastScan] = field(default_factory=dict)
    _counts: dict[str, tuple[int, dict[str, int]]] = field(default_factory=dict)
    """Of each task the newest attempt whose scan has ended, and its findings by severity."""

    def add(self, task: str, attempt: int, scan: SastScan) -> None:
        """A scan that has begun; one of no files says nothing."""
        if scan.pending:
            self._open[task, attempt] = scan

    def collect(self, *, wait: bool = False) -> None:
        """Write down what has come; with `wait`, all of it: a run does not end before its scans."""
        for (task, attempt), scan in tuple(self._open.items()):
            if not wait and not scan.is_ready():
                continue
            del self._open[task, attempt]
            report = scan.result()
            record_findings(self.root, report, task=task, attempt=attempt)
            # Scans end in any order, and an older attempt's must not count over a newer one's.
            if attempt >= self._counts.get(task, (0, {}))[0]:
                self._counts[task] = attempt, report.counts

    def find_counts(self, task: str) -> dict[str, int] | Literal["pending"] | None:
        """Findings and notes of a task by severity; `pending`, or None where nothing is scanned."""
        self.collect()
        if any(open_task == task for open_task, _ in self._open):
            return "pending"
        known = self._counts.get(task)
        return None if known is None else known[1]
