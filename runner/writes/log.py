"""Append to JSON-lines files, such as WRITE_LOG.jsonl, the log of approved writes.

Several writers may append to a file; a crash can tear only its end. WRITE_LOG.jsonl has one line a
write at its approval, then one line a task and attempt with the outcome. Both join on task and
attempt. Format: the runner's README.
"""

from __future__ import annotations

import fcntl
import json
import os
from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct

from runner import effects
from runner.writes.safe_io import explain_errors, open_below, read_below

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from runner.model import Change


VERSION = 1
_BLOCK = 64 << 10


class LogLines(Struct, frozen=True):
    """The content of a JSON-lines file; `damaged` are the numbers of invalid lines."""

    records: tuple[Mapping[str, object], ...]
    damaged: tuple[int, ...] = ()


def append_lines(root: Path, path: str, records: Sequence[Mapping[str, object]]) -> None:
    """Append records durably, each a line, all in one write under the file's lock.

    A torn last line is cut first. When the disk refuses, nothing of these records is left and
    RunnerError is raised.
    """
    if not records:
        return
    text = "".join(_line(record) for record in records).encode()
    # With O_APPEND the kernel seeks to the current end for every write (open(2)), even if another
    # process moved it. The lock covers the rest: finding and cutting a torn end.
    descriptor = open_below(root, path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        _append_whole(descriptor, text, path)
    finally:
        os.close(descriptor)


def read_lines(root: Path, path: str) -> LogLines:
    """Read all complete records of a file in order; empty if it does not exist."""
    content = read_below(root, path) or b""
    records: list[Mapping[str, object]] = []
    damaged: list[int] = []
    # A line is never split by its own characters: bytes are split only at CR and LF, and JSON
    # escapes both in a string (RFC 8259, 7).
    for number, line in enumerate(content.splitlines(keepends=True), start=1):
        record = _record(line)
        if record is not None:
            records.append(record)
        elif line.endswith(b"\n") and line.strip():  # otherwise a torn end: the next append cuts it
            damaged.append(number)
    return LogLines(tuple(records), tuple(damaged))


def _line(record: Mapping[str, object]) -> str:
    return json.dumps({"v": VERSION, **record}, separators=(",", ":")) + "\n"


def _record(line: bytes) -> Mapping[str, object] | None:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _append_whole(descriptor: int, text: bytes, path: str) -> None:
    """Append, or put the file back to the length it had."""
    with explain_errors(path):
        end = _cut_torn_end(descriptor, path)
        try:
            effects.append(descriptor, text, path)
            effects.fsync(descriptor, path)
        except OSError:
            os.ftruncate(descriptor, end)
            raise


def _cut_torn_end(descriptor: int, path: str) -> int:
    """Cut an incomplete last line or add its newline, and return the file's length."""
    size = os.fstat(descriptor).st_size
    end = _after_last_newline(descriptor, size)
    if end == size:
        return size
    if _record(os.pread(descriptor, size - end, end)) is not None:
        effects.append(descriptor, b"\n", path)  # a person's editor saved without it
        return size + 1
    effects.step("truncate", path)
    os.ftruncate(descriptor, end)
    return end


def _after_last_newline(descriptor: int, size: int) -> int:
    while size > 0:
        start = max(0, size - _BLOCK)
        found = os.pread(descriptor, size - start, start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        size = start
    return 0


WRITE_LOG = "artifacts/build/WRITE_LOG.jsonl"


class WriteReview(StrEnum):
    """The way in which a write was approved."""

    APPLIED = "applied"
    EDITED = "edited"
    AUTO = "auto"
    OFF = "off"


class Fate(StrEnum):
    """The result of an attempt's approved writes."""

    LANDED = "landed"
    DROPPED = "dropped"


class LoggedWrite(Struct, frozen=True):
    """One approved write joined with its outcome; `fate` is None while it is open."""

    time: str
    run: str
    task: str
    attempt: int
    path: str
    action: str
    mode: str
    before: str
    after: str
    bytes: int
    review: str
    fate: Fate | None = None
    commit: str = ""


class History(Struct, frozen=True):
    """The write log as read; `damaged` are the numbers of lines that are no records."""

    writes: tuple[LoggedWrite, ...]
    damaged: tuple[int, ...] = ()


class WriteLog(Struct, frozen=True):
    """The write log of one repository; safe with several writers."""

    root: Path

    def record(
        self,
        changes: Sequence[Change],
        *,
        run: str,
        task: str,
        attempt: int,
        review: WriteReview,
    ) -> None:
        """Append the approved writes of one attempt; raises RunnerError when it cannot."""
        whose = {"time": effects.timestamp(), "run": run, "task": task, "attempt": attempt}
        lines = [{**whose, **_what(change), "review": review.value} for change in changes]
        append_lines(self.root, WRITE_LOG, lines)

    def close(self, *, run: str, task: str, attempt: int, fate: Fate, commit: str = "") -> None:
        """Append what became of an attempt; a commit goes with LANDED."""
        line: dict[str, object] = {
            "time": effects.timestamp(),
            "run": run,
            "task": task,
            "attempt": attempt,
            "outcome": fate.value,
        }
        append_lines(self.root, WRITE_LOG, [line | ({"commit": commit} if commit else {})])

    def show(self, task: str = "") -> History:
        """Return all writes, or those of one task, oldest first, with their outcomes."""
        lines = read_lines(self.root, WRITE_LOG)
        fates = {_attempt(line): line for line in lines.records if "outcome" in line}
        writes = tuple(
            _make_written(line, fates.get(_attempt(line)))
            for line in lines.records
            if "path" in line and task in ("", line.get("task"))
        )
        return History(writes, lines.damaged)


def _what(change: Change) -> dict[str, object]:
    return {
        "path": change.path,
        "action": change.action.value,
        "mode": f"{change.mode:06o}",
        "before": change.before,
        "after": change.after,
        "bytes": len(change.content or b""),
    }


def _attempt(line: Mapping[str, object]) -> tuple[str, int]:
    return _text(line, "task"), _number(line, "attempt")


def _make_written(line: Mapping[str, object], outcome: Mapping[str, object] | None) -> LoggedWrite:
    fates = {fate.value: fate for fate in Fate}
    return LoggedWrite(
        time=_text(line, "time"),
        run=_text(line, "run"),
        task=_text(line, "task"),
        attempt=_number(line, "attempt"),
        path=_text(line, "path"),
        action=_text(line, "action"),
        mode=_text(line, "mode"),
        before=_text(line, "before"),
        after=_text(line, "after"),
        bytes=_number(line, "bytes"),
        review=_text(line, "review"),
        fate=fates.get(_text(outcome, "outcome")) if outcome else None,
        commit=_text(outcome, "commit") if outcome else "",
    )


def _text(line: Mapping[str, object], name: str) -> str:
    value = line.get(name)
    return value if isinstance(value, str) else ""


def _number(line: Mapping[str, object], name: str) -> int:
    value = line.get(name)
    return value if isinstance(value, int) else 0
