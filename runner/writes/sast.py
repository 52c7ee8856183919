"""Run static analysis after each task: findings inform, and block only where configured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from msgspec import Struct
from msgspec.structs import asdict

from runner import effects
from runner.errors import RunnerError
from runner.lazy_module import lazy_module
from runner.writes.compile_check import language_of
from runner.writes.log import append_lines, read_lines
from runner.writes.sast_report import (
    SastReport,
    gravest,
    make_unlisted,
    make_unscanned,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from concurrent.futures import Future, ThreadPoolExecutor
    from pathlib import Path

    from runner.model import Change
    from runner.writes import analyser_copies, bandit_scan
    from runner.writes.analyser_copies import ScanWorkspace
else:
    bandit_scan = lazy_module("runner.writes.bandit_scan")
    analyser_copies = lazy_module("runner.writes.analyser_copies")


SAST_FINDINGS = "artifacts/build/SAST_FINDINGS.jsonl"


class SastScan(Struct, frozen=True):
    """Scans that run behind; ask for their report when the run must know it."""

    pending: tuple[Future[SastReport], ...] = ()
    unread: tuple[str, ...] = ()
    """What to install for code that no installed analyser reads."""

    def is_ready(self) -> bool:
        """Return whether the report is ready."""
        return all(future.done() for future in self.pending)

    def result(self, timeout: float | None = None) -> SastReport:
        """Wait for the report, at most so many seconds a scan; raises TimeoutError."""
        report = SastReport(unread=self.unread)
        for future in self.pending:
            report = report.join(future.result(timeout))
        return report


class SastPool:
    """Threads behind the run that scan; collect their reports before you close it.

    One thread for bandit; another one for tools of other languages, which are processes of
    their own.
    """

    def __init__(self, *, seconds: float = 1.0) -> None:
        self._seconds = seconds
        self._threads: dict[str, ThreadPoolExecutor] = {}
        self._closing = False

    def scan(self, changes: Sequence[Change], laboratory: ScanWorkspace | None = None) -> SastScan:
        """Scan changed files behind; nobody needs the tree any more when this returns."""
        pending = [
            self._thread("bandit").submit(
                scan_file, change.content, change.path, seconds=self._seconds
            )
            for change in changes
            if change.content is not None and language_of(change.path, change.content) == "python"
        ]
        if laboratory is not None and (examine := _examination(laboratory, changes)) is not None:
            closing = lambda: self._closing  # noqa: E731 - asked while the tools run
            pending.append(self._thread("tools").submit(examine, closing))
        paths = [change.path for change in changes if change.content is not None]
        unread = laboratory.find_unread(paths) if laboratory else ()
        return SastScan(tuple(pending), tuple(unread))

    def close(self) -> None:
        """Wait for bandit, which is quick, and end the tools: nobody hears them any more."""
        self._closing = True
        for threads in self._threads.values():
            threads.shutdown(wait=True)
        self._threads = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _thread(self, name: str) -> ThreadPoolExecutor:
        if name not in self._threads:
            from concurrent.futures import ThreadPoolExecutor

            self._threads[name] = ThreadPoolExecutor(1, thread_name_prefix=f"sast-{name}")
        return self._threads[name]


def _examination(
    laboratory: ScanWorkspace, changes: Sequence[Change]
) -> Callable[[Callable[[], bool]], SastReport] | None:
    """Return the scan with tools of other languages; None if there are no files for them."""
    try:
        specimen = laboratory.specimen(changes)
    except (OSError, RunnerError) as error:
        report = analyser_copies.not_scanned(error)
        return lambda _closing: report
    return None if specimen is None else specimen.examine


def scan_file(content: bytes, path: str, *, seconds: float = 1.0) -> SastReport:
    """Scan one Python source with bandit; what cannot be scanned is a note, never an error."""
    try:
        found = bandit_scan.scan(content, path, seconds=seconds)
    except bandit_scan.Unscanned as reason:
        return SastReport(notes=(make_unscanned(path, f"bandit did not scan this file: {reason}"),))
    findings = tuple(gravest(found))
    more = len(found) - len(findings)
    rest = (make_unlisted(path, f"bandit has {more} more findings in this file"),) if more else ()
    return SastReport(findings, rest)


def record_findings(root: Path, report: SastReport, *, task: str, attempt: int) -> None:
    """Append a report to SAST_FINDINGS.jsonl; raises RunnerError when the disk refuses."""
    whose = {"time": effects.timestamp(), "task": task, "attempt": attempt}
    reported = (*report.findings, *report.notes)
    append_lines(root, SAST_FINDINGS, [{**whose, **asdict(found)} for found in reported])


def load_findings(root: Path, task: str = "") -> tuple[Mapping[str, object], ...]:
    """Return the records of SAST_FINDINGS.jsonl, oldest first."""
    records = read_lines(root, SAST_FINDINGS).records
    return tuple(record for record in records if task in ("", record.get("task")))
