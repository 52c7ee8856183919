"""What a run says while it goes: plain lines on standard error, one voice for all tasks."""

from __future__ import annotations

import sys
from threading import Lock
from typing import TYPE_CHECKING, TextIO

from runner.journal.events import (
    AttemptFinished,
    AttemptStarted,
    GateCompleted,
    TaskAdopted,
    TaskApproved,
    TaskBlocked,
    TaskDone,
    TaskReopened,
    TaskStaled,
)
from runner.model import Ending, Verdict
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runner.journal.events import Record
    from runner.journal.state import RunState

QUIET, NORMAL, VERBOSE = 0, 1, 2
_COLOURS = {"green": "32", "red": "31", "yellow": "33", "dim": "2", "bold": "1"}
_MARKS = {Verdict.PASS: ("✓", "green"), Verdict.FAIL: ("✗", "red"), Verdict.FLAKY: ("⚠", "yellow")}
_FINDINGS_SHOWN = 5


def wants_colour(stream: TextIO, environ: Mapping[str, str]) -> bool:
    """Whether colours are welcome: a terminal, and nobody said NO_COLOR (no-color.org)."""
    return stream.isatty() and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"


class Console:
    """Hears every event of a run and says those a person wants to follow."""

    def __init__(self, *, level: int, colour: bool, stream: TextIO | None = None) -> None:
        self._level = level
        self._colour = colour
        self._stream = stream or sys.stderr
        self._lock = Lock()

    def say(self, text: str, *, at: int = NORMAL) -> None:
        """Show one line, if the level is high enough; safe for any thread."""
        if self._level >= at:
            with self._lock:
                print(text, file=self._stream, flush=True)

    def progress(self, task: str, line: str) -> None:
        """The last output line of a task's command: only for those who asked for much."""
        self.say(self._paint("dim", f"{task} | {display(line)}"), at=VERBOSE)

    def hear(self, record: Record, state: RunState) -> None:
        """Say what an event means to a person."""
        text = self._text(record, state)
        if text:
            self.say(f"{self._paint('bold', display(record.task))} {text}")

    def _text(self, record: Record, state: RunState) -> str:
        match record.event:
            case AttemptStarted(implementer=implementer, mode=mode):
                how = implementer if mode == "build" else "proof alone"
                return f"started (attempt {record.attempt}, {display(how)})"
            case GateCompleted(proof=proof):
                mark, colour = _MARKS.get(proof.verdict, ("-", "dim"))
                return f"{self._paint(colour, mark)} {display(proof.id)} {proof.seconds:.2f} s"
            case AttemptFinished(ending=Ending.FAILED):
                return self._failed(record.event)
            case TaskDone(commit=commit, note=note):
                seconds = state.task(record.task).seconds
                landed = f"as {commit[:12]} " if commit else ""
                return self._paint("green", "DONE") + f" {landed}in {seconds:.2f} s{_note(note)}"
            case TaskBlocked(note=note):
                return self._paint("red", "BLOCKED") + _note(note)
            case TaskStaled(note=note):
                return self._paint("yellow", "STALE") + _note(note)
            case TaskAdopted(note=note, verified=verified):
                return f"counts as DONE{'' if verified else ' (unverified)'}{_note(note)}"
            case TaskApproved(note=note) | TaskReopened(note=note):
                return f"runs again{_note(note)}"
        return ""

    def _failed(self, event: AttemptFinished) -> str:
        refusals = [finding for finding in event.findings if finding.refuses]
        lines = [self._paint("red", "attempt failed")]
        for finding in refusals[:_FINDINGS_SHOWN]:
            place = f"{finding.path}:{finding.line}: " if finding.line else ""
            place = place or (f"{finding.path}: " if finding.path else "")
            lines.append(f"  {display(finding.check)}: {display(place + finding.message)}")
            lines += [f"    {display(line)}" for line in finding.detail.splitlines()[-8:]]
            if finding.hint:
                lines.append(f"    hint: {display(finding.hint)}")
        if len(refusals) > _FINDINGS_SHOWN:
            lines.append(f"  … and {len(refusals) - _FINDINGS_SHOWN} more")
        return "\n".join(lines)

    def _paint(self, colour: str, text: str) -> str:
        return f"\x1b[{_COLOURS[colour]}m{text}\x1b[0m" if self._colour else text


def _note(note: str) -> str:
    return f" — {display(note)}" if note else ""
