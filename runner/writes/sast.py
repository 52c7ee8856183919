"""Static analysis behind a run: findings that inform, and block only where a team says so."""

from __future__ import annotations

import json
import os
import sys
import threading
from base64 import b64decode, b64encode
from dataclasses import asdict, astuple
from typing import TYPE_CHECKING, Protocol, Self

from runner import effects
from runner.errors import RunnerError
from runner.lazy_dataclass import dataclass
from runner.lazy_module import lazy_module
from runner.model import digest_of
from runner.writes.compile_check import language_of
from runner.writes.log import append_lines, read_lines
from runner.writes.sast_report import (
    Issue,
    SastFinding,
    SastReport,
    clean_message,
    gravest,
    make_unlisted,
    make_unscanned,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from concurrent.futures import Future, ThreadPoolExecutor
    from pathlib import Path

    from runner.model import Change
    from runner.writes.scan_workspace import ScanWorkspace

    class Scan(Protocol):
        """Scans a Python source with bandit, wherever."""

        def __call__(self, content: bytes, path: str, *, seconds: float) -> tuple[Issue, ...]:
            """The issues; raises Unscanned."""
            ...

    from runner.process import interactive
    from runner.process.interactive import WorkerProcess
    from runner.writes import bandit_scan, scan_workspace
else:
    bandit_scan = lazy_module("runner.writes.bandit_scan")
    scan_workspace = lazy_module("runner.writes.scan_workspace")
    interactive = lazy_module("runner.process.interactive")


SAST_FINDINGS = "artifacts/build/SAST_FINDINGS.jsonl"


@dataclass(frozen=True, slots=True)
class SastScan:
    """Scans that run behind; ask for their report when the run must know it."""

    pending: tuple[Future[SastReport], ...] = ()

    def is_ready(self) -> bool:
        """Whether the report is ready."""
        return all(future.done() for future in self.pending)

    def result(self, timeout: float | None = None) -> SastReport:
        """Wait for the report, at most so many seconds a scan; raises TimeoutError."""
        report = SastReport()
        for future in self.pending:
            report = report.join(future.result(timeout))
        return report


class SastPool:
    """Threads behind the run that scan; collect their reports before you close it.

    One thread for bandit, which works in it or in a child beside; another one for tools of
    other languages, which are processes of their own.
    """

    def __init__(self, *, seconds: float = 1.0, bandit: BanditProcess | None = None) -> None:
        self._seconds = seconds
        self._bandit = bandit or BanditProcess()
        self._threads: dict[str, ThreadPoolExecutor] = {}
        self._closing = False

    def scan(self, changes: Sequence[Change], laboratory: ScanWorkspace | None = None) -> SastScan:
        """Scan changed files behind; nobody needs the tree any more when this returns."""
        pending = [
            self._behind(change.content, change.path)
            for change in changes
            if change.content is not None and language_of(change.path, change.content) == "python"
        ]
        if laboratory is not None and (examine := _examination(laboratory, changes)) is not None:
            closing = lambda: self._closing  # noqa: E731 - asked while the tools run
            pending.append(self._thread("tools").submit(examine, closing))
        if laboratory is not None and (unread := _find_unread(laboratory, changes)):
            pending.append(self._known(SastReport(unread=unread)))
        return SastScan(tuple(pending))

    def close(self) -> None:
        """Wait for bandit, which is quick, and end the tools: nobody hears them any more."""
        self._closing = True
        for threads in self._threads.values():
            threads.shutdown(wait=True)
        self._threads = {}
        self._bandit.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _behind(self, content: bytes, path: str) -> Future[SastReport]:
        self._bandit.expect(content)
        return self._thread("bandit").submit(
            scan_file, content, path, seconds=self._seconds, scan=self._bandit.scan
        )

    def _known(self, report: SastReport) -> Future[SastReport]:
        from concurrent.futures import Future

        known: Future[SastReport] = Future()
        known.set_result(report)
        return known

    def _thread(self, name: str) -> ThreadPoolExecutor:
        if name not in self._threads:
            from concurrent.futures import ThreadPoolExecutor

            self._threads[name] = ThreadPoolExecutor(1, thread_name_prefix=f"sast-{name}")
        return self._threads[name]


def _examination(
    laboratory: ScanWorkspace, changes: Sequence[Change]
) -> Callable[[Callable[[], bool]], SastReport] | None:
    """What tools of other languages have to do; None where there is nothing for them."""
    try:
        specimen = laboratory.specimen(changes)
    except (OSError, RunnerError) as error:
        report = scan_workspace.not_scanned(error)
        return lambda _closing: report
    return None if specimen is None else specimen.examine


def _find_unread(laboratory: ScanWorkspace, changes: Sequence[Change]) -> tuple[str, ...]:
    return tuple(
        laboratory.find_unread(change.path for change in changes if change.content is not None)
    )


def scan_file(
    content: bytes, path: str, *, seconds: float = 1.0, scan: Scan | None = None
) -> SastReport:
    """Scan one Python source with bandit; what cannot be scanned is a note, never an error."""
    try:
        issues = (scan or bandit_scan.scan)(content, path, seconds=seconds)
    except bandit_scan.Unscanned as reason:
        return SastReport(notes=(make_unscanned(path, f"bandit did not scan this: {reason}"),))
    digest = digest_of(content)
    findings = tuple(
        SastFinding(
            path=path,
            line=issue.line,
            column=issue.column,
            rule=issue.rule,
            severity=issue.severity,
            confidence=issue.confidence,
            message=clean_message(issue.message),
            tool="bandit",
            digest=digest,
        )
        for issue in gravest(issues)
    )
    more = len(issues) - len(findings)
    said = (make_unlisted(path, f"bandit has {more} more findings here"),) if more else ()
    return SastReport(findings, said)


def record_findings(root: Path, report: SastReport, *, task: str, attempt: int) -> None:
    """Append a report to SAST_FINDINGS.jsonl; raises RunnerError when the disk refuses."""
    whose = {"time": effects.timestamp(), "task": task, "attempt": attempt}
    told = (*report.findings, *report.notes)
    append_lines(root, SAST_FINDINGS, [{**whose, **asdict(found)} for found in told])


def load_findings(root: Path, task: str = "") -> tuple[Mapping[str, object], ...]:
    """The records of SAST_FINDINGS.jsonl, of all tasks or one, oldest first."""
    records = read_lines(root, SAST_FINDINGS).records
    return tuple(record for record in records if task in ("", record.get("task")))


MUCH = 48 << 10
"""Bytes of Python that a run has had scanned before a child is worth its start."""
_STARTS = 3
"""A source that ends the child must not do so for ever."""
_CROWD = 4
"""How many times as long as its processor time a scan may take on a busy machine."""
_PATIENCE = 30.0
"""Seconds beyond those that a scan may take: parsing is not counted there."""
_CHILD = """\
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from runner.writes.sast import serve
serve()
"""


class BanditProcess:
    """Where files are scanned; `expect` is called by many threads, `scan` by one alone."""

    def __init__(self, *, much: int = MUCH) -> None:
        self._much = much
        self._lock = threading.Lock()
        self._bytes = self._started = 0
        self._companion: WorkerProcess | None = None

    def expect(self, content: bytes) -> None:
        """Say that this content will be scanned; a child is started when it is worth it."""
        with self._lock:
            self._bytes += len(content)
            if self._bytes >= self._much:
                self._start()

    def scan(self, content: bytes, path: str, *, seconds: float) -> tuple[Issue, ...]:
        """As `bandit_scan.scan`; raises Unscanned, too, where the source ended the child."""
        companion = self._companion
        if companion is None or not self._listens(companion):
            return bandit_scan.scan(content, path, seconds=seconds)
        return self._ask(companion, content, path, seconds)

    def close(self) -> None:
        """End the child, if there is one."""
        with self._lock:
            companion, self._companion = self._companion, None
        if companion is not None:
            companion.close()

    @property
    def child(self) -> int | None:
        """The child's process number, once it is there."""
        return None if self._companion is None else self._companion.pid

    # --- details ----------------------------------------------------------------------

    def _start(self) -> None:
        if self._companion is not None or self._started >= _STARTS:
            return
        self._started += 1
        argv = (sys.executable, "-I", "-c", _CHILD, json.dumps(sys.path))
        try:
            self._companion = interactive.WorkerProcess(argv, {})
        except OSError:  # no more processes: then it is scanned here, as ever
            self._started = _STARTS

    def _listens(self, companion: WorkerProcess) -> bool:
        try:
            return companion.ready()
        except interactive.WorkerProcessGone:
            self.close()
            return False

    def _ask(
        self, companion: WorkerProcess, content: bytes, path: str, seconds: float
    ) -> tuple[Issue, ...]:
        question = [b64encode(content).decode(), path, seconds]
        try:
            patience = _CROWD * bandit_scan.longest(content, seconds) + _PATIENCE
            answer = companion.ask(json.dumps(question).encode(), patience)
        except interactive.WorkerProcessGone as gone:
            self.close()
            raise bandit_scan.Unscanned(f"its process was of no use: {gone}") from gone
        said = json.loads(answer)
        if isinstance(said, str):
            raise bandit_scan.Unscanned(said)
        return tuple(Issue(*fields) for fields in said)


def serve() -> None:
    """What the child does: a question a line on standard input, an answer a line on its output."""
    with os.fdopen(os.dup(1), "wb") as answers:
        os.dup2(2, 1)  # whatever else speaks here is no answer
        bandit_scan.warm_up()
        answers.write(b"\n")
        answers.flush()
        for line in sys.stdin.buffer:
            content, path, seconds = json.loads(line)
            said: object
            try:
                found = bandit_scan.scan(b64decode(content), path, seconds=seconds)
                said = [astuple(issue) for issue in found]
            except bandit_scan.Unscanned as reason:
                said = str(reason)
            answers.write(json.dumps(said).encode() + b"\n")
            answers.flush()
