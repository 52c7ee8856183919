"""WRITE_LOG.jsonl: every approved write, and what became of it (format: the runner's README).

Records are joined on task and attempt: one line a write at its approval, then one line a task
and attempt with the outcome.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from runner import effects
from runner.lazy_dataclass import dataclass
from runner.writes.json_lines import append_lines, read_lines

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from runner.model import Change

WRITE_LOG = "artifacts/build/WRITE_LOG.jsonl"


class Review(StrEnum):
    """How a write was approved."""

    APPLIED = "applied"
    EDITED = "edited"
    AUTO = "auto"
    OFF = "off"


class Fate(StrEnum):
    """What became of an attempt's approved writes."""

    LANDED = "landed"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True)
class Written:
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


@dataclass(frozen=True, slots=True)
class History:
    """The write log as read; `damaged` are the numbers of lines that are no records."""

    writes: tuple[Written, ...]
    damaged: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class WriteLog:
    """The write log of one repository; safe with several writers."""

    root: Path

    def record(
        self,
        changes: Sequence[Change],
        *,
        run: str,
        task: str,
        attempt: int,
        review: Review,
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
        """All writes, or those of one task, oldest first, joined with their outcomes."""
        lines = read_lines(self.root, WRITE_LOG)
        fates = {_attempt(line): line for line in lines.records if "outcome" in line}
        writes = tuple(
            _make_written(line, fates.get(_attempt(line)))
            for line in lines.records
            if "path" in line and task in ("", line.get("task"))
        )
        return History(writes, lines.damaged)


# --- details --------------------------------------------------------------------------


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


def _make_written(line: Mapping[str, object], outcome: Mapping[str, object] | None) -> Written:
    fates = {fate.value: fate for fate in Fate}
    return Written(
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
